"""Hidden checks of "Day and night", and its network, from the teacher's secret.

The network is drawn, not trained: logits with a known truth, then too large by day, and much more
so at night, with a bias in its classes that no temperature corrects. It is in no record of the
course. The labels of the new images never leave the teacher's computer.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from calib_utils.metrics import expected_calibration_error
from classroom.checks import Check, close, partly
from classroom.secret import drawn_labels, generator

N_CLASSES = 8
N_FIT, N_NEW = 2000, 2000
FULL = 0.98  # of what a temperature for each group saves: for all points
HALF = 0.5  # of the points: for what one temperature for all saves
LOSS_HINTS = {
    "logits of usual size": "The NLL is a mean over all rows, of minus the logarithm: above 0.",
    "large logits": "Never take the logarithm of a probability that was rounded to 0. Subtract the "
    "largest logit of each row, then use log(sum(exp(...))).",
}
LOSS = "Nearly: the NLL is the mean over the rows, not their sum, and it is above 0."
FIT = "This is one over the temperature: the logits are divided by it."
FIT_HINTS = {
    "one group": "Logits are divided by the temperature: that of an overconfident network is "
    "above 1.",
    "two groups, and one without rows": "Each group is fitted by itself, and one without rows "
    "has nan.",
    "an underconfident network": "Try temperatures below 1 as well, and look more closely "
    "around the best one.",
}


def variant(secret: bytes) -> dict[str, Any]:
    """The values that differ from class to class: how often it is night, in per cent."""
    return {"night": int(generator(secret, "recalibrating", "variant").integers(25, 45))}


Photographs = tuple[np.ndarray, np.ndarray, np.ndarray]  # logits, labels, groups


def draw(
    rng: np.random.Generator, n: int, sizes: np.ndarray, share: float, offset: np.ndarray
) -> Photographs:
    """Logits, labels and groups of a network that is ``sizes[g]`` times too sure in group g."""
    groups = (rng.random(n) < share).astype(np.int64)
    truth = 2.0 * rng.normal(size=(n, N_CLASSES))
    labels = drawn_labels(rng, softmax(truth, axis=1))
    logits = (truth + offset) * sizes[groups][:, None]
    return logits.round(3), labels, groups


def nll(logits: np.ndarray, labels: np.ndarray) -> float:
    return float(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels].mean())


def temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """The temperature with the lowest NLL; nan without rows."""
    if len(labels) == 0:
        return float("nan")
    best = minimize_scalar(
        lambda power: nll(logits * np.exp(power), labels),
        bounds=(-4, 4),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(np.exp(-best.x))


def temperatures(logits: np.ndarray, labels: np.ndarray, groups: np.ndarray, n: int) -> np.ndarray:
    return np.array([temperature(logits[groups == g], labels[groups == g]) for g in range(n)])


def constant(accuracy: float, logits: np.ndarray) -> np.ndarray:
    """The same confidence for each prediction."""
    answered = np.eye(logits.shape[1])[logits.argmax(axis=1)]
    rest = (1 - accuracy) / (logits.shape[1] - 1)
    return np.asarray(np.where(answered == 1, accuracy, rest))


@cache
def network(secret: bytes) -> dict[str, np.ndarray]:
    """The images to fit on, and new ones.

    Drawn again until the constant confidence has the lower ECE of the two methods, on both halves
    of the images, because the last question asks about it.
    """
    share = variant(secret)["night"] / 100
    for attempt in range(1000):
        rng = generator(secret, "recalibrating", "network", str(attempt))
        sizes = np.array([rng.uniform(1.2, 1.4), rng.uniform(2.5, 3.2)])
        offset = rng.permutation(np.linspace(-0.9, 0.9, N_CLASSES))
        fit = draw(rng, N_FIT, sizes, share, offset)
        new = draw(rng, N_NEW, sizes, share, offset)
        scaled = softmax(new[0] / temperatures(*fit, 2)[new[2]][:, None], axis=1)
        even = constant(float((fit[0].argmax(axis=1) == fit[1]).mean()), new[0])
        errors = [expected_calibration_error(probs, new[1]) for probs in (even, scaled)]
        if errors[0] < errors[1] - 0.005:
            names = ("logits", "labels", "groups")
            return {
                **{f"fit_{name}": array for name, array in zip(names, fit, strict=True)},
                **{f"new_{name}": array for name, array in zip(names, new, strict=True)},
            }
    raise RuntimeError("no network was drawn: make N_FIT larger")


def data(secret: bytes) -> dict[str, dict[str, np.ndarray]]:
    """The files for the folder of the notebook: all but the labels of the new images."""
    return {"cameras.npz": {k: v for k, v in network(secret).items() if k != "new_labels"}}


def saves(parts: dict[str, np.ndarray]) -> Any:
    """Judge of a recalibration: its decrease of the NLL, between none and one for each group."""
    logits, labels, groups = (parts[f"new_{name}"] for name in ("logits", "labels", "groups"))
    fitted = temperatures(
        parts["fit_logits"], parts["fit_labels"], parts["fit_groups"], int(groups.max()) + 1
    )
    before = nll(logits, labels)
    one = nll(logits / temperature(parts["fit_logits"], parts["fit_labels"]), labels)
    best = before - FULL * (before - nll(logits / fitted[groups][:, None], labels))

    def judge(answer: Any) -> bool | float:
        probs = np.asarray(answer)
        if probs.dtype.kind not in "iuf" or probs.shape != logits.shape:
            return False
        if not (np.isfinite(probs).all() and (probs >= 0).all()):
            return False
        if not np.allclose(probs.sum(axis=1), 1, atol=1e-6):
            return False
        if (probs.argmax(axis=1) != logits.argmax(axis=1)).any():
            return False  # the accuracy is to stay as it is
        said = np.maximum(probs[np.arange(len(labels)), labels], 1e-300)
        share = np.interp(-np.log(said).mean(), [best, one, before], [1, HALF, 0])
        return round(float(share), 6)

    return judge


def checks(secret: bytes) -> list[Check]:
    parts = network(secret)
    rng = generator(secret, "recalibrating", "inputs")
    logits = rng.normal(0, 3, (300, 5))
    labels = drawn_labels(rng, softmax(logits / 2, axis=1))
    groups = rng.choice([0, 2], 300)
    hot = logits / 6
    other = dict(
        zip(
            ("fit_logits", "fit_labels", "fit_groups"),
            draw(rng, 1500, np.array([0.5, 2.0]), 0.5, np.zeros(N_CLASSES)),
            strict=True,
        )
    )
    other |= dict(
        zip(
            ("new_logits", "new_labels", "new_groups"),
            draw(rng, 1500, np.array([0.5, 2.0]), 0.5, np.zeros(N_CLASSES)),
            strict=True,
        )
    )

    def fits(name: str, z: np.ndarray, g: np.ndarray, n_groups: int) -> Check:
        expected = temperatures(z, labels, g, n_groups)
        arguments = (z, labels, g, n_groups)
        judge = partly(close(expected, rtol=0.02), close(1 / expected, rtol=0.02))
        return Check("q2", name, "fit_temperatures", arguments, judge, 1.0, FIT_HINTS[name], FIT)

    def loss(name: str, z: np.ndarray) -> Check:
        mean = nll(z, labels)
        judge = partly(close(mean), close(mean * len(labels)), close(-mean))
        return Check("q1", name, "nll", (z, labels), judge, 1.0, LOSS_HINTS[name], LOSS)

    def is_sure(answer: Any) -> bool:
        """The confidence is correct, whatever the other classes get."""
        probs = np.asarray(answer)
        if probs.dtype.kind != "f" or probs.shape != logits[:50].shape:
            return False
        rows, answered = np.arange(50), logits[:50, ::-1].argmax(axis=1)
        return bool(np.allclose(probs[rows, answered], right))

    def recalibrates(name: str, found: dict[str, np.ndarray]) -> Check:
        keys = ("fit_logits", "fit_labels", "fit_groups", "new_logits", "new_groups")
        return Check("q3", name, "recalibrate", tuple(found[key] for key in keys), saves(found))

    right = float((logits.argmax(axis=1) == labels).mean())
    return [
        loss("logits of usual size", logits),
        loss("large logits", 1000 * logits),
        fits("one group", logits, np.zeros(300, dtype=np.int64), 1),
        fits("two groups, and one without rows", logits, groups, 3),
        fits("an underconfident network", hot, 0 * groups, 1),
        recalibrates("the new images", parts),
        recalibrates("a different network", other),
        Check(
            "q4",
            "the confidence of the fit, whatever is new",
            "constant_confidence",
            (logits, labels, 7 * logits[:50, ::-1]),
            partly(close(constant(right, logits[:50, ::-1])), is_sure),
            misread="The confidence is correct. The other classes share the rest equally.",
        ),
    ]
