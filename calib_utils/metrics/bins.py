"""Bins of confidence, and the predictions in each of them.

A prediction has a confidence, is correct or not, and may have a weight. Bins are right-closed,
((m-1)/M, m/M]: a confidence on an edge belongs to the bin below it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from calib_utils._numerics import effective_size, widen
from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import dtype_name, like
from calib_utils.predictions.checks import check_edges, check_n_bins, check_rows
from calib_utils.predictions.gate import blocks_of, taken
from calib_utils.predictions.labels import check_correct
from calib_utils.predictions.scores import check_confidences

_ROUNDING = 1e-9  # of a bin: a position so close to an edge is on it


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


class ReliabilityBins(NamedTuple):
    """M bins of confidence, and the predictions in each of them.

    Attributes:
        edges: (M + 1,), from low to high; bin m reaches from edge m, exclusive, to edge m + 1.
        counts: (M,), the number of predictions in the bin, or their summed weight.
        accuracy: (M,), the share of them that is correct; NaN if the bin is empty.
        confidence: (M,), their mean confidence; NaN if the bin is empty.

    Example:
        >>> bins = reliability_bins([0.7, 0.8, 0.9, 1.0], [True, False, True, True], n_bins=2)
        >>> bins.edges.tolist(), bins.counts.tolist()
        ([0.0, 0.5, 1.0], [0, 4])
        >>> round(float(bins.confidence[1] - bins.accuracy[1]), 4)
        0.1
    """

    edges: Any
    counts: Any
    accuracy: Any
    confidence: Any


def reliability_bins(
    confidences: Any, correct: Any = None, n_bins: Any = 15, strategy: str = "uniform"
) -> ReliabilityBins:
    """Sort predictions into bins of confidence: the numbers behind a reliability diagram.

    With ``strategy="uniform"`` the M bins are equally wide, ((m-1)/M, m/M], as in Guo et al.
    A confidence on an edge belongs to the bin below it. The edge is rounded to the type of
    the confidences first, so that 0.2 is on the edge 1/5 in float32 as in float64. 0 belongs
    to the first bin and 1 to the last.

    With ``strategy="quantile"`` the bins contain equally many predictions, as far as possible.
    Edge m is the m/M quantile of the confidences, interpolated linearly as in `numpy.quantile`
    and scikit-learn; the first edge is the lowest confidence and the last the highest.
    Equal confidences always share a bin, so if many are equal, their bin contains more than its
    share; a bin between two equal edges is empty, unless it is the first.

    With weights the bins of equal mass contain equal weight, as far as possible. The position of
    a confidence is then the summed weight of those below it plus half of its own, on a scale from
    0 at the lowest to 1 at the highest; edge m is interpolated at m/M. Ten equal rows and one row
    of weight ten therefore give slightly different edges.

    Args:
        confidences: (N,), from 0 to 1; or probabilities of the positive class; or ``Predictions``,
            whose confidences are those of `top_label`.
        correct: (N,), whether each prediction is correct; or whether the label is positive; omitted
            if ``confidences`` are ``Predictions``.
        n_bins: the number of bins, M; or their M + 1 edges, which rise from 0 to 1; or "auto",
            for the cube root of the number of samples, rounded down (with weights, of Kish's
            effective number). More bins hide less, but are noisier; at that order of M the bound
            of both effects is lowest.
        strategy: "uniform" or "quantile".

    Returns:
        Edges, counts, accuracy and mean confidence, in the same kind of array as ``confidences``.
        They are float64, and counts are int64 unless the samples are weighted.

    Raises:
        ValueError: for an unknown strategy or bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 2; for "auto"
    Futami, Fujisawa 2024, "Information-theoretic generalization analysis for expected calibration
    error".

    Example:
        >>> bins = reliability_bins([0.3, 0.8, 0.9], [True, True, False], n_bins=2)
        >>> bins.counts.tolist(), bins.accuracy.tolist()
        ([1, 2], [1.0, 0.5])
    """
    if isinstance(confidences, Predictions):
        predictions = taken(confidences, correct)
        confidences, bins = predictions.scores, bins_of(predictions, n_bins, strategy)
    else:
        values = check_confidences(confidences)
        check_rows(confidences, correct, "correct", "confidences")
        hits = check_correct(correct, len(values))
        n_bins = count_or_edges(n_bins, len(values))
        bins = bin_predictions(values, hits, n_bins, strategy, dtype_name(confidences))
    return ReliabilityBins(*(like(array, confidences) for array in bins))


def count_or_edges(n_bins: Any, n: float) -> int | np.ndarray:
    """The number of bins, or their edges as float64.

    Args:
        n_bins: as for `reliability_bins`.
        n: the number of samples; with weights Kish's effective one.

    Raises:
        ValueError: if it is none of these.
    """
    if isinstance(n_bins, str):
        if n_bins != "auto":
            raise ValueError(
                f"n_bins: expected an integer, edges or 'auto', found {n_bins!r}; 15 is usual"
            )
        return max(1, int(n ** (1 / 3) + 1e-9))
    if not isinstance(n_bins, (list, tuple)) and getattr(n_bins, "ndim", 0) != 1:
        return check_n_bins(n_bins)
    return check_edges(n_bins)


def count_of(n_bins: int | np.ndarray) -> int:
    """The number of bins, from what `count_or_edges` returned."""
    return n_bins if isinstance(n_bins, int) else len(n_bins) - 1


def bins_of(predictions: Predictions, n_bins: Any, strategy: str) -> ReliabilityBins:
    """`reliability_bins` of predictions as NumPy arrays, whatever kind their scores are."""
    values, correct, weights = weighted_predictions(predictions)
    n_bins = count_or_edges(n_bins, len(values) if weights is None else effective_size(weights))
    dtype = dtype_name(predictions.scores)
    return bin_predictions(values, correct, n_bins, strategy, dtype, weights)


def bin_predictions(
    values: np.ndarray,
    correct: np.ndarray,
    n_bins: int | np.ndarray,
    strategy: str,
    dtype: str,
    weights: np.ndarray | None = None,
) -> ReliabilityBins:
    """`reliability_bins` for checked input; ``dtype`` is the original type of the values."""
    edges, index = edges_and_index(values, n_bins, strategy, dtype, weights)
    return means(edges, sums(index, values, correct, count_of(n_bins), weights), weights is None)


def edges_and_index(
    values: np.ndarray,
    n_bins: int | np.ndarray,
    strategy: str,
    dtype: str,
    weights: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The edges of the bins, (M + 1,), and the bin of each value, (N,)."""
    if not isinstance(n_bins, int):
        if strategy != "uniform":
            raise ValueError(
                f"strategy: expected none with edges of your own, found {strategy!r}; leave it out"
            )
        return n_bins, right_closed_index(values, rounded(n_bins, dtype))
    if strategy == "uniform":
        return uniform_edges(n_bins), uniform_index(values, n_bins, dtype)
    if strategy == "quantile":
        edges = quantile_edges(values, n_bins, weights)
        return edges, right_closed_index(values, edges)
    raise ValueError(f"strategy: expected 'uniform' or 'quantile', found {strategy!r}")


