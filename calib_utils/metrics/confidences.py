"""The confidence of each prediction, whether it is right, and how much it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import like, widen
from calib_utils._checks import (
    check_labels,
    check_sample_weight,
    checked_blocks,
    float_scores,
    tolerance,
)
from calib_utils._reading import read

__all__ = ["top_label"]


def top_label(
    probs: Any,
    labels: Any,
    *,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    rescale: bool = False,
) -> tuple[Any, Any]:
    """The confidence of each prediction, and whether it is right.

    Args:
        probs: (N, K), rows that sum to one; or (N,), probabilities of the positive class.
        labels: (N,), integers from 0 to K - 1.
        classes: (K,), what the labels call the class of each column; of (N,), the negative and the
            positive class.
        positive: of (N,), what the labels call the positive class.
        rescale: whether rows that rounding took from a sum of one are divided by it, which a
            warning counts.

    Returns:
        Two arrays of shape (N,), of the kind that ``probs`` is.
        For (N, K): the probability of the predicted class, the first of tied maxima, in the
        type of ``probs``; and whether that is the label, as booleans. For (N,): the
        probabilities themselves; and whether the label is 1.

    Raises:
        ValueError: for bad input.

    Example:
        >>> confidences, correct = top_label([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0])
        >>> confidences.tolist(), correct.tolist()
        ([0.9, 0.6], [True, False])
    """
    probs, labels = read(probs, labels, classes, positive, rescale)
    confidences, correct = confidence_and_correct(probs, labels)
    return like(confidences, probs, cast=True), like(correct, probs)


def confidence_and_correct(probs: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """`top_label` as NumPy arrays, with the confidence in float32 or float64."""
    array = float_scores(probs, "probs")
    binary = array.ndim == 1
    labels = check_labels(labels, len(array), 2 if binary else array.shape[1])
    confidences = np.empty(len(array), widen(array[:0]).dtype)
    correct = np.empty(len(array), bool)
    # One reading of `array`: the checks and what follows find each block in the cache.
    for rows, block in checked_blocks(array, tolerance(probs)):
        if binary:
            confidences[rows], correct[rows] = block, labels[rows] == 1
        else:
            confidences[rows], correct[rows] = _top_of_block(block, labels[rows])
    return confidences, correct


def weighted_predictions(
    probs: Any, labels: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """`confidence_and_correct`, and the weights, of the samples whose weight is not 0."""
    return drop_weightless(*confidence_and_correct(probs, labels), sample_weight)


def drop_weightless(
    confidences: np.ndarray, correct: np.ndarray, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The samples whose weight is not 0, and their weights; None where none are given."""
    if sample_weight is None:
        return confidences, correct, None
    weights = check_sample_weight(sample_weight, len(confidences))
    held = weights > 0
    return confidences[held], correct[held], weights[held]


def _top_of_block(block: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each row, and whether it stands first in the label's column."""
    starts = np.arange(0, block.size, block.shape[1])
    top = np.maximum.reduceat(block.ravel(), starts)  # faster than max(axis=1) and argmax
    correct = block.ravel().take(starts + labels) == top
    # Where the label's probability is the largest, an earlier one may equal it; but not if
    # it is clearly above one half.
    tied = np.flatnonzero(correct & (top < 0.51))
    correct[tied] = block[tied].argmax(axis=1) == labels[tied]
    return top, correct
