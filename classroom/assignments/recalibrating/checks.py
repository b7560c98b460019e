"""Hidden checks of "Day and night", and its network, from the teacher's secret.

The network is drawn, not trained: logits with a known truth, then too large by day, and much more
so at night, with a bias in its classes that no temperature corrects. It is in no record of the
course. The labels of the new images never leave the teacher's computer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.special import softmax

from classroom.assignments.measures import binned_error, temperature
from classroom.assignments.recalibrating.reference import (
    asked_of,
    constant_confidence,
    constants,
    expressed,
    fit_temperatures,
    loss,
)
from classroom.checks import Check, Judge, close, partly
from classroom.secret import drawn_labels, generator
from classroom.variants import Reading, Variant, or_coarse, reading, words

N_CLASSES = 8
N_FIT, N_NEW = 2000, 2000
NLL = {"loss": "nll", "parameter": "temperature"}
FULL = 0.98  # of what a temperature for each group saves: for all points
HALF = 0.5  # of the points: for what one temperature for all saves
LOSS_HINTS = {
    "logits of usual size": "The loss is a mean over all rows, and above 0.",
    "large logits": "Never take the logarithm of a probability that was rounded to 0. Subtract the "
    "largest logit of each row, then use log(sum(exp(...))).",
}
LOSS = "Nearly: the loss is the mean over the rows, not their sum, and it is above 0."
FIT_HINTS = {
    "one group": "Logits are divided by the temperature: that of an overconfident network is "
    "above 1.",
    "two groups, and one without rows": "Each group is fitted by itself, and one without rows "
    "has nan.",
    "an underconfident network": "Try temperatures below 1 as well, and look more closely "
    "around the best one.",
}


def values(secret: bytes) -> dict[str, Any]:
    """The values that differ from sheet to sheet: how often it is night, in per cent."""
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


def named(which: str, drawn: Photographs) -> dict[str, np.ndarray]:
    names = (f"{which}_{name}" for name in ("logits", "labels", "groups"))
    return dict(zip(names, drawn, strict=True))


@cache
def network(secret: bytes) -> dict[str, np.ndarray]:
    """The images to fit on, and new ones.

    Drawn again until the constant confidences have the lower ECE of the two methods on the new
    images, because question 5 asks about it. In single splits of the others chance may decide
    differently.
    """
    share = values(secret)["night"] / 100
    for attempt in range(1000):
        rng = generator(secret, "recalibrating", "network", str(attempt))
        sizes = np.array([rng.uniform(1.2, 1.4), rng.uniform(2.5, 3.2)])
        offset = rng.permutation(np.linspace(-0.9, 0.9, N_CLASSES))
        fit = draw(rng, N_FIT, sizes, share, offset)
        new = draw(rng, N_NEW, sizes, share, offset)
        scaled = softmax(
            new[0] / fit_temperatures(*fit, 2, variant=NLL)[new[2]][:, None], axis=1
        ).max(axis=1)
        even = [constants(*fit, new[2], variant={"constant": way}) for way in ("accuracy", "group")]
        correct, ones = new[0].argmax(axis=1) == new[1], np.ones(N_NEW)
        *errors, most = [
            binned_error(said, correct, ones, bins="width", norm="mean", n_bins=15)
            for said in (*even, scaled)
        ]
        if max(errors) < most - 0.005:
            return named("fit", fit) | named("new", new)
    raise RuntimeError("no network was drawn: make N_FIT larger")


def data(secret: bytes, variant: Variant) -> dict[str, dict[str, np.ndarray]]:
    """The files for the folder of the notebook: all but the labels of the new images."""
    return {"cameras": {k: v for k, v in network(secret).items() if k != "new_labels"}}


def log_loss(probs: np.ndarray, happened: np.ndarray) -> float:
    """The mean of -log of what each row gives to what happened: its class, or yes or no."""
    if probs.ndim == 1:
        found = np.where(happened, probs, 1 - probs)
    else:
        found = probs[np.arange(len(probs)), happened]
    return float(-np.log(np.maximum(found, 1e-300)).mean())


def saves(parts: dict[str, np.ndarray], variant: Variant) -> Judge:
    """Judge of a recalibration: its decrease of the log loss, between none and one by groups."""
    logits, labels, groups = (parts[f"new_{name}"] for name in ("logits", "labels", "groups"))
    fit = (parts["fit_logits"], parts["fit_labels"], parts["fit_groups"])
    top = logits.argmax(axis=1)
    correct = top == labels
    second = logits.argsort(axis=1)[:, -2]
    wanted = {
        "all": labels,
        "confidence": correct,
        "risk": ~correct,
        "two": correct.astype(np.int64),
        "three": np.select([correct, second == labels], [0, 1], 2),
    }[variant["wanted"]]

    def after(divisor: Any) -> float:
        return log_loss(asked_of(softmax(logits / divisor, axis=1), variant=variant), wanted)

    n_groups = int(groups.max()) + 1
    losses = [{**NLL, "loss": way} for way in ("nll", variant["loss"])]
    each = [fit_temperatures(*fit, n_groups, variant=way) for way in losses]
    before, shape = after(1), asked_of(logits, variant=variant).shape
    best = before - FULL * (before - max(after(found[groups][:, None]) for found in each))
    one = max(after(temperature(*fit[:2], way["loss"])) for way in losses)
    one = min(max(one, best), before)

    def judge(answer: Any) -> bool | float:
        probs = np.asarray(answer)
        if probs.dtype.kind not in "iuf" or probs.shape != shape:
            return False
        if not (np.isfinite(probs).all() and (probs >= 0).all() and (probs <= 1 + 1e-6).all()):
            return False
        if probs.ndim == 2 and not np.allclose(probs.sum(axis=1), 1, atol=1e-6):
            return False
        if variant["wanted"] == "all" and (probs.argmax(axis=1) != top).any():
            return False  # the accuracy is to stay as it is
        share = np.interp(log_loss(probs, wanted), [best, one, before], [1, HALF, 0])
        return round(float(share), 6)

    return judge


def examples(variant: Variant) -> dict[str, Any]:
    """What the examples of the notebook give."""
    logits = np.log([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1]])
    four, labels = np.tile([2 * np.log(3), 0.0], (4, 1)), np.array([0, 0, 0, 1])
    zeros = np.zeros(4, dtype=np.int64)
    rows = np.array([[2.0, 0, 1], [0, 3, 1], [0, 1, 2]])
    fit = (rows, np.array([0, 2, 2]), np.array([0, 0, 1]))
    new = (rows[:2], np.array([0, 1]))
    return {
        "expected_loss": loss(logits, np.array([0, 0]), variant=variant),
        "expected_large": loss(np.array([[5000.0, 0, 0]]), np.array([1]), variant=variant),
        "expected_parameter": round(
            float(fit_temperatures(four, labels, zeros, 1, variant=variant)[0]), 1
        ),
        "expected_shape": list(asked_of(np.ones((N_NEW, N_CLASSES)), variant=variant).shape),
        "expected_constant": constant_confidence(*fit, *new, variant=variant).tolist(),
    }


def checks(secret: bytes, variant: Variant) -> list[Check]:
    parts = network(secret)
    rng = generator(secret, "recalibrating", "inputs")
    logits = rng.normal(0, 3, (300, 5))
    labels = drawn_labels(rng, softmax(logits / 2, axis=1))
    groups = rng.choice([0, 2], 300)
    hot = logits / 6
    other: dict[str, np.ndarray] = {}
    sizes = np.array([3.0, 1.2])  # more by day; by any loss, one temperature for all helps a bit
    for which in ("fit", "new"):
        other |= named(which, draw(rng, 1500, sizes, 0.5, np.zeros(N_CLASSES)))

    def read(asked: tuple[str, ...], judge_of: Callable[[Variant], Judge]) -> Reading:
        return reading("recalibrating", variant, asked, judge_of)

    def fits(name: str, z: np.ndarray, g: np.ndarray, n_groups: int) -> Check:
        @cache
        def temperatures(way: str) -> np.ndarray:
            return fit_temperatures(z, labels, g, n_groups, variant={**NLL, "loss": way})

        def right(found: Variant) -> Judge:
            expected = expressed(temperatures(found["loss"]), variant=found)
            absolute = {"log": 0.02, "halvings": 0.03}.get(found["parameter"], 0.0)
            if found["parameter"] == "change":  # to within 2 % of the slope
                return lambda answer: close(expected + 1, rtol=0.02)(np.asarray(answer) + 1)
            return close(expected, atol=absolute or 1e-9, rtol=0 if absolute else 0.02)

        return Check(
            "q2",
            name,
            "fit_temperatures",
            (z, labels, g, n_groups),
            right(variant),
            hint=FIT_HINTS[name],
            read=or_coarse(read(("loss", "parameter"), right), words("recalibrating", variant)),
        )

    def losses(name: str, z: np.ndarray) -> Check:
        def right(found: Variant) -> Judge:
            return close(loss(z, labels, variant=found))

        mean = loss(z, labels, variant=variant)
        judge = partly(close(mean), close(mean * len(labels)), close(-mean))
        hint = LOSS_HINTS[name]
        return Check(
            "q1", name, "loss", (z, labels), judge, 1.0, hint, LOSS, read=read(("loss",), right)
        )

    def recalibrates(name: str, found: dict[str, np.ndarray]) -> Check:
        keys = ("fit_logits", "fit_labels", "fit_groups", "new_logits", "new_groups")
        judge = saves(found, variant)
        arguments = tuple(found[key] for key in keys)
        shape = read(("wanted",), lambda other: saves(found, other))
        return Check("q3", name, "recalibrate", arguments, judge, read=shape)

    fit, new = (logits, labels, groups), (7 * logits[:50, ::-1], groups[:50])

    def even(found: Variant) -> Judge:
        return close(constant_confidence(*fit, *new, variant=found))

    def is_sure(answer: Any) -> bool:
        """The confidences are correct, whatever the other classes get."""
        probs = np.asarray(answer)
        if probs.dtype.kind != "f" or probs.shape != new[0].shape:
            return False
        said = probs[np.arange(len(probs)), new[0].argmax(axis=1)]
        return bool(np.allclose(said, constants(*fit, new[1], variant=variant)))

    return [
        losses("logits of usual size", logits),
        losses("large logits", 1000 * logits),
        fits("one group", logits, np.zeros(300, dtype=np.int64), 1),
        fits("two groups, and one without rows", logits, groups, 3),
        fits("an underconfident network", hot, 0 * groups, 1),
        recalibrates("the new images", parts),
        recalibrates("a different network", other),
        Check(
            "q4",
            "the confidence of the fit, whatever is new",
            "constant_confidence",
            (*fit, *new),
            partly(even(variant), is_sure),
            misread="The confidences are correct. Read again what the other classes get.",
            read=read(("constant", "rest"), even),
        ),
    ]
