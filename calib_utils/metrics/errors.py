"""Calibration errors of a whole set: the gap between confidence and accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calib_utils._numerics import row_blocks
from calib_utils.metrics.bins import (
    ReliabilityBins,
    bin_predictions,
    bin_sums,
    bins_of,
    drop_weightless,
    expected_gap,
    maximum_gap,
    mean_excess,
    rounded,
    squared_sums,
    sums_per_bin,
    uniform_index,
)
from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import dtype_name
from calib_utils.predictions.checks import check_n_bins
from calib_utils.predictions.gate import blocks_of, probs_of, taken


def expected_calibration_error(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    strategy: str = "uniform",
) -> float:
    """ECE: the gap between accuracy and confidence in a bin, averaged over the predictions.

    Args:
        probs: (N, K), or (N,) for the positive class; then "accuracy" is the share of positive
            samples in a bin.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile", as in `reliability_bins`.

    Returns:
        0 (calibrated) to 1. It is biased upwards, because even calibrated predictions get more
        than 0 in a finite sample, and the more so the more bins there are.

    Raises:
        ValueError: for bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3.

    Example:
        >>> probs = [[0.8, 0.2]] * 10
        >>> labels = [0] * 6 + [1] * 4
        >>> round(expected_calibration_error(probs, labels), 4)
        0.2
    """
    return expected_gap(bins_of(taken(probs, labels), n_bins, strategy))


def maximum_calibration_error(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    strategy: str = "uniform",
) -> float:
    """MCE: the widest gap between accuracy and confidence of all bins that are not empty.

    A bin with one prediction counts as much as a full one, so the MCE is noisy.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile", as in `reliability_bins`.

    Returns:
        0 to 1; never less than the expected calibration error.

    Raises:
        ValueError: for bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 5.

    Example:
        >>> probs = [[0.8, 0.2]] * 10 + [[0.6, 0.4]]
        >>> labels = [0] * 8 + [1] * 3
        >>> round(maximum_calibration_error(probs, labels), 4)
        0.6
    """
    return maximum_gap(bins_of(taken(probs, labels), n_bins, strategy))


def classwise_calibration_error(
    probs: Any,
    labels: Any = None,
    n_bins: int = 15,
    strategy: str = "uniform",
) -> float:
    """The calibration error of each class's probability, averaged over the classes.

    For each class all N probabilities are binned, whether the class is predicted or not, and
    compared with its frequency. Classes without a label count as well.

    Args:
        probs: (N, K), or (N,) for the positive class, which counts as two columns.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins of each class, M.
        strategy: "uniform" or "quantile", as in `reliability_bins`; with "quantile" each class has
            its own edges.

    Returns:
        0 to 1. It is small if there are many classes, because most probabilities are then near 0.

    Raises:
        ValueError: for bad input.

    Source: Kull et al. 2019, "Beyond temperature scaling: Obtaining well-calibrated
    multi-class probabilities with Dirichlet calibration", section 2.

    Example:
        >>> probs = [[0.6, 0.3, 0.1]] * 10
        >>> labels = [0] * 4 + [1] * 3 + [2] * 3
        >>> round(classwise_calibration_error(probs, labels), 4)
        0.1333
    """
    predictions, n_bins = with_classes(taken(probs, labels)), check_n_bins(n_bins)
    if strategy == "quantile":
        of_classes = _bins_of_classes(predictions, n_bins)
        return float(np.mean([expected_gap(bins) for bins in of_classes]))
    if strategy != "uniform":
        raise ValueError(f"strategy: expected 'uniform' or 'quantile', found {strategy!r}")
    return classwise_gap(class_sums(predictions, n_bins))


def class_sums(predictions: Predictions, n_bins: int) -> np.ndarray:
    """Counts, labels and summed probability of each class and bin: float64, (3, K, M)."""
    labels, weights = predictions.labels, predictions.sample_weight
    dtype, binary = dtype_name(predictions.scores), predictions.kind == "binary"
    n_classes = 2 if binary else predictions.scores.shape[1]
    found = np.zeros((3, n_classes * n_bins))
    size, first_bins = found.shape[1], n_bins * np.arange(n_classes)
    for rows, block in row_blocks(_columns(predictions)) if binary else blocks_of(predictions):
        cells = uniform_index(block, n_bins, dtype) + first_bins
        of_labels = cells[np.arange(len(block)), labels[rows]]
        here = None if weights is None else weights[rows]
        each = None if here is None else np.repeat(here, n_classes)
        masses = block.ravel() if each is None else each * block.ravel()
        found[[0, 2]] += sums_per_bin(cells.ravel(), [each, masses], size)
        found[1] += sums_per_bin(of_labels, [here], size)[0]
    return found.reshape(3, n_classes, n_bins)


def classwise_gap(of_classes: np.ndarray) -> float:
    """The calibration error of each class, averaged, from `class_sums`."""
    counts, happened, expected = of_classes
    return float(mean_excess(expected - happened, counts[0].sum()).mean())


def adaptive_calibration_error(probs: Any, labels: Any = None, n_bins: int = 15) -> float:
    """ACE: the class-wise error in bins of equal mass, all of which count equally.

    Equal probabilities share a bin, so there may be fewer bins than asked for, and of unequal mass;
    all that are not empty count equally. Otherwise it equals `classwise_calibration_error` with
    ``strategy="quantile"``, except for the odd samples of bins that cannot be exactly equal.

    Args:
        probs: (N, K), or (N,) for the positive class, which counts as two columns.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins of each class, M.

    Returns:
        0 to 1. It is small if there are many classes, because most probabilities are then near 0.

    Raises:
        ValueError: for bad input.

    Source: Nixon et al. 2019, "Measuring calibration in deep learning", section 4.2.

    Example:
        >>> probs = [[0.6, 0.3, 0.1]] * 10
        >>> labels = [0] * 4 + [1] * 3 + [2] * 3
        >>> round(adaptive_calibration_error(probs, labels), 4)
        0.1333
    """
    gaps = [
        float(np.nanmean(np.abs(bins.confidence - bins.accuracy)))
        for bins in _bins_of_classes(with_classes(taken(probs, labels)), check_n_bins(n_bins))
    ]
    return float(np.mean(gaps))


def with_classes(predictions: Predictions) -> Predictions:
    """The predictions, after a check that the probability of each class is known."""
    if predictions.kind == "confidence":
        raise ValueError(
            "probs: expected those of all classes, found confidences; a class-wise error needs the "
            "probability of each class"
        )
    return predictions


def _columns(predictions: Predictions) -> np.ndarray:
    """Checked probabilities with a column for each class."""
    array = probs_of(predictions)
    if predictions.kind != "binary":
        return array
    positive = np.minimum(array, 1)
    return np.stack([rounded(1 - positive, dtype_name(predictions.scores)), positive], axis=1)


def _bins_of_classes(predictions: Predictions, n_bins: int) -> Iterator[ReliabilityBins]:
    """For each class, bins of equal mass of its probability."""
    dtype = dtype_name(predictions.scores)
    for k, column in enumerate(_columns(predictions).T):
        values, correct, weights = drop_weightless(
            column, predictions.labels == k, predictions.sample_weight
        )
        yield bin_predictions(values, correct, n_bins, "quantile", dtype, weights)


def debiased_calibration_error(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    *,
    strategy: str = "uniform",
) -> float:
    """The root mean square of the gaps of the bins, with the noise subtracted from the squares.

    The squared gap of a bin is on average too large by the variance of that gap. This variance is
    estimated from the samples in the bin, and subtracted. The mean of the squares is then unbiased:
    with few samples as with many, calibrated predictions get 0 on average, and therefore often a
    negative square. Its root, which is 0 if the square is negative, is no longer unbiased.

    This is an L2 error. It weights wide gaps more than the ECE does, and without noise it would
    never be smaller than the ECE, so do not compare the two numbers directly. Like the ECE, it
    misses gaps that cancel within a bin.

    A bin with one sample is left out, because its variance cannot be estimated, and the others are
    weighted by their samples. Weights are not numbers of repeats: a sample of weight 2 adds more
    noise than two samples, and more is subtracted.

    With ``strategy="quantile"`` the samples also determine the bins, and a little bias remains.
    `debiased_calibration_error_interval` gives an interval for the error of the network.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile", as in `reliability_bins`.

    Returns:
        0 to 1.

    Raises:
        ValueError: for bad input, or if no bin has two samples.

    Example:
        Half of the forecasts of 0.8 come true. The gap is 0.3, its variance 0.25 / 99.

        >>> error = debiased_calibration_error([0.8] * 100, [0, 1] * 50)
        >>> round(error, 4), round((0.3**2 - 0.25 / 99) ** 0.5, 4)
        (0.2958, 0.2958)

    Source: Kumar, Liang, Ma 2019, "Verified uncertainty calibration", section 5, and
    Bröcker 2012, "Estimating reliability and resolution of probability forecasts through
    decomposition of the empirical score". Both subtract the variance of the labels in a bin of
    equal confidences. Here it is the variance of confidence minus correctness, which is the same
    if they are equal, and remains unbiased if they are not.
    """
    square = debiased_squared_error(taken(probs, labels), n_bins, strategy)
    return max(square, 0.0) ** 0.5


def debiased_squared_error(predictions: Predictions, n_bins: Any, strategy: str) -> float:
    """The square of `debiased_calibration_error`, which chance may make negative."""
    square = debiased_square(bin_sums(predictions, n_bins, strategy))
    if np.isnan(square):
        raise ValueError(
            "n_bins: expected a bin with two samples or more, found none; "
            "give fewer bins or more samples"
        )
    return square


def debiased_square(of_bins: np.ndarray) -> float:
    """The same of samples whose `bin_sums` are known; NaN if no bin has two of them."""
    # The summed weight of all pairs of two different samples.
    pairs = of_bins[0] ** 2 - squared_sums(of_bins)[0]
    several = pairs > 1e-9 * of_bins[0] ** 2  # otherwise one sample has all the weight
    if not several.any():
        return float("nan")
    masses, hits, expected, squares = of_bins[:4, several]
    # (mean)^2 - variance / n of a bin is the mean product of two different samples of it.
    products = ((expected - hits) ** 2 - squares) / pairs[several]
    return float(products @ masses / masses.sum())
