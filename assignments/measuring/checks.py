"""Hidden checks of "Measure by group"; their inputs come from the teacher's secret."""

from __future__ import annotations

from typing import Any

import numpy as np

from classroom.checks import Check, close, equal, follows, partly
from classroom.secret import drawn_labels, generator

SIGNS = {
    1: ("weighted confidence minus the weighted accuracy", "overconfident"),
    -1: ("weighted accuracy minus the weighted confidence", "underconfident"),
}
CLASS_WEIGHTS = {
    "equal": "all classes count the same, also one that is nobody's label",
    "labels": "class $k$ counts with the sum of the weights of the rows whose label is $k$",
}

OTHER = {"equal": "labels", "labels": "equal"}
SIGNED_HINTS = {
    "equal weights": "Compare the mean of the confidences with the share of correct predictions.",
    "different weights": "Both means are weighted, and the sum of the weights divides them.",
    "no weight at all": "Where the weights sum to 0, the signed gap is nan.",
}
CLASS_HINTS = {
    "equal weights": "Sort the rows by the probability of one class, not by the confidence.",
    "different weights": "Within a bin and across bins, rows count with their weights.",
    "probabilities on edges": "An edge belongs to the bin below it, and 0 to the first bin.",
    "a class that is nobody's label": "Such a class has bins and gaps like any other.",
}
SIGN = "The sign is the other way round: read again which mean is subtracted from which."
MEAN = "Each class is correct. Read step 4 again: how much does a class count in the mean?"
NOBODY = "Without a camera that has enough rows, the answer is None."


def variant(secret: bytes) -> dict[str, Any]:
    """The values that differ from class to class."""
    rng = generator(secret, "measuring", "variant")
    return {
        "n_bins": int(rng.choice([8, 12, 16, 20])),  # a quarter is an edge, exactly
        "min_size": int(rng.integers(25, 60)),
        "sign": int(rng.choice(list(SIGNS))),
        "class_weights": str(rng.choice(list(CLASS_WEIGHTS))),
    }


def texts(secret: bytes) -> dict[str, str]:
    """Their words in the text."""
    chosen = variant(secret)
    sign_text, sign_word = SIGNS[chosen["sign"]]
    return {
        "sign_text": sign_text,
        "sign_word": sign_word,
        "class_weights_text": CLASS_WEIGHTS[chosen["class_weights"]],
    }


def gap(chosen: dict[str, Any], answers: tuple[np.ndarray, ...], rows: Any = slice(None)) -> float:
    confidences, correct, weights = (column[rows] for column in answers)
    if weights.sum() == 0:
        return float("nan")
    gap = np.average(confidences, weights=weights) - np.average(correct, weights=weights)
    return float(chosen["sign"] * gap)


def error(chosen: dict[str, Any], probs: np.ndarray, labels: np.ndarray, w: np.ndarray) -> float:
    """As the text defines it, bin by bin."""
    errors, shares = [], []
    for k, column in enumerate(probs.T):
        total = 0.0
        for m in range(chosen["n_bins"]):
            low, high = m / chosen["n_bins"], (m + 1) / chosen["n_bins"]
            rows = ((column > low) | (m == 0)) & (column <= high)
            if w[rows].sum() > 0:
                said = np.average(column[rows], weights=w[rows])
                share = np.average(labels[rows] == k, weights=w[rows])
                total += w[rows].sum() * abs(said - share)
        errors.append(total / w.sum())
        shares.append(w[labels == k].sum())
    return float(np.average(errors, weights=None if chosen["class_weights"] == "equal" else shares))


