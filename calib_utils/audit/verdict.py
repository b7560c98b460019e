"""Is the model calibrated to within a tolerance? Yes, no, or too few rows to tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from calib_utils.audit.bin_sums import COUNT, EXPECTED, RIGHT, SQUARES, BinSums
from calib_utils.audit.formatting import percent, points
from calib_utils.audit.measures import Measures, debiased_square, larger_error
from calib_utils.audit.recalibrators import TriedRecalibrators

__all__ = ["Verdict", "judge_error", "rows_needed"]

WITHIN, BEYOND, UNDECIDED = "within", "beyond", "undecided"
_EXIT = {WITHIN: 0, BEYOND: 1, UNDECIDED: 3}
_MOST_TIMES = 1_000.0  # as many rows as there are, beyond which nobody will wait


@dataclass(frozen=True)
class Verdict:
    """What the interval of the binned calibration error says of the tolerance.

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


def judge_error(
    measures: Measures,
    binnings: Sequence[BinSums],
    tolerance: float,
    of_answers: bool,
    recalibrators: TriedRecalibrators | None = None,
) -> Verdict:
    """The verdict on a model: what to do about it, and then what that rests on."""
    outcome = outcome_of(measures.error, tolerance)
    needed = rows_needed(binnings, tolerance) if outcome == UNDECIDED else None
    low, high = measures.error
    opening = {
        WITHIN: "Trustworthy, as far as these rows show",
        BEYOND: "Not trustworthy as it is",
        UNDECIDED: "Too few rows to tell",
    }[outcome]
    rarest = min(measures.happened, 1 - measures.happened)
    if outcome == WITHIN and rarest < tolerance:
        opening = "Within a tolerance that is too large to say much"
    sentence = f"{opening}: {_on_average(measures, outcome, of_answers)}."
    if outcome != WITHIN and recalibrators is not None:
        sentence += f" {_remedy(recalibrators)}"
    asked = f"the tolerance of {points(tolerance)} points"
    sentence += (
        f" On {measures.n:,} {'row' if measures.n == 1 else 'rows'} its binned error, a lower "
        f"bound of the true one, lies between {points(low)} and {points(high)} points"
    )
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
    if outcome == WITHIN and rarest < tolerance:
        sentence += (
            f" The tolerance is large beside {percent(rarest)}: a model that always says the "
            "same would be within it. Give a smaller one."
        )
    return Verdict(outcome, tolerance, needed, sentence)


def _on_average(measures: Measures, outcome: str, of_answers: bool) -> str:
    said, happened = percent(measures.predicted), percent(measures.happened)
    text = f"it says {said} on average and "
    text += f"is right in {happened}" if of_answers else f"{happened} happen"
    gap = measures.predicted - measures.happened
    low, high = measures.ratio_interval
    if low <= 1 <= high:
        text += ", right on average"
    else:
        above, below = ("over", "under") if of_answers else ("too high", "too low")
        lean = (above if gap > 0 else below) + ("confident" if of_answers else "")
        text += f", {lean} by {points(abs(gap))} points"
    if outcome == BEYOND and abs(gap) < measures.error[0]:
        text += ", but too high in some places and too low in others"
    return text


def _remedy(recalibrators: TriedRecalibrators) -> str:
    if recalibrators.best is None:
        return "No recalibrator that was tried helps."
    first = recalibrators.found[0]
    name = re.sub("(?<=[a-z])(?=[A-Z])", " ", first.name).capitalize()
    if first.ece < recalibrators.ece:
        return f"{name} brings its ECE from {percent(recalibrators.ece)} to {percent(first.ece)}."
    return f"{name} lowers its NLL, but leaves its ECE at {percent(first.ece)}."


def outcome_of(interval: tuple[float, float], tolerance: float) -> str:
    """What an interval says."""
    low, high = interval
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNDECIDED


def rows_needed(binnings: Sequence[BinSums], tolerance: float) -> int | None:
    """About how many rows would decide, if the model's gaps are what these rows make likely.

    The gaps of the bins, less what chance adds to their squares, are taken for the truth; with
    more rows the usual sample then shows gaps of the mean size that truth and the smaller noise
    give. The number is the first at which the interval of such a sample decides. It may well
    take more: the truth may lie nearer to the tolerance than these rows show.
    """
    times = 1.0
    while times < _MOST_TIMES:
        times *= 2**0.25
        more = [_with_more(bins, times) for bins in binnings]
        if outcome_of(larger_error(more, 0), tolerance) != UNDECIDED:
            n = times * binnings[0].n
            return int(round(n, min(2 - len(str(int(n))), 0)))
    return None


def _with_more(bins: BinSums, times: float) -> BinSums:
    """The sums that so many times as many rows would usually have."""
    array = bins.array[:, bins.array[COUNT] > 0]
    counts = array[COUNT]
    gaps = (array[EXPECTED] - array[RIGHT]) / counts
    seen = gaps**2 @ counts / counts.sum()
    if seen > 0:
        gaps = gaps * (max(debiased_square(bins), 0) / seen) ** 0.5
    within = np.maximum(
        array[SQUARES] / counts - (array[EXPECTED] - array[RIGHT]) ** 2 / counts**2, 0
    )
    noise = np.sqrt(np.maximum(within, 1e-12) / (times * counts))
    ratio = gaps / noise  # the mean size of a normal number: of the gap with its noise
    shown = noise * (
        np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + ratio * (1 - 2 * norm.cdf(-ratio))
    )
    more = array * times
    more[RIGHT] = more[EXPECTED] - shown * more[COUNT]
    more[SQUARES] = (within + shown**2) * more[COUNT]
    return BinSums(more)
