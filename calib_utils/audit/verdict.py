"""Is the model calibrated to within a tolerance? Yes, no, or too few rows to tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from calib_utils.audit.bin_sums import CORRECT, COUNT, EXPECTED, SQUARES, BinSums
from calib_utils.audit.formatting import percent, points
from calib_utils.audit.measures import Measures, debiased_square, larger_error
from calib_utils.audit.recalibrators import TriedRecalibrators

__all__ = ["Verdict", "judge_error", "rows_needed"]

WITHIN, BEYOND, UNDECIDED = "within", "beyond", "undecided"
_EXIT = {WITHIN: 0, BEYOND: 1, UNDECIDED: 3}
_MOST_TIMES = 1_000.0  # times as many rows; nobody will wait for more


@dataclass(frozen=True)
class Verdict:
    """How the interval of the binned calibration error compares with the tolerance.

    Attributes:
        outcome: "within" if the interval ends at the tolerance or below it, "beyond" if it begins
            above it, else "undecided".
        tolerance: 0 to 1.
        rows_needed: if undecided, about how many rows a decision would take; None if more than a
            thousand times as many.
        sentence: the verdict and its reasons in words.
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
    top_label: bool,
    recalibrators: TriedRecalibrators | None = None,
) -> Verdict:
    """The verdict on a model: first what to do about it, and then the evidence."""
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
        opening = "Within a tolerance that is too large to mean much"
    sentence = f"{opening}: {_on_average(measures, outcome, tolerance, top_label)}."
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
            f". That does not settle whether it is within {asked}: the error is so close to it "
            f"that even {_MOST_TIMES:,.0f} times as many rows may not be enough."
        )
    else:
        sentence += (
            f". That does not settle whether it is within {asked}: a decision would take about "
            f"{needed:,} rows."
        )
    if outcome == WITHIN and rarest < tolerance:
        sentence += (
            f" Compared with a rate of {percent(rarest)} the tolerance is large: a model that "
            "always predicts the same probability would be within it. Give a smaller one."
        )
    return Verdict(outcome, tolerance, needed, sentence)


def _on_average(measures: Measures, outcome: str, tolerance: float, top_label: bool) -> str:
    predicted, happened = percent(measures.predicted), percent(measures.happened)
    if top_label:
        text = f"its mean confidence is {predicted} and its accuracy {happened}"
    else:
        text = f"it predicts {predicted} on average and {happened} happened"
    gap = measures.predicted - measures.happened
    low, high = measures.ratio_interval
    if low <= 1 <= high and outcome == UNDECIDED and abs(gap) > tolerance:
        text += ", a difference that chance may explain"
    elif low <= 1 <= high:
        text += ", so it is calibrated on average"
    else:
        above, below = ("over", "under") if top_label else ("too high", "too low")
        lean = (above if gap > 0 else below) + ("confident" if top_label else "")
        text += f", so it is {lean} by {points(abs(gap))} points"
    if outcome == BEYOND and abs(gap) < measures.error[0]:
        text += ", but too high in some places and too low in others"
    return text


def _remedy(recalibrators: TriedRecalibrators) -> str:
    if recalibrators.best is None:
        return "None of the recalibrators that were tried helps."
    first = recalibrators.found[0]
    name = re.sub("(?<=[a-z])(?=[A-Z])", " ", first.name).capitalize()
    if first.ece < recalibrators.ece:
        return f"{name} brings its ECE from {percent(recalibrators.ece)} to {percent(first.ece)}."
    return f"{name} lowers its NLL but leaves its ECE at {percent(first.ece)}."


def outcome_of(interval: tuple[float, float], tolerance: float) -> str:
    """The verdict of an interval."""
    low, high = interval
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNDECIDED


def rows_needed(binnings: Sequence[BinSums], tolerance: float) -> int | None:
    """About how many rows would decide, if the model's gaps are as these rows suggest.

    The gaps of the bins, with the noise subtracted from their squares, are taken as the true ones.
    A typical larger sample then shows gaps of the mean size that they give with its smaller noise.
    The result is the first size at which the interval of such a sample decides. It may well take
    more, because the true error may be closer to the tolerance than these rows suggest.
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
    """The sums that a typical sample of ``times`` as many rows would have."""
    array = bins.array[:, bins.array[COUNT] > 0]
    counts = array[COUNT]
    gaps = (array[EXPECTED] - array[CORRECT]) / counts
    seen = gaps**2 @ counts / counts.sum()
    if seen > 0:
        gaps = gaps * (max(debiased_square(bins), 0) / seen) ** 0.5
    within = np.maximum(
        array[SQUARES] / counts - (array[EXPECTED] - array[CORRECT]) ** 2 / counts**2, 0
    )
    noise = np.sqrt(np.maximum(within, 1e-12) / (times * counts))
    ratio = gaps / noise  # for the mean of a folded normal: the size of a gap with its noise
    shown = noise * (np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + ratio * (1 - 2 * ndtr(-ratio)))
    more = array * times
    more[CORRECT] = more[EXPECTED] - shown * more[COUNT]
    more[SQUARES] = (within + shown**2) * more[COUNT]
    return BinSums(more)
