"""The confidence of each prediction, whether it is correct, and its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils._numerics import widen
from calib_utils.predictions import Predictions, blocks_of, like, taken

__all__ = ["top_label"]


def top_label(
    probs: Any,
    labels: Any = None,
) -> tuple[Any, Any]:
    """The confidence of each prediction, and whether it is correct.

    Args:
        probs: (N, K), rows that sum to one; or (N,), probabilities of the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        Two arrays of shape (N,), of the same kind as ``probs``.
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
    predictions = taken(probs, labels)
    confidences, correct = confidence_and_correct(predictions)
    return like(confidences, predictions.scores, cast=True), like(correct, predictions.scores)


def confidence_and_correct(
    predictions: Predictions, name: str = "probs"
) -> tuple[np.ndarray, np.ndarray]:
    """`top_label` as NumPy arrays, with the confidence in float32 or float64.

    Without labels nothing is correct.
    """
    n, labels = len(predictions), predictions.labels
    labels = np.zeros(n, np.int64) if labels is None else labels
    confidences = np.empty(n, widen(predictions.array[:0]).dtype)
    correct = np.empty(n, bool)
    # The scores are read once, so that checks and computations find each block in the cache.
    for rows, block in blocks_of(predictions, name):
        if block.ndim == 1:
            confidences[rows], correct[rows] = block, labels[rows] == 1
        else:
            confidences[rows], correct[rows] = _top_of_block(block, labels[rows])
    return confidences, correct


def weighted_predictions(
    predictions: Predictions,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """`confidence_and_correct`, and the weights, of the samples whose weight is not 0."""
    return drop_weightless(*confidence_and_correct(predictions), predictions.sample_weight)


def float_pairs(predictions: Predictions) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences in float64 up to 1, whether they are correct, and weights above 0."""
    confidences, correct, weights = weighted_predictions(predictions)
    weights = np.ones(len(correct)) if weights is None else weights
    return as_chances(confidences), correct, weights


def as_chances(confidences: np.ndarray) -> np.ndarray:
    """The confidences in float64; those of rounded rows may exceed 1, which they are set to."""
    return np.minimum(confidences.astype(np.float64), 1)


def drop_weightless(
    confidences: np.ndarray, correct: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The samples whose weight is not 0, and their weights; None where none are given."""
    if weights is None:
        return confidences, correct, None
    kept = weights > 0
    return confidences[kept], correct[kept], weights[kept]


def unequal(weights: np.ndarray | None) -> np.ndarray | None:
    """Weights above 0 as parts of the largest; None if all samples count alike."""
    if weights is None or np.ptp(weights) == 0:
        return None
    return weights / weights.max()


def _top_of_block(block: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest value of each row, and whether its first place is the label's column."""
    starts = np.arange(0, block.size, block.shape[1])
    top = np.maximum.reduceat(block.ravel(), starts)  # faster than max(axis=1) and argmax
    correct = block.ravel().take(starts + labels) == top
    # If the label's probability is the largest, an earlier one may still equal it, unless it is
    # clearly above one half.
    tied = np.flatnonzero(correct & (top < 0.51))
    correct[tied] = block[tied].argmax(axis=1) == labels[tied]
    return top, correct
