"""Days, or other spans of time: has the model drifted from how it was before?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from calib_utils.audit.bin_sums import COUNT, EXPECTED, RIGHT, BinSums

__all__ = ["LIMIT", "Span", "control"]

LIMIT = 3.0
_ADDED = 2  # calibrated rows in each bin of the baseline, which may hold few
_FEWEST = 5.0  # variance of the number that happens, below which z is not nearly normal


@dataclass(frozen=True)
class Span:
    """A day, or another span.

    Attributes:
        name: such as "2026-11-20".
        n: rows.
        predicted, expected, happened: the mean prediction; what the baseline makes of it; and
            which part came true.
        z: how many standard deviations more happened than was expected.
        small: whether there are too few rows for a z.
        alarm: whether |z| is above three, and the span not small.
    """

    name: str
    n: int
    predicted: float
    expected: float
    happened: float
    z: float
    small: bool
    alarm: bool


def control(times: Mapping[str, BinSums], baseline: np.ndarray | None = None) -> list[Span]:
    """A control chart: for each span of time z, whose limits are -3 and 3.

    What is expected of a row is its prediction, moved by what the bin of the baseline was off by.
    So an old, known error alarms on no day, and a new one does. The chance in the baseline itself
    counts, too. Without a baseline the predictions are expected to hold.

    Of spans without any drift, about one in 370 lies beyond the limits if z is normal, which it
    is only nearly, and the less the fewer rows come true, or do not.

    Args:
        times: the sums of each span.
        baseline: the counts, rights and summed predictions of its bins, (3, M).

    Source: Shewhart 1931, "Economic Control of Quality of Manufactured Product", for the limits.
    """
    found = []
    for name, bins in sorted(times.items()):
        counts, right, promised = bins.array[[COUNT, RIGHT, EXPECTED]]
        held = counts > 0
        expected, of_baseline = promised.copy(), 0.0
        if baseline is not None:
            old_counts, old_right, old_promised = baseline
            expected += counts * (old_right - old_promised) / (old_counts + _ADDED)
        expected = np.clip(expected, 0, counts)
        rates = expected[held] / counts[held]
        variances = rates * (1 - rates)
        if baseline is not None:
            of_baseline = float(counts[held] ** 2 @ (variances / (baseline[0][held] + _ADDED)))
        variance = float(counts[held] @ variances)
        spread = (variance + of_baseline) ** 0.5
        z = float((right.sum() - expected.sum()) / spread) if spread > 0 else float("nan")
        small = variance < _FEWEST
        found.append(
            Span(
                name,
                bins.n,
                bins.predicted,
                float(expected.sum() / bins.n),
                bins.happened,
                z,
                small,
                bool(abs(z) > LIMIT and not small),
            )
        )
    return found
