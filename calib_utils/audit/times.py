"""Calibration by day, or by another span of time: has the model drifted?"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from calib_utils.audit.bin_sums import CORRECT, COUNT, EXPECTED, BinSums, heaviness, worth
from calib_utils.audit.outcomes import allowed
from calib_utils.report.verdicts import holm

__all__ = ["LIMIT", "Span", "control", "written"]

LIMIT = 3.0
_ADDED = 2  # calibrated rows added to each bin of the baseline, which may have few of its own
_ALPHA = 0.05
_FEWEST = 5.0  # variance of the number of events, below which z is not close to normal


@dataclass(frozen=True)
class Span:
    """A day, or another span of time.

    Attributes:
        name: such as "2026-11-20".
        n: rows.
        predicted, expected, happened: the mean prediction, the mean after it is corrected by the
            baseline, and the observed frequency.
        z: how many standard deviations more events happened than were expected.
        small: whether there are too few rows for a z.
        alarm: whether |z| is above three, more than chance explains in any of so many spans, and
            the gap beyond the tolerance. A small span raises none.
    """

    name: str
    n: int
    predicted: float
    expected: float
    happened: float
    z: float
    small: bool
    alarm: bool


def control(
    times: Mapping[str, BinSums],
    baseline: np.ndarray | None = None,
    tolerance: float = 0.0,
    relative: float = 1.0,
) -> list[Span]:
    """A control chart: z for each span of time, with limits at -3 and 3.

    The expected frequency of a row is its prediction, corrected by the gap that its bin had in the
    baseline. An old, known error therefore raises no alarm, and a new one does. The sampling noise
    of the baseline itself is included in the variance. Without a baseline the predictions are
    expected to be calibrated.

    Without any drift, about one span in 370 lies beyond the limits if z is normal. It is only
    approximately normal, and the approximation is worse when a span has few positives or few
    negatives. An alarm takes more: with Holm's correction for the number of spans, calibrated ones
    raise any at most in one report of twenty. And since of millions of rows every gap is beyond the
    limits, the gap has to be larger than the tolerance.

    Args:
        times: the sums of each span.
        baseline: the counts, correct predictions and summed predictions of its bins, (3, M); of
            weighted rows those of as many equal ones as they are worth.
        tolerance, relative: as `report` has them, applied to the expected frequency of each span.

    Source: Shewhart 1931, "Economic Control of Quality of Manufactured Product", for the limits.
    """
    found: list[Span] = []
    if not times:
        return found
    # What a positive weighs is not known of a day without any, so all days tell it.
    heavy = heaviness(np.sum([bins.array for bins in times.values()], axis=0))
    for name, bins in sorted(times.items()):
        counts, correct, predicted = bins.array[[COUNT, CORRECT, EXPECTED]]
        filled = counts > 0
        expected, of_baseline = predicted.copy(), 0.0
        if baseline is not None:
            old_counts, old_correct, old_predicted = baseline
            expected += counts * (old_correct - old_predicted) / (old_counts + _ADDED)
        expected = np.clip(expected, 0, counts)
        rates = expected[filled] / counts[filled]
        variances = rates * (1 - rates)
        if baseline is not None:
            of_baseline = float(counts[filled] ** 2 @ (variances / (baseline[0][filled] + _ADDED)))
        equal = worth(counts[filled], rates, heavy[:, filled])
        each = counts[filled] ** 2 * variances / equal  # without weights those of the counts
        variance = float(each.sum())
        spread = (variance + of_baseline) ** 0.5
        z = float((correct.sum() - expected.sum()) / spread) if spread > 0 else float("nan")
        found.append(
            Span(
                name=name,
                n=bins.n,
                predicted=bins.predicted,
                expected=float(expected.sum() / bins.mass),
                happened=bins.happened,
                z=z,
                small=float(counts[filled] @ variances) ** 2 < _FEWEST * variance,
                alarm=False,
            )
        )
    chances = holm([1.0 if span.small else 2 * float(ndtr(-abs(span.z))) for span in found])
    return [
        replace(
            span,
            alarm=abs(span.z) > LIMIT
            and chance < _ALPHA
            and abs(span.happened - span.expected) > allowed(tolerance, relative, span.expected),
        )
        for span, chance in zip(found, chances, strict=True)
    ]


def written(name: str) -> str:
    """A span in words: a day as "29 June 2026", and others as they are."""
    day = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", name)
    return f"{int(day[3])} {month_name[int(day[2])]} {day[1]}" if day else name
