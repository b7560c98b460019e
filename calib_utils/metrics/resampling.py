"""What other samples would have given: intervals from samples drawn with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import dtype_name
from calib_utils._checks import check_count, check_n_bins
from calib_utils.metrics.bins import mean_excess, uniform_index
from calib_utils.metrics.confidences import confidence_and_correct

__all__ = ["expected_calibration_interval", "resampled_gaps"]


def expected_calibration_interval(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    *,
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile bootstrap interval of the ECE: where it does not hold, see below.

    Whole samples are drawn with replacement, as many as there are, and the ECE is computed,
    ``repeats`` times over; the interval holds the middle ones. It speaks about the choice of
    the samples, not about another training run.

    A drawn set is noisier than the set itself, and noise adds to the ECE: so the interval lies
    too high. It does not hold the error of a network that is calibrated, or nearly so: of a
    small error it seldom or never contains the truth. Use `calibration_error_interval`, which
    does; the benchmark of coverage shows both.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1.
        n_bins: how many bins of equal width, M.
        level: the share of the results inside, above 0 and below 1.
        repeats: how many sets are drawn.
        seed: of the draws; the same seed gives the same interval.

    Returns:
        Its lower and its upper end, 0 to 1.

    Raises:
        ValueError: for bad input.

    Source: Efron, Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Example:
        >>> probs = [[0.8, 0.2]] * 100
        >>> labels = [0] * 60 + [1] * 40
        >>> low, high = expected_calibration_interval(probs, labels)
        >>> round(low, 1), round(high, 1)
        (0.1, 0.3)
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, found {level!r}; try 0.95")
    repeats = check_count(repeats, "repeats", "1000 is usual")
    n_bins = check_n_bins(n_bins)
    confidences, correct = confidence_and_correct(probs, labels)
    bin_of = uniform_index(confidences, n_bins, dtype_name(probs))
    excess = confidences.astype(np.float64) - correct
    results = resampled_gaps([(bin_of, excess)], repeats, seed)
    low, high = np.quantile(results, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def resampled_gaps(
    sets: Sequence[tuple[np.ndarray, np.ndarray]], repeats: int, seed: int
) -> np.ndarray:
    """The `expected_gap` of several sets of predictions, on samples drawn with replacement.

    Args:
        sets: for each, the bin of each sample (N,), and its confidence less correctness (N,).
        repeats: how many times N samples are drawn, the same ones for all sets.
        seed: of the draws.

    Returns:
        (repeats, sets).
    """
    n, rng = len(sets[0][0]), np.random.default_rng(seed)
    results = np.empty((repeats, len(sets)))
    for row in results:  # one set of indices fits in the cache, all of them would not
        # How often a sample is drawn weighs its term: cheaper than to select it so often.
        times = np.bincount(rng.integers(n, size=n), minlength=n)
        row[:] = [mean_excess(np.bincount(bins, times * excess), n) for bins, excess in sets]
    return results
