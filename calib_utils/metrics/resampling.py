"""The bootstrap: errors of samples drawn with replacement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_utils.metrics.bins import mean_excess
from calib_utils.predictions import check_seed

__all__ = ["generator", "resampled_gaps"]


def generator(seed: Any) -> np.random.Generator:
    """A random number generator with this seed.

    Raises:
        ValueError: unless it is an integer of 0 or more.
    """
    return np.random.default_rng(check_seed(seed))


def resampled_gaps(
    sets: Sequence[tuple[np.ndarray, np.ndarray]], repeats: int, seed: int
) -> np.ndarray:
    """The `expected_gap` of several sets of predictions, on samples drawn with replacement.

    Args:
        sets: for each, the bin of each sample (N,), and its confidence minus correctness (N,).
        repeats: the number of bootstrap samples, which are the same for all sets.
        seed: of the draws.

    Returns:
        (repeats, sets).
    """
    n, rng = len(sets[0][0]), generator(seed)
    results = np.empty((repeats, len(sets)))
    # With a single bin, the sum is a product of vectors, which is many times as fast.
    single = [not bins.any() for bins, _ in sets]
    for row in results:  # one set of indices fits in the cache, all of them would not
        # Weighting a sample by how often it is drawn is cheaper than selecting it repeatedly.
        times = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        row[:] = [
            mean_excess(np.array([times @ excess]) if one else np.bincount(bins, times * excess), n)
            for (bins, excess), one in zip(sets, single, strict=True)
        ]
    return results