def binned(
    predictions: Predictions, n_bins: int | np.ndarray, strategy: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The confidence of each prediction, whether it is correct, and its bin."""
    confidences, correct = confidence_and_correct(predictions)
    _, index = edges_and_index(confidences, n_bins, strategy, dtype_name(predictions.scores))
    return confidences, correct, index


def uniform_edges(n_bins: int) -> np.ndarray:
    """The edges m/M as float64."""
    return np.arange(n_bins + 1) / n_bins


def quantile_edges(
    values: np.ndarray, n_bins: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """The m/M quantiles as float64; without weights positions are integers, so they are exact."""
    if weights is not None and np.ptp(weights) > 0:
        order = np.argsort(values, kind="stable")
        summed = np.cumsum(weights[order])
        places = summed - weights[order] / 2
        places = (places - places[0]) / (places[-1] - places[0]) * n_bins
        whole = np.rint(places)
        places = np.where(np.abs(places - whole) < _ROUNDING, whole, places)
        return interpolated(np.arange(n_bins + 1), places, values[order].astype(np.float64))
    ordered = np.sort(values)
    place, rest = np.divmod((len(values) - 1) * np.arange(n_bins + 1), n_bins)
    below = ordered[place].astype(np.float64)
    above = ordered[np.minimum(place + 1, len(values) - 1)].astype(np.float64)
    return below + (above - below) * (rest / n_bins)  # never beyond, as rest < n_bins


def interpolated(x: np.ndarray, places: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`numpy.interp` of values that rise, by shares of a gap, so that a tiny one gives no infinity.

    Args:
        x: (n,), of any size; beyond the places the first or last value holds.
        places: (m,), from low to high.
        values: (m,), from low to high.
    """
    above = np.clip(np.searchsorted(places, x, side="right"), 1, len(places) - 1)
    low, high = places[above - 1], places[above]
    half = np.where(np.maximum(np.abs(low), np.abs(high)) > 1, 0.5, 1.0)  # else a gap may overflow
    gap = half * high - half * low
    share = np.ones(len(x))
    np.divide(half * x - half * low, gap, out=share, where=gap > 0)
    first, last = values[above - 1], values[above]
    inside = np.minimum(first + (last - first) * np.clip(share, 0, 1), last)
    return np.asarray(np.where(share >= 1, last, inside))


def right_closed_index(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each value: the first whose upper edge is not below it."""
    return np.clip(np.searchsorted(edges, values, side="left") - 1, 0, len(edges) - 2)


def uniform_index(values: np.ndarray, n_bins: int, dtype: str) -> np.ndarray:
    """The bin ((m-1)/M, m/M] of each value, with the edges rounded to ``dtype``.

    The result is that of a search, but several times as fast.

    Args:
        values: any shape, from 0 to just above 1, numbers that ``dtype`` can represent.
        n_bins: the number of bins, M.
        dtype: the original type of the values.
    """
    edges = rounded(uniform_edges(n_bins), dtype).astype(values.dtype)
    if n_bins > 100:  # there bfloat16 rounds by most of a bin, or more
        return right_closed_index(values, edges)
    # The product is never too small: a value above the rounded edge is above m/M itself.
    index = np.minimum((values * n_bins).astype(np.intp), n_bins - 1)
    # It may be one too large, on an edge and where the edge was rounded up.
    index -= values <= edges.take(index)
    return np.maximum(index, 0, out=index)


def sums(
    index: np.ndarray,
    values: np.ndarray,
    correct: np.ndarray,
    n_bins: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Counts, correct predictions and summed confidence of each bin: float64, (3, M)."""
    terms = [correct, values] if weights is None else [weights * correct, weights * values]
    return sums_per_bin(index, [weights, *terms], n_bins)


def sums_per_bin(index: np.ndarray, terms: Iterable[np.ndarray | None], n_bins: int) -> np.ndarray:
    """Sums of each term over the samples of each bin: float64, (terms, M); None counts samples."""
    return np.stack([np.bincount(index, term, n_bins) for term in terms], dtype=np.float64)


def means(edges: np.ndarray, bin_sums: np.ndarray, whole: bool) -> ReliabilityBins:
    """The bins with these `sums`; ``whole`` if their counts are numbers of rows."""
    counts, correct, confidence = bin_sums
    divisor = np.where(counts, counts, np.nan)
    counts = counts.astype(np.int64) if whole else counts
    return ReliabilityBins(edges, counts, correct / divisor, confidence / divisor)


def mean_excess(excess: np.ndarray, n: float) -> np.ndarray:
    """The calibration error of n predictions: the mean gap between confidence and accuracy.

    Args:
        excess: (..., M), for each bin the sum of confidence minus correctness.
        n: the number of predictions, or their summed weight.
    """
    return np.asarray(np.abs(excess).sum(axis=-1) / n)


def expected_gap(bins: ReliabilityBins) -> float:
    """The mean gap between accuracy and confidence, weighted by the predictions in each bin."""
    excess = np.nan_to_num(bins.counts * (bins.confidence - bins.accuracy))
    return float(mean_excess(excess, bins.counts.sum()))


def root_mean_square_gap(bins: ReliabilityBins) -> float:
    """The root of the mean squared gap, weighted by the predictions in each bin."""
    gaps = np.nan_to_num(bins.confidence - bins.accuracy)
    return float(np.sqrt(bins.counts @ gaps**2 / bins.counts.sum()))


def maximum_gap(bins: ReliabilityBins) -> float:
    """The widest gap between accuracy and confidence of all bins that are not empty."""
    return float(np.nanmax(np.abs(bins.accuracy - bins.confidence)))


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest numbers that ``dtype`` has; those of bfloat16 as float32."""
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        bits = bits + 0x7FFF + (bits >> 16 & 1)  # to nearest, ties to even
        return (bits & 0xFFFF0000).view(np.float32)
    return values.astype(dtype if dtype in ("float16", "float32") else np.float64)


class Steps(NamedTuple):
    """An increasing step function.

    Attributes:
        first, last: (S,), the lowest and the highest value on each step.
        masses: (S,), float64, the number of samples on it, or their summed weight.
        positives: (S,), float64, the part of that with the outcome.
    """

    first: np.ndarray
    last: np.ndarray
    masses: np.ndarray
    positives: np.ndarray


def isotonic_steps(values: np.ndarray, hits: np.ndarray, weights: np.ndarray | None) -> Steps:
    """The steps of the isotonic regression of the outcomes on the values, by least squares.

    Neighbours that do not rise share a step in any case, so they are pooled first, which leaves few
    for the regression.

    Args:
        values: (N,), of which only the order and the ties matter.
        hits: (N,), booleans.
        weights: (N,), above 0; None for 1.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(values)
    values, hits = values[order], hits[order]
    weights = None if weights is None else weights[order]
    del order
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    masses, positives = _masses_from(hits, weights, starts)
    positives /= masses
    del masses
    starts = starts[np.append(True, positives[1:] > positives[:-1])]
    masses, positives = _masses_from(hits, weights, starts)
    fitted = isotonic_regression(positives / masses, weights=masses).x
    kept = np.flatnonzero(np.append(True, fitted[1:] > fitted[:-1]))
    starts = starts[kept]
    return Steps(
        values[starts],
        values[np.append(starts[1:], len(values)) - 1],
        np.add.reduceat(masses, kept),
        np.add.reduceat(positives, kept),
    )


def _masses_from(
    hits: np.ndarray, weights: np.ndarray | None, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weight of the samples from each start to the next, and of those that have it."""
    if weights is None:
        masses = np.append(starts[1:], float(len(hits)))
        masses -= starts
        return masses, np.add.reduceat(hits, starts, dtype=np.float64)
    return np.add.reduceat(weights, starts), np.add.reduceat(weights * hits, starts)


def bin_sums(predictions: Predictions, n_bins: Any, strategy: str) -> np.ndarray:
    """The sums that the intervals need, as `tally` has them; those of several sets add up."""
    confidences, correct, weights = weighted_predictions(predictions)
    bins = count_or_edges(n_bins, len(correct) if weights is None else effective_size(weights))
    weights, dtype = unequal(weights), dtype_name(predictions.scores)
    _, index = edges_and_index(confidences, bins, strategy, dtype, weights)
    return tally(confidences, correct, index, count_of(bins), weights)


def tally(
    confidences: np.ndarray,
    correct: np.ndarray,
    index: np.ndarray,
    size: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Sums over the samples of each bin: float64, (5, size), or (9, size) with weights.

    They are the sums of w, of w times correct, of w times the confidence c, of
    w^2 (c - correct)^2 and of w^2 c (1 - c), where the weight w is 1 if there are none. Weights add
    the sums of w^2, of w^2 times correct and of w^2 c, and the number of samples.
    """
    c, hits = confidences.astype(np.float64), correct.astype(np.float64)
    first, noise = [hits, c], [(c - hits) ** 2, c * (1 - c)]
    if weights is None:
        terms = [None, *first, *noise]
    else:
        squared = weights**2
        terms = [weights, *(weights * term for term in first), *(squared * term for term in noise)]
        terms += [squared, *(squared * term for term in first), None]
    return sums_per_bin(index, terms, size)


def squared_sums(of_bins: np.ndarray) -> np.ndarray:
    """The sums of w^2, of w^2 times correct and of w^2 c, (3, M); without weights w^2 is w."""
    return of_bins[5:8] if len(of_bins) > 5 else of_bins[:3]
