"""Hidden checks of "Measure by group"; their inputs come from the teacher's secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from classroom.assignments.measuring.reference import (
    classwise_error,
    compared,
    entry,
    signed_gap,
    signed_gaps,
    taking_part,
)
from classroom.checks import Check, Judge, close, equal, follows, partly
from classroom.secret import drawn_labels, generator
from classroom.variants import Reading, Variant, reading

NO_WEIGHT = "Where the weights sum to 0, the gap is nan."
CLASS_HINTS = {
    "equal weights": "Sort the rows by the probability of one class, not by the confidence.",
    "different weights": "Within a bin and across bins, rows count with their weights.",
    "probabilities on edges": "Read again to which bin a probability on an edge, or one of several "
    "equal probabilities, belongs.",
    "a class that is nobody's label": "Such a class has bins and gaps like any other.",
}
SIGN = "The sign is the other way round: read again which mean is subtracted from which."
RATIO = "The ratio is the other way round: read again which mean is divided by which."
NOBODY = "Read again what the answer is without a camera that has enough rows."
ROWS = 480  # which each number of bins divides: then `np.array_split` cuts the same bins
# What the cameras of a sheet are, in an order drawn anew, and by what their logits are multiplied.
CAMERAS = {"over": 2.0, "under": 0.5, "small": 1.0, "few": 1.0, "some": 1.0, "many": 1.0}


def values(secret: bytes) -> dict[str, Any]:
    """The values that differ from sheet to sheet."""
    rng = generator(secret, "measuring", "variant")
    return {
        "n_bins": int(rng.choice([8, 12, 16, 20])),  # a quarter is an edge, exactly
        "min_size": int(rng.integers(25, 60)),
    }


def roles(secret: bytes) -> list[str]:
    """What each camera of a sheet is, one of `CAMERAS`."""
    drawn = generator(secret, "measuring", "cameras").permutation(list(CAMERAS))
    return [str(role) for role in drawn]


def photographs(secret: bytes, min_size: int) -> dict[str, np.ndarray]:
    """The predictions for the images of six cameras, in a mixed order.

    One camera is overconfident and one underconfident, about as much and on as many images, so that
    they cancel. One has too few images to take part, and one just enough, so that its error is
    large by chance.
    """
    rng = generator(secret, "measuring", "photographs")
    sizes = {"small": min_size - 8, "few": min_size + 8, "some": 160, "many": 320}
    cameras = np.repeat(np.arange(6), [sizes.get(role, 300) for role in roles(secret)])
    cameras = rng.permutation(cameras)
    truth = rng.normal(0, 1.5, (len(cameras), 4))
    factors = np.array([CAMERAS[role] for role in roles(secret)])
    return {
        "probs": softmax(factors[cameras][:, None] * truth, axis=1),
        "labels": drawn_labels(rng, softmax(truth, axis=1)),
        "weights": rng.choice([1.0, 2.0, 4.0], len(cameras), p=[0.6, 0.3, 0.1]),
        "cameras": cameras,
    }


def data(secret: bytes, variant: Variant) -> dict[str, dict[str, np.ndarray]]:
    """The file that lies beside the notebook."""
    return {"photographs": photographs(secret, variant["min_size"])}


def examples(variant: Variant) -> dict[str, Any]:
    """What the examples of the notebook give."""
    confidences = np.array([0.5, 0.75, 1.0, 0.75])
    correct, groups = np.array([False, True, True, False]), np.array([0, 0, 2, 2])
    weights = np.array([0.0, 3.0, 1.0, 0.0])
    probs = np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
    labels, heavy = np.zeros(3, dtype=np.int64), np.array([1.0, 1.0, 2.0])
    given = (confidences, correct, np.ones(4))
    return {
        "expected_gap": signed_gap(*given, variant=variant),
        "expected_weighted": signed_gap(confidences, correct, weights, variant=variant),
        "expected_gaps": signed_gaps(*given, groups, 3, variant=variant).tolist(),
        "expected_error": classwise_error(probs, labels, np.ones(3), variant=variant),
        "expected_heavy": classwise_error(probs, labels, heavy, variant=variant),
        "expected_cameras": compared([0.25, 0.75, 0.5], [0, 1, 2], variant=variant),
        "expected_none": compared([], [], variant=variant),
    }


def labels_on_edges(rng: np.random.Generator, probs: np.ndarray, variant: Variant) -> np.ndarray:
    """Labels for which the error depends on the bin that a probability on an edge belongs to."""
    while True:
        # No gap where the probability is 1, or that would be the largest, wherever edges belong.
        labels = np.where(probs[:, 1] > 0.9, 1, rng.integers(0, 3, len(probs)))
        given = (labels, np.ones(len(probs)))
        below, above = (
            classwise_error(probs + shift, *given, variant=variant) for shift in (-1e-9, 1e-9)
        )
        if variant["bins"] == "mass" or abs(below - above) > 1e-3:
            return labels


def checks(secret: bytes, variant: Variant) -> list[Check]:
    rng = generator(secret, "measuring", "inputs")
    n = 200
    confidences = rng.uniform(0.3, 1, n)
    correct = rng.random(n) < confidences ** rng.uniform(0.5, 2)
    weights = rng.exponential(size=n)
    ones, zeros = np.ones(n), np.zeros(n)
    groups = rng.choice([0, 1, 3], n)
    only_one = np.where(groups == 1, 0.0, weights)

    def read(asked: tuple[str, ...], judge_of: Callable[[Variant], Judge]) -> Reading:
        return reading("measuring", variant, asked, judge_of)

    def signed(name: str, w: np.ndarray, share: float, hint: str = "") -> Check:
        arguments = (confidences, correct, w)

        def right(found: Variant) -> Judge:
            return close(signed_gap(*arguments, variant=found))

        gap, ratio = signed_gap(*arguments, variant=variant), variant["gap"] == "ratio"
        judge = partly(right(variant), close(1 / gap if ratio else -gap))
        return Check(
            "q1",
            name,
            "signed_gap",
            arguments,
            judge,
            share,
            hint,
            RATIO if ratio else SIGN,
            read=read(("gap",), right),
        )

    def by_group(name: str, w: np.ndarray, n_groups: int) -> Check:
        columns = (confidences, correct, w)
        calls = [
            ("signed_gap", tuple(column[rows] for column in columns))
            for g in range(n_groups)
            for rows in (groups == g, groups != g)
        ] + [("signed_gap", columns)]

        def of_own(own: list[Any]) -> list[float]:
            *of_cameras, everyone = own
            gaps = zip(of_cameras[::2], of_cameras[1::2], strict=True)
            return [entry(one, rest, everyone, variant=variant) for one, rest in gaps]

        def right(found: Variant) -> Judge:
            return close(signed_gaps(*columns, groups, n_groups, variant=found))

        return Check(
            "q2",
            name,
            "signed_gaps",
            (*columns, groups, n_groups),
            follows(right(variant), of_own),
            own=calls,
            read=read(("gap", "camera"), right),
        )

    probs = rng.dirichlet(np.full(5, 0.7), ROWS)
    labels = drawn_labels(rng, probs**1.6 / (probs**1.6).sum(axis=1, keepdims=True))
    w = rng.exponential(size=ROWS)
    quarters = np.array([[0.25, 0.75, 0], [0.5, 0.25, 0.25], [0, 1, 0], [0.75, 0, 0.25]] * 30)
    steps = rng.choice([-0.01, 0.01], (120, 1)) * [1, -1, 0]
    leaves = (quarters + steps < 0).any(axis=1, keepdims=True)
    beside = quarters + np.where(leaves, -steps, steps)
    on_edges = np.concatenate([quarters, beside])  # the edges share their bins with others
    of_edges = labels_on_edges(rng, on_edges, variant)
    absent = np.minimum(labels, 3)  # class 4 is nobody's label

    def classwise(name: str, p: np.ndarray, y: np.ndarray, w: np.ndarray) -> Check:
        def right(found: Variant) -> Judge:
            return close(classwise_error(p, y, w, variant=found))

        return Check(
            "q3",
            name,
            "classwise_error",
            (p, y, w),
            right(variant),
            hint=CLASS_HINTS[name],
            read=read(("bins", "norm", "classes"), right),
        )

    size = variant["min_size"]
    sizes = rng.permutation([size - 1, size, size + 40, 2 * size])
    cameras = rng.permutation(np.repeat(np.arange(4), sizes))
    n = len(cameras)
    forecasts, heavy = rng.dirichlet(np.full(3, 0.7), n), rng.uniform(0.5, 2, n)
    seen = drawn_labels(rng, forecasts)
    small = cameras == int(np.flatnonzero(sizes == size - 1)[0])
    seen[small] = forecasts[small].argmin(axis=1)  # the worst of all, but too small
    twice = np.tile(np.arange(2 * size), 2)
    of_twice = np.repeat([5, 2], 2 * size)

    def comparing(name: str, rows: np.ndarray, groups: np.ndarray, weight: float = 1.0) -> Check:
        p, y, w = forecasts[rows], seen[rows], heavy[rows]
        large = taking_part(groups, variant=variant)
        parts = [(p[groups == g], y[groups == g], w[groups == g]) for g in large]
        calls = [("classwise_error", part) for part in parts]
        errors = [classwise_error(*part, variant=variant) for part in parts]

        def right(found: Variant) -> Judge:
            wanted = compared(errors, large, variant=found)
            return equal(None) if wanted is None else close(wanted)

        return Check(
            "q4",
            name,
            "compare_groups",
            (p, y, w, groups),
            follows(right(variant), lambda own: compared(own, large, variant=variant)),
            weight,
            "" if large else NOBODY,
            own=calls,
            read=read(("answer",), right),
        )

    return [
        signed("equal weights", ones, 1.0),
        signed("different weights", weights, 2.0),
        signed("no weight at all", zeros, 0.5, NO_WEIGHT),
        by_group("four groups, one of them empty", weights, 4),
        by_group("a group without weight, and empty ones at the end", only_one, 6),
        classwise("equal weights", probs, labels, np.ones(ROWS)),
        classwise("different weights", probs, labels, w),
        classwise("probabilities on edges", on_edges, of_edges, np.ones(ROWS // 2)),
        classwise("a class that is nobody's label", probs, absent, np.ones(ROWS)),
        comparing("a small group that looks bad", np.arange(n), cameras),
        comparing("two equal groups", twice, of_twice),
        comparing("small groups only", np.arange(size - 1), np.arange(size - 1) % 2, 0.5),
    ]
