"""The calibration of classes and groups, corrected for multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from calib_utils.audit.bin_sums import COUNT, BinSums, heaviness, worth
from calib_utils.audit.outcomes import BEYOND, UNDECIDED, WITHIN, allowed
from calib_utils.metrics.intervals import noise_of_means
from calib_utils.report.verdicts import holm

__all__ = ["Gap", "Part", "gap_of", "judge_gaps", "judge_parts"]

_FEWEST = 10  # expected positives, or negatives: with fewer, a mean is not close to normal
_ALPHA = 0.05
_ADDED = 2  # calibrated rows added to the variance of a part, as in the interval of the error


@dataclass(frozen=True)
class Part:
    """One class, or the rows of one group.

    Attributes:
        name: of the class, or the value.
        n: rows.
        predicted, happened: the mean prediction, and the observed frequency.
        gap: happened minus predicted.
        interval: of the gap, 95 %, for this part alone.
        small: whether there are too few expected positives or negatives for a verdict.
        outcome: "within", "beyond" or "undecided", corrected for the number of parts.
        bins: the sums behind it.
    """

    name: str
    n: int
    predicted: float
    happened: float
    gap: float
    interval: tuple[float, float]
    small: bool
    outcome: str
    bins: BinSums


class Gap(NamedTuple):
    """A mean gap, or the difference of two.

    Attributes:
        gap: happened minus predicted.
        error: its standard error.
        n: rows, or of weighted ones Kish's effective size.
        small: whether there are too few expected positives or negatives for a verdict.
    """

    gap: float
    error: float
    n: float
    small: bool


def judge_parts(
    parts: Mapping[Any, BinSums], tolerance: float, relative: float = 1.0
) -> list[Part]:
    """Which parts have a mean gap beyond the tolerance, and which within.

    The gap of each part is tested against the tolerance, not against 0, with Holm's correction for
    the number of parts. The probability that any part is wrongly called "beyond" is therefore at
    most 5 %, and so is the probability that any is wrongly called "within". A part with fewer than
    ten expected positives or negatives is undecided.

    Args:
        parts: by name.
        tolerance: of the gap, 0 to 1.
        relative: how large it may be beside the rate of a part, as `report` has it.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    gaps = [gap_of(bins) for bins in parts.values()]
    limits = [allowed(tolerance, relative, bins.predicted) for bins in parts.values()]
    return [
        Part(
            name=str(name),
            n=bins.n,
            predicted=bins.predicted,
            happened=bins.happened,
            gap=gap.gap,
            interval=interval,
            small=gap.small,
            outcome=outcome,
            bins=bins,
        )
        for (name, bins), gap, (interval, outcome) in zip(
            parts.items(), gaps, judge_gaps(gaps, limits), strict=True
        )
    ]


def gap_of(bins: BinSums) -> Gap:
    """The mean gap of all rows in the bins."""
    whole = bins.array.sum(axis=1, keepdims=True)
    (n,), (around,), (calibrated,) = (each.tolist() for each in noise_of_means(whole))
    error = ((around + _ADDED * calibrated) / (n - 1 + _ADDED) / n) ** 0.5
    rate = np.array([min(max(bins.predicted, 0), 1)])
    (equal,) = worth(whole[COUNT], rate, heaviness(whole)).tolist()
    rarer = min(bins.predicted, 1 - bins.predicted)
    few = n < 2 or equal * rarer < _FEWEST
    return Gap(bins.happened - bins.predicted, error, n, few)


def judge_gaps(
    gaps: Sequence[Gap], limits: Sequence[float]
) -> list[tuple[tuple[float, float], str]]:
    """The interval of each gap, and its outcome, corrected as in `judge_parts`."""
    pairs = list(zip(gaps, limits, strict=True))
    above = holm([_chance_within(*gap, limit) for gap, limit in pairs])
    below = holm([_chance_beyond(*gap, limit) for gap, limit in pairs])
    found = []
    for (gap, error, n, small), over, under in zip(gaps, above, below, strict=True):
        outcome = BEYOND if over < _ALPHA else WITHIN if under < _ALPHA else UNDECIDED
        half = float(stdtrit(max(n - 1, 1), 0.975)) * error
        found.append(((gap - half, gap + half), UNDECIDED if small else outcome))
    return found


def _chance_within(gap: float, error: float, n: float, small: bool, tolerance: float) -> float:
    """The p value of the null hypothesis that the true gap is no larger than the tolerance."""
    if small:
        return 1.0
    far = abs(gap) - tolerance
    if error == 0:
        return float(far <= 0)
    # With a tolerance of 0 the test is two-sided.
    tails = stdtr(n - 1, -far / error) + stdtr(n - 1, -(abs(gap) + tolerance) / error)
    return float(min(1.0, np.clip(tails, 0, 1)))


def _chance_beyond(gap: float, error: float, n: float, small: bool, tolerance: float) -> float:
    """The p value of the null hypothesis that the true gap is larger than the tolerance."""
    if small:
        return 1.0
    if error == 0:
        return float(abs(gap) > tolerance)
    return float(stdtr(n - 1, (abs(gap) - tolerance) / error))
