"""Hidden checks of "Your own network, and its report", and its images, from the secret."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from calib_utils.metrics import (
    accuracy,
    baseline_calibration_error,
    expected_calibration_error,
    negative_log_likelihood,
)
from calib_utils.recalibration import TemperatureScaling
from classroom.checks import Check, close, partly
from classroom.secret import drawn_labels, generator

N_DIGITS = 10
EPOCHS = 400  # of the sample report
ENOUGH = 0.9  # of the accuracy of who knows which images are negatives: for all points


def variant(secret: bytes) -> dict[str, Any]:
    """The values that differ from class to class."""
    rng = generator(secret, "lab", "variant")
    return {"n_bins": int(rng.choice([8, 10, 12])), "first": int(rng.choice([40, 50, 60]))}


@cache
def digits(secret: bytes) -> dict[str, np.ndarray]:
    """scikit-learn's digits, (1797, 64) from 0 to 1, in a different order, half as negatives.

    So the mean image of each class is grey, and a rule that compares means fails.
    """
    rng = generator(secret, "lab", "digits")
    images, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))
    images, negative = half_negative(rng, images[order] / 16, labels[order])
    noisy = images + rng.normal(0, rng.uniform(0.14, 0.2), images.shape)
    return {
        "images": noisy.round(2).astype(np.float32),
        "labels": labels[order],
        "negative": negative,
    }


Negatives = tuple[np.ndarray, np.ndarray]  # images, whether they are negatives


def half_negative(rng: np.random.Generator, images: np.ndarray, labels: np.ndarray) -> Negatives:
    """The images, half of each class as negatives; and which."""
    negative = np.zeros(len(labels), dtype=bool)
    for k in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == k))
        negative[rows[: len(rows) // 2]] = True
    return np.where(negative[:, None], 1 - images, images), negative


def data(secret: bytes) -> dict[str, dict[str, np.ndarray]]:
    return {"digits.npz": {key: digits(secret)[key] for key in ("images", "labels")}}


def cut(secret: bytes, n: int) -> tuple[int, int]:
    """The sizes of training and validation; the rest is test."""
    first = n * variant(secret)["first"] // 100
    return first, (n - first) // 2


def parts_of(answer: Any, sizes: tuple[int, int], n: int) -> list[np.ndarray] | None:
    """Three arrays of indices, if they are a partition of these sizes."""
    if not isinstance(answer, list | tuple) or len(answer) != 3:
        return None
    parts = [np.asarray(part) for part in answer]
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in parts):
        return None
    if [len(part) for part in parts] != [*sizes, n - sum(sizes)]:
        return None
    return parts if np.array_equal(np.sort(np.concatenate(parts)), np.arange(n)) else None


Images = tuple[np.ndarray, np.ndarray, np.ndarray]  # images, labels, whether they are negatives


def blobs(rng: np.random.Generator, n_classes: int) -> tuple[Images, Images]:
    """Noisy copies of a few patterns, half of them as negatives: to train on, and new ones."""
    centres = rng.random((n_classes, 64))
    parts = []
    for n in (600, 300):
        labels = rng.permutation(np.arange(n) % n_classes)
        images, negative = half_negative(rng, centres[labels], labels)
        parts.append((images + rng.normal(0, 0.4, images.shape), labels, negative))
    return parts[0], parts[1]


def part_of(stored: dict[str, np.ndarray], rows: np.ndarray) -> Images:
    return stored["images"][rows], stored["labels"][rows], stored["negative"][rows]


def trained(seen: Images, new: Images) -> Any:
    """Judge of logits: their accuracy beside that of a rule that knows the negatives.

    The rule is the nearest of two means for each class.
    """
    n_classes = int(seen[1].max()) + 1
    kinds = 2 * seen[1] + seen[2]
    means = np.array([seen[0][kinds == kind].mean(axis=0) for kind in range(2 * n_classes)])
    nearest = ((new[0][:, None] - means) ** 2).sum(axis=2).argmin(axis=1) // 2
    goal = ENOUGH * float((nearest == new[1]).mean())

    def judge(answer: Any) -> bool | float:
        logits = np.asarray(answer)
        if logits.dtype.kind != "f" or logits.shape != (len(new[1]), n_classes):
            return False
        if np.isnan(logits.sum()) or np.isinf(logits).any():
            return False
        right = float((logits.argmax(axis=1) == new[1]).mean())
        return float(np.interp(right, [0.5, goal], [0, 1]))

    return judge


def same(found: Any, wanted: Any) -> bool:
    """Whether two arrays of logits are the same, as far as a computer repeats itself."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.dtype.kind != "f" or wanted.dtype.kind != "f" or found.shape != wanted.shape:
        return False
    return bool(np.allclose(found, wanted, rtol=1e-4, atol=1e-6))


