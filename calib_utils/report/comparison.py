"""Is the ECE higher at one level of a factor than at another, or was it chance?

Chance comes in twice: another seed would have given other networks, and other test images
other numbers for the same networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind

from calib_utils.metrics.bins import uniform_index
from calib_utils.metrics.resampling import resampled_gaps
from calib_utils.records import ExperimentRecord

__all__ = ["Difference", "compare"]


class Difference(NamedTuple):
    """How much higher a metric is in a second group of runs than in a first one.

    Attributes:
        mean: of the second group less that of the first, -1 to 1.
        seeds: lower and upper end of the 95 % interval for other seeds; NaN if a group has
            fewer than two runs.
        images: the same for other test images.

    Example:
        >>> Difference(0.05, seeds=(0.01, 0.09), images=(0.04, 0.06)).verdict
        'higher'
        >>> Difference(0.05, seeds=(-0.01, 0.11), images=(0.04, 0.06)).verdict
        'undecided'
    """

    mean: float
    seeds: tuple[float, float]
    images: tuple[float, float]

    @property
    def verdict(self) -> str:
        """Either "higher" or "lower" if both intervals say so, else "undecided"."""
        if min(*self.seeds, *self.images) > 0:
            return "higher"
        if max(*self.seeds, *self.images) < 0:
            return "lower"
        return "undecided"


def compare(
    first: Sequence[ExperimentRecord],
    second: Sequence[ExperimentRecord],
    metric: str = "ece",
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> Difference:
    """Compare the mean of a metric on the test images in two groups of runs.

    The interval for seeds is Welch's, from the spread of the runs of each group. For that of
    images, sets of test images are drawn with replacement, the same for all runs, and the
    difference is computed on each.

    Args:
        first: runs that differ in their seed only.
        second: the same, at another level of a factor.
        metric: "ece" (15 bins) or "error".
        repeats: how many sets of test images are drawn.
        seed: of the draws.

    Raises:
        ValueError: if there is no such metric, or a group is empty.

    Source: Welch 1947, "The generalization of Student's problem"; Efron and Tibshirani 1993,
    "An Introduction to the Bootstrap".

    Example:
        >>> from calib_utils.records import by_level, load_grid
        >>> levels = by_level(load_grid("weight-decay", "cpu"))
        >>> low, high = levels["cifar_resnet", 0.0], levels["cifar_resnet", 0.0005]
        >>> compare(low, high, repeats=100).verdict
        'lower'
    """
    if metric not in ("ece", "error"):
        raise ValueError(f"metric: expected 'ece' or 'error', found {metric!r}")
    for name, runs in (("first", first), ("second", second)):
        if not runs:
            raise ValueError(f"{name}: expected at least one run, found none")
    groups = [[getattr(record, metric) for record in runs] for runs in (first, second)]
    return Difference(
        float(np.mean(groups[1]) - np.mean(groups[0])),
        _welch(*groups),
        _bootstrap(first, second, metric, repeats, seed),
    )


def _welch(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    if min(len(first), len(second)) < 2:
        return float("nan"), float("nan")
    low, high = ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    return float(low), float(high)


def _bootstrap(
    first: Sequence[ExperimentRecord],
    second: Sequence[ExperimentRecord],
    metric: str,
    repeats: int,
    seed: int,
) -> tuple[float, float]:
    # The error as well is the gap of a set in one bin: between being wrong and 0.
    sets = [
        (uniform_index(r.confidences, 15, "float32"), r.confidences.astype(np.float64) - r.correct)
        if metric == "ece"
        else (np.zeros(len(r.correct), np.int64), 1.0 - r.correct)
        for r in (*first, *second)
    ]
    results = resampled_gaps(sets, repeats, seed)
    differences = results[:, len(first) :].mean(axis=1) - results[:, : len(first)].mean(axis=1)
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)