def checks(secret: bytes) -> list[Check]:
    chosen = variant(secret)
    rng = generator(secret, "measuring", "inputs")
    n = 200
    confidences = rng.uniform(0.3, 1, n)
    correct = rng.random(n) < confidences ** rng.uniform(0.5, 2)
    weights = rng.exponential(size=n)
    ones, zeros = np.ones(n), np.zeros(n)
    groups = rng.choice([0, 1, 3], n)
    only_one = np.where(groups == 1, 0.0, weights)

    def signed(question: str, name: str, w: np.ndarray, share: float) -> Check:
        expected = gap(chosen, (confidences, correct, w))
        arguments = (confidences, correct, w)
        judge = partly(close(expected), close(-expected))
        return Check(
            question, name, "signed_gap", arguments, judge, share, SIGNED_HINTS[name], SIGN
        )

    def by_group(name: str, w: np.ndarray, n_groups: int) -> Check:
        answers = (confidences, correct, w)
        expected = [gap(chosen, answers, groups == g) for g in range(n_groups)]
        arguments = (*answers, groups, n_groups)
        judge = follows(close(expected), lambda own: own)
        each = [tuple(column[groups == g] for column in answers) for g in range(n_groups)]
        calls = [("signed_gap", of_it) for of_it in each]
        return Check("q2", name, "signed_gaps", arguments, judge, own=lambda answer: calls)

    probs = rng.dirichlet(np.full(5, 0.5), 400)
    labels = drawn_labels(rng, probs**2 / (probs**2).sum(axis=1, keepdims=True))
    w = rng.exponential(size=400)
    quarters = rng.multinomial(4, np.full(3, 1 / 3), 80) / 4
    beside = (quarters + 0.03 * rng.dirichlet(np.ones(3), 80)) / 1.03
    on_edges = np.concatenate([quarters, beside])  # the edges share their bins with others
    of_edges = rng.integers(0, 3, 160)
    absent = np.minimum(labels, 3)  # class 4 is nobody's label

    def classwise(name: str, p: np.ndarray, y: np.ndarray, w: np.ndarray) -> Check:
        other = chosen | {"class_weights": OTHER[chosen["class_weights"]]}
        judge = partly(close(error(chosen, p, y, w)), close(error(other, p, y, w)))
        return Check("q3", name, "classwise_error", (p, y, w), judge, 1.0, CLASS_HINTS[name], MEAN)

    size = chosen["min_size"]
    sizes = rng.permutation([size - 1, size, size + 40, 2 * size])
    cameras = rng.permutation(np.repeat(np.arange(4), sizes))
    n = len(cameras)
    forecasts, heavy = rng.dirichlet(np.full(3, 0.7), n), rng.uniform(0.5, 2, n)
    seen = drawn_labels(rng, forecasts)
    small = cameras == int(np.flatnonzero(sizes == size - 1)[0])
    seen[small] = forecasts[small].argmin(axis=1)  # the worst of all, but too small
    twice = np.tile(np.arange(2 * size), 2)
    of_twice = np.repeat([5, 2], 2 * size)

    def worst(name: str, rows: np.ndarray, groups: np.ndarray) -> Check:
        p, y, w = forecasts[rows], seen[rows], heavy[rows]
        found = [
            (-error(chosen, p[groups == g], y[groups == g], w[groups == g]), int(g))
            for g in np.unique(groups)
            if (groups == g).sum() >= size
        ]
        large = sorted(group for _, group in found)
        if not found:
            return Check("q4", name, "worst_group", (p, y, w, groups), equal(None), 0.5, NOBODY)
        calls = [
            ("classwise_error", (p[groups == g], y[groups == g], w[groups == g])) for g in large
        ]
        judge = follows(close(min(found)[1]), lambda own: large[int(np.argmax(own))])
        arguments = (p, y, w, groups)
        return Check("q4", name, "worst_group", arguments, judge, own=lambda answer: calls)

    return [
        signed("q1", "equal weights", ones, 1.0),
        signed("q1", "different weights", weights, 2.0),
        signed("q1", "no weight at all", zeros, 0.5),
        by_group("four groups, one of them empty", weights, 4),
        by_group("a group without weight, and empty ones at the end", only_one, 6),
        classwise("equal weights", probs, labels, np.ones(400)),
        classwise("different weights", probs, labels, w),
        classwise("probabilities on edges", on_edges, of_edges, np.ones(160)),
        classwise("a class that is nobody's label", probs, absent, np.ones(400)),
        worst("a small group that looks bad", np.arange(n), cameras),
        worst("two equal groups", twice, of_twice),
        worst("small groups only", np.arange(size - 1), np.arange(size - 1) % 2),
    ]