def checks(secret: bytes) -> list[Check]:
    stored, n_bins = digits(secret), variant(secret)["n_bins"]
    n = len(stored["labels"])
    rng = generator(secret, "lab", "inputs")
    seeds = [int(seed) for seed in rng.integers(1000, 9999, 3)]
    renumbered = (np.arange(N_DIGITS) + int(rng.integers(1, N_DIGITS))) % N_DIGITS

    def splits(size: int, seed: int) -> Check:
        first, second = cut(secret, size)

        def of_sizes(*sizes: int) -> Any:
            def judge(answer: Any) -> bool:
                parts = parts_of(answer, (sizes[0], sizes[1]), size)
                return parts is not None and bool((np.diff(parts[0]) < 0).any())  # shuffled

            return judge

        near = [of_sizes(first + a, second + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        judge = partly(of_sizes(first, second), *near)
        misread = "A part is one number too long or too short: mind how the text rounds."
        return Check("q1", f"{size} images", "split", (size, seed), judge, misread=misread)

    def trains(name: str, seen: Images, new: Images, seed: int) -> Check:
        arguments = (seen[0], seen[1], new[0], seed)
        return Check("q2", name, "train_and_predict", arguments, trained(seen, new))

    patterns = blobs(rng, 10)
    given = (patterns[0][0], patterns[0][1], patterns[1][0])

    def decides(answer: Any, own: list[Any]) -> bool:
        right = bool(own) and trained(*patterns)(answer) > 0
        return right and same(answer, own[0]) and not same(answer, own[1])

    seeded = Check(
        "q2",
        "the seed decides, and nothing else",
        "train_and_predict",
        (*given, seeds[1]),
        decides,
        0.5,
        own=lambda answer: [("train_and_predict", (*given, seeds[1] + k)) for k in (0, 1)],
    )

    def whole(answer: Any) -> list[np.ndarray] | None:
        if not isinstance(answer, dict):
            return None
        return parts_of(answer.get("split"), cut(secret, n), n)

    def part(place: int, key: str) -> Check:
        def again(answer: Any) -> list[tuple[str, tuple[Any, ...]]]:
            """The training of the record, and the same with the classes renumbered."""
            parts, seed = whole(answer), answer["seed"]
            if parts is None or type(seed) is not int:
                return []
            images, labels, _ = part_of(stored, parts[0])
            rest = np.concatenate([stored["images"][rows] for rows in parts[1:]])
            given = (labels, renumbered[labels])
            return [("train_and_predict", (images, y, rest, seed)) for y in given]

        def judge(answer: Any, own: list[Any]) -> bool | float:
            parts = whole(answer)
            if parts is None or not own or not all(isinstance(o, np.ndarray) for o in own):
                return False
            n_first = len(parts[1])
            mine, *other = [logits[:n_first] if place == 1 else logits[n_first:] for logits in own]
            if not same(answer.get(key), mine):
                return False  # the record is not of this training
            seen, new = part_of(stored, parts[0]), part_of(stored, parts[place])
            right = float(trained(seen, new)(mine))
            # Logits that were looked up know nothing of other numbers for the classes.
            seen, new = ((x, renumbered[y], negative) for x, y, negative in (seen, new))
            return right if all(trained(seen, new)(logits) > 0 for logits in other) else False

        return Check("q3", f"the {key}", "record", (), judge, own=again)

    validation, test = (reported(rng) for _ in range(2))
    best = float(TemperatureScaling().fit(*validation).temperature_)
    is_best = close(best, rtol=0.02)

    def reports(key: str) -> Check:
        def judge(answer: Any) -> bool:
            if not isinstance(answer, dict) or key not in answer:
                return False
            found: Any = answer.get("temperature")
            if key == "temperature":
                return is_best(found)
            # The numbers after recalibration must fit the temperature that is given.
            positive = close(0, atol=20)(found) and found > 0 and abs(found - 1) > 0.01
            used = float(found) if positive else best
            return close(numbers(test, used, n_bins)[key])(answer[key])

        return Check("q4", key, "report", (*validation, *test), judge)

    # In a different order of the pixels, so that nothing can be looked up in the file.
    points = rng.permutation(64)
    shuffled = {**stored, "images": stored["images"][:, points]}
    shown, rest = part_of(shuffled, np.arange(0, 1200)), part_of(shuffled, np.arange(1200, n))
    return [
        splits(997, seeds[0]),
        splits(200, seeds[1]),
        trains("ten patterns", *patterns, seeds[1]),
        trains("digits", shown, rest, seeds[2]),
        seeded,
        Check("q3", "the split", "record", (), lambda answer: whole(answer) is not None),
        part(1, "validation_logits"),
        part(2, "test_logits"),
        *(reports(key) for key in numbers(test, best, n_bins)),
    ]


def reported(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Logits that are twice too large, and labels."""
    truth = rng.normal(0, 1.5, (400, 6))
    return 2 * truth, drawn_labels(rng, softmax(truth, axis=1))


def numbers(test: tuple[np.ndarray, np.ndarray], divisor: float, n_bins: int) -> dict[str, float]:
    """The numbers of a report on the test part, before and after a temperature."""
    stated, labels = test
    before, after = softmax(stated, axis=1), softmax(stated / divisor, axis=1)
    return {
        "temperature": divisor,
        "accuracy": accuracy(before, labels),
        "nll_before": negative_log_likelihood(stated, labels, inputs="logits"),
        "nll_after": negative_log_likelihood(stated / divisor, labels, inputs="logits"),
        "ece_before": expected_calibration_error(before, labels, n_bins=n_bins),
        "ece_after": expected_calibration_error(after, labels, n_bins=n_bins),
    }


def sample(secret: bytes) -> dict[str, str]:
    """The numbers of the marked sample report, from a network that is trained here."""
    stored, n_bins = digits(secret), variant(secret)["n_bins"]
    n = len(stored["labels"])
    first, second = cut(secret, n)
    parts = np.split(generator(secret, "lab", "sample").permutation(n), [first, first + second])
    network = MLPClassifier((64,), alpha=0, random_state=0)
    seen = (stored["images"][parts[0]], stored["labels"][parts[0]])
    for _ in range(EPOCHS):
        network.partial_fit(*seen, classes=np.arange(N_DIGITS))
    validation, test = (
        (np.log(network.predict_proba(stored["images"][rows]).clip(1e-12)), stored["labels"][rows])
        for rows in parts[1:]
    )
    found = numbers(test, float(TemperatureScaling().fit(*validation).temperature_), n_bins)
    scaled = softmax(test[0] / found["temperature"], axis=1)
    baseline = baseline_calibration_error(scaled, n_bins=n_bins)
    percent = "\N{NO-BREAK SPACE}%"
    sizes = zip(("train", "validation", "test"), map(len, parts), strict=True)
    return {
        **{f"n_{name}": str(size) for name, size in sizes},
        "epochs": str(EPOCHS),
        "temperature": f"{found['temperature']:.2f}",
        "direction": "overconfident" if found["temperature"] > 1 else "underconfident",
        **{f"nll_{when}": f"{found[f'nll_{when}']:.2f}" for when in ("before", "after")},
        **{
            key: f"{100 * found[key]:.1f}{percent}"
            for key in ("accuracy", "ece_before", "ece_after")
        },
        "baseline": f"{100 * baseline.mean:.1f}{percent}",
        "baseline_high": f"{100 * baseline.high:.1f}{percent}",
        "within": "is within" if found["ece_after"] <= baseline.high else "lies above",
    }
