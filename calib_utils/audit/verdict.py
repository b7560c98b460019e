"""Is the model calibrated to within a tolerance? Yes, no, or too few rows to tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from calib_utils.audit.bin_sums import COUNT, PROMISED, RIGHT, SPREAD, SQUARES, BinSums
from calib_utils.audit.formatting import percent, points
from calib_utils.audit.measures import LEVEL, Measures, debiased_square
from calib_utils.metrics.intervals import error_ends

__all__ = ["Verdict", "judge_error", "rows_needed"]

WITHIN, BEYOND, UNDECIDED = "within", "beyond", "undecided"
_EXIT = {WITHIN: 0, BEYOND: 1, UNDECIDED: 3}
_MOST_TIMES = 1_000.0  # as many rows as there are, beyond which nobody will wait


@dataclass(frozen=True)
class Verdict:
    """What the interval of the calibration error says of the tolerance.

    Attributes:
        outcome: "within" if the interval ends at the tolerance or below it, "beyond" if it begins
            above it, else "undecided".
        tolerance: 0 to 1.
        rows_needed: of an undecided one, about how many rows it would take; None if more than a
            thousand times as many.
        sentence: all of it, in words.
    """

    outcome: str
    tolerance: float
    rows_needed: int | None
    sentence: str

    @property
    def exit_code(self) -> int:
        """0 within, 1 beyond, 3 undecided."""
        return _EXIT[self.outcome]


def judge_error(measures: Measures, bins: BinSums, tolerance: float, of_answers: bool) -> Verdict:
    """The verdict on a model."""
    outcome = outcome_of(measures.error, tolerance)
    needed = rows_needed(bins, tolerance) if outcome == UNDECIDED else None
    low, high = measures.error
    what = "are right" if of_answers else "happen"
    rows = "row" if measures.n == 1 else "rows"
    sentence = (
        f"On {measures.n:,} {rows} the model predicts {percent(measures.predicted)}, "
        f"{percent(measures.happened)} {what}; its calibration error lies between "
        f"{points(low)} and {points(high)} points"
    )
    asked = f"the tolerance of {points(tolerance)} points"
    if outcome == WITHIN:
        sentence += f", within {asked}."
    elif outcome == BEYOND:
        sentence += f", beyond {asked}."
    elif needed is None:
        sentence += (
            f". That does not decide on {asked}: the error is so close to it that even "
            f"{_MOST_TIMES:,.0f} times as many rows may not."
        )
    else:
        sentence += f". That does not decide on {asked}: it would take about {needed:,} rows."
    rarest = min(measures.happened, 1 - measures.happened)
    if outcome == WITHIN and rarest < tolerance:
        sentence += (
            f" But the tolerance is large beside {percent(rarest)}: a model that always says the "
            "same would be within it. Give a smaller one."
        )
    return Verdict(outcome, tolerance, needed, sentence)


def outcome_of(interval: tuple[float, float], tolerance: float) -> str:
    """What an interval says."""
    low, high = interval
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNDECIDED


def rows_needed(bins: BinSums, tolerance: float) -> int | None:
    """About how many rows would decide, if the model's gaps are what these rows make likely.

    The gaps of the bins, less what chance adds to their squares, are taken for the truth; with
    more rows the usual sample then shows gaps of the mean size that truth and the smaller noise
    give. The number is the first at which the interval of such a sample decides. It may well
    take more: the truth may lie nearer to the tolerance than these rows show.
    """
    times = 1.0
    while times < _MOST_TIMES:
        times *= 2**0.25
        if outcome_of(error_ends(_with_more(bins, times), LEVEL, 0), tolerance) != UNDECIDED:
            digits = 2 - len(str(int(times * bins.n)))
            return int(round(times * bins.n, min(digits, 0)))
    return None


def _with_more(bins: BinSums, times: float) -> np.ndarray:
    """The sums that so many times as many rows would usually have."""
    array = bins.array[:, bins.array[COUNT] > 0]
    counts = array[COUNT]
    gaps = (array[PROMISED] - array[RIGHT]) / counts
    seen = gaps**2 @ counts / counts.sum()
    if seen > 0:
        gaps = gaps * (max(debiased_square(bins), 0) / seen) ** 0.5
    within = np.maximum(
        array[SQUARES] / counts - (array[PROMISED] - array[RIGHT]) ** 2 / counts**2, 0
    )
    noise = np.sqrt(np.maximum(within, 1e-12) / (times * counts))
    ratio = gaps / noise  # the mean size of a normal number: of the gap with its noise
    shown = noise * (
        np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + ratio * (1 - 2 * norm.cdf(-ratio))
    )
    more = array * times
    more[RIGHT] = more[PROMISED] - shown * more[COUNT]
    more[SQUARES] = (within + shown**2) * more[COUNT]
    return np.asarray(more[: SPREAD + 1])
