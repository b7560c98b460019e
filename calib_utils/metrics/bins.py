"""Bins of confidence, and what each of them holds.

Bins are right-closed, ((m-1)/M, m/M]: a confidence on an edge belongs to the bin below it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_utils._arrays import dtype_name, like, widen
from calib_utils._checks import (
    check_confidences,
    check_correct,
    check_labels,
    check_n_bins,
    checked_blocks,
    float_scores,
    tolerance,
)

__all__ = ["ReliabilityBins", "reliability_bins", "top_label"]


def top_label(probs: Any, labels: Any) -> tuple[Any, Any]:
    """The confidence of each prediction, and whether it is right.

    Args:
        probs: (N, K), rows that sum to one; or (N,), probabilities of the positive class.
        labels: (N,), integers from 0 to K - 1.

    Returns:
        Two arrays of shape (N,), of the kind that ``probs`` is. For (N, K): the probability
        of the predicted class, the first of tied maxima, in the type of ``probs``; and
        whether that is the label, as booleans. For (N,): the probabilities themselves; and
        whether the label is 1.

    Raises:
        ValueError: for bad input.
    """
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


class ReliabilityBins(NamedTuple):
    """M bins of confidence, and the predictions in each of them.

    Attributes:
        edges: (M + 1,), from low to high; bin m reaches from edge m, exclusive, to edge m + 1.
        counts: (M,), how many predictions are in the bin.
        accuracy: (M,), which part of them is correct; NaN where the bin is empty.
        confidence: (M,), their mean confidence; NaN where the bin is empty.
    """

    edges: Any
    counts: Any
    accuracy: Any
    confidence: Any


def reliability_bins(
    confidences: Any, correct: Any, n_bins: int = 15, strategy: str = "uniform"
) -> ReliabilityBins:
    """Sort predictions into bins of confidence: the numbers behind a reliability diagram.

    With ``strategy="uniform"`` the M bins are equally wide, ((m-1)/M, m/M], as in Guo et al.
    A confidence on an edge belongs to the bin below it. The edge is rounded to the type of
    the confidences first, so that 0.2 is on the edge 1/5 in float32 as in float64. 0 belongs
    to the first bin and 1 to the last.

    With ``strategy="quantile"`` the bins hold equally many predictions, as far as possible.
    Edge m is the m/M quantile of the confidences, interpolated linearly as `numpy.quantile`
    and scikit-learn do; the first edge is the lowest confidence and the last the highest.
    Equal confidences always share a bin. So where many are equal, their bin holds more than
    its part; a bin between two equal edges holds nothing, unless it is the first.

    Args:
        confidences: (N,), from 0 to 1; or probabilities of the positive class.
        correct: (N,), whether each prediction is right; or whether the label is positive.
        n_bins: how many bins, M.
        strategy: "uniform" or "quantile".

    Returns:
        Edges, counts, accuracy and mean confidence, in arrays of the kind that
        ``confidences`` is: float64, counts int64.

    Raises:
        ValueError: for an unknown strategy or bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2.
    """
    values = check_confidences(confidences)
    correct = check_correct(correct, len(values))
    bins = bin_predictions(values, correct, check_n_bins(n_bins), strategy, dtype_name(confidences))
    return ReliabilityBins(*(like(array, confidences) for array in bins))


def bin_predictions(
    values: np.ndarray, correct: np.ndarray, n_bins: int, strategy: str, dtype: str
) -> ReliabilityBins:
    """`reliability_bins` for input that was checked; ``dtype`` is what the values came in."""
    edges, index = place_in_bins(values, n_bins, strategy, dtype)
    return means(edges, sums(index, values, correct, n_bins))


def place_in_bins(
    values: np.ndarray, n_bins: int, strategy: str, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """The edges of the bins, and the bin of each value, for values that were checked."""
    if strategy == "uniform":
        return uniform_edges(n_bins), uniform_index(values, n_bins, dtype)
    if strategy == "quantile":
        edges = quantile_edges(values, n_bins)
        return edges, right_closed_index(values, edges)
    raise ValueError(f"strategy: expected 'uniform' or 'quantile', found {strategy!r}")


def uniform_edges(n_bins: int) -> np.ndarray:
    """The edges m/M as float64."""
    return np.arange(n_bins + 1) / n_bins


def quantile_edges(values: np.ndarray, n_bins: int) -> np.ndarray:
    """The m/M quantiles as float64, their places found in integers: no rounding moves one."""
    ordered = np.sort(values)
    place, rest = np.divmod((len(values) - 1) * np.arange(n_bins + 1), n_bins)
    below = ordered[place].astype(np.float64)
    above = ordered[np.minimum(place + 1, len(values) - 1)].astype(np.float64)
    return np.minimum(below + (above - below) * (rest / n_bins), above)


def right_closed_index(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each value: the first whose upper edge is not below it."""
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)


def uniform_index(values: np.ndarray, n_bins: int, dtype: str) -> np.ndarray:
    """The bin ((m-1)/M, m/M] of each value, with the edges rounded to ``dtype``.

    Several times as fast as a search, which it equals.

    Args:
        values: any shape, from 0 to just above 1, numbers that ``dtype`` can hold.
        n_bins: how many bins, M.
        dtype: the type in which the values came.
    """
    edges = rounded(uniform_edges(n_bins), dtype).astype(values.dtype)
    if n_bins > 100:  # where bfloat16 rounds by most of a bin, or more
        return right_closed_index(values, edges)
    # The product is never too small: a value above the rounded edge is above m/M itself.
    index = np.minimum((values * n_bins).astype(np.intp), n_bins - 1)
    # It may be one too large, on an edge and where the edge was rounded up.
    index -= values <= edges.take(index)
    return np.maximum(index, 0, out=index)


def sums(index: np.ndarray, values: np.ndarray, correct: np.ndarray, n_bins: int) -> np.ndarray:
    """Counts, correct predictions and summed confidence of each bin: float64, (3, M)."""
    return np.stack(
        [
            np.bincount(index, minlength=n_bins),
            np.bincount(index[correct], minlength=n_bins),
            np.bincount(index, values, minlength=n_bins),
        ],
        dtype=np.float64,
    )


def means(edges: np.ndarray, bin_sums: np.ndarray) -> ReliabilityBins:
    """The bins whose `sums` are known."""
    counts, correct, confidence = bin_sums
    divisor = np.where(counts, counts, np.nan)
    return ReliabilityBins(edges, counts.astype(np.int64), correct / divisor, confidence / divisor)


def mean_excess(excess: np.ndarray, n: int) -> np.ndarray:
    """The calibration error of n predictions: the mean distance between promise and truth.

    Args:
        excess: (..., M), for each bin the sum of confidence less correctness.
        n: how many predictions there are.
    """
    return np.asarray(np.abs(excess).sum(axis=-1) / n)


def expected_gap(bins: ReliabilityBins) -> float:
    """The mean gap between accuracy and confidence: each bin weighs what it holds."""
    excess = np.nan_to_num(bins.counts * (bins.confidence - bins.accuracy))
    return float(mean_excess(excess, bins.counts.sum()))


def maximum_gap(bins: ReliabilityBins) -> float:
    """The widest gap between accuracy and confidence of all bins that hold anything."""
    return float(np.nanmax(np.abs(bins.accuracy - bins.confidence)))


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers that ``dtype`` has; those of bfloat16 as float32."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        bits = bits + 0x7FFF + (bits >> 16 & 1)  # to nearest, ties to even
        return (bits & 0xFFFF0000).view(np.float32)
    return values.astype(dtype if dtype in ("float16", "float32") else np.float64)
