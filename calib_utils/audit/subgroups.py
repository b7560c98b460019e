"""The calibration of classes and groups, corrected for multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t

from calib_utils.audit.bin_sums import CORRECT, EXPECTED, SPREAD, SQUARES, BinSums
from calib_utils.audit.verdict import BEYOND, UNDECIDED, WITHIN
from calib_utils.report.verdicts import holm

__all__ = ["Part", "judge_parts"]

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
    """

    name: str
    n: int
    predicted: float
    happened: float
    gap: float
    interval: tuple[float, float]
    small: bool
    outcome: str


def judge_parts(parts: Mapping[Any, BinSums], tolerance: float) -> list[Part]:
    """Which parts have a mean gap beyond the tolerance, and which within.

    The gap of each part is tested against the tolerance, not against 0, with Holm's correction for
    the number of parts. The probability that any part is wrongly called "beyond" is therefore at
    most 5 %, and so is the probability that any is wrongly called "within". A part with fewer than
    ten expected positives or negatives is undecided.

    Args:
        parts: by name.
        tolerance: of the gap, 0 to 1.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    rows = []
    for name, bins in parts.items():
        n, array = bins.n, bins.array.sum(axis=1)
        gap = float((array[CORRECT] - array[EXPECTED]) / n)
        around = max(array[SQUARES] - n * gap**2, 0.0)
        error = float(((around + _ADDED * array[SPREAD] / n) / (n - 1 + _ADDED) / n) ** 0.5)
        expected = min(array[EXPECTED], n - array[EXPECTED])
        small = bool(n < 2 or expected < _FEWEST)
        rows.append((str(name), bins, gap, error, small))
    above = holm([_chance_within(gap, error, b.n, tolerance, s) for _, b, gap, error, s in rows])
    below = holm([_chance_beyond(gap, error, b.n, tolerance, s) for _, b, gap, error, s in rows])
    found = []
    for (name, bins, gap, error, small), over, under in zip(rows, above, below, strict=True):
        outcome = BEYOND if over < _ALPHA else WITHIN if under < _ALPHA else UNDECIDED
        half = float(t.ppf(0.975, max(bins.n - 1, 1))) * error
        found.append(
            Part(
                name,
                bins.n,
                bins.predicted,
                bins.happened,
                gap,
                (gap - half, gap + half),
                small,
                UNDECIDED if small else outcome,
            )
        )
    return found


def _chance_within(gap: float, error: float, n: int, tolerance: float, small: bool) -> float:
    """The p value of the null hypothesis that the true gap is no larger than the tolerance."""
    if small:
        return 1.0
    far = abs(gap) - tolerance
    if error == 0:
        return float(far <= 0)
    # With a tolerance of 0 the test is two-sided.
    tails = t.sf(far / error, n - 1) + t.sf((abs(gap) + tolerance) / error, n - 1)
    return float(min(1.0, np.clip(tails, 0, 1)))


def _chance_beyond(gap: float, error: float, n: int, tolerance: float, small: bool) -> float:
    """The p value of the null hypothesis that the true gap is larger than the tolerance."""
    if small:
        return 1.0
    if error == 0:
        return float(abs(gap) > tolerance)
    return float(t.sf((tolerance - abs(gap)) / error, n - 1))
