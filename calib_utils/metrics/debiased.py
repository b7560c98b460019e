"""A calibration error without the bias that sampling noise adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils.metrics.intervals import bin_sums, squared_sums
from calib_utils.predictions import Predictions, taken

__all__ = ["debiased_calibration_error", "debiased_square", "debiased_squared_error"]


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
