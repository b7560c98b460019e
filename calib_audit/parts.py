"""All rows, classes, groups and spans of time: which are beyond the tolerance, which within?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, chdtri, stdtr, stdtrit

from calib_audit.bin_sums import (
    CORRECT,
    COUNT,
    EXPECTED,
    BinSums,
    confidences_of,
    heaviness,
    sums_of_blocks,
    worth,
)
from calib_audit.measures import Measures
from calib_audit.rows import Rows
from calib_utils.comparing.verdicts import holm
from calib_utils.metrics.bins import tally
from calib_utils.metrics.intervals import noise_of_means

WITHIN, BEYOND, UNDECIDED, _GROUPS, _TIMES = "within", "beyond", "undecided", "groups", "times"
RELATIVE = (
    0.25  # of the rate of the rarer outcome: the largest error, unless another one is asked for
)
_EXIT = {WITHIN: 0, BEYOND: 1, UNDECIDED: 3, _GROUPS: 4, _TIMES: 5}  # 2 is bad input
_FEWEST = 10  # expected positives, or negatives: with fewer, a mean is not close to normal
_MANY_BLOCKS = 50  # of equal size: with fewer, they do not tell how much their rows are alike
_UNSURPRISING = 0.05  # the chance of as little noise, beside what is assumed of blocks
_ALPHA = 0.05  # of all parts of a table, or all spans, together
_ADDED = 2  # calibrated rows added to the variance of a part, and to each bin of a baseline
_ACCIDENT = 1e-3  # the chance below which it is no accident that each group has one label
LIMIT = 3.0
_FALSE = 1 / 370  # of the spans without any drift are beyond the limits
_LEAST_VARIANCE = 5.0  # of the number of events, below which z is not close to normal


def allowed(tolerance: float, relative: float, predicted: float) -> float:
    """The largest error that is acceptable where a rate of ``predicted`` is expected.

    It is the tolerance or, where that would be large beside the rate of the rarer outcome, a part
    of this rate. An error of 2 points is small for a rate of 30 %, and huge for one of 1 %.

    Args:
        tolerance: 0 to 1.
        relative: the part of the rate, 0 to 1.
        predicted: the mean prediction, 0 to 1.
    """
    return min(tolerance, relative * min(predicted, max(1 - predicted, 0.0)))


def check_limits(tolerance: float, relative: float = RELATIVE) -> None:
    """Refuse a tolerance, or a part of the rate, that is out of its range."""
    if not isinstance(tolerance, (int, float, np.number)) or not 0 < tolerance < 1:
        raise ValueError(f"tolerance: expected above 0 and below 1, found {tolerance!r}; try 0.02")
    if not isinstance(relative, (int, float, np.number)) or not 0 < relative <= 1:
        raise ValueError(
            f"relative_tolerance: expected above 0 and up to 1, found {relative!r}; try {RELATIVE}"
        )


def _outcome_of(interval: tuple[float, float], tolerance: float) -> str:
    """The verdict of an interval of the error."""
    low, high = interval
    return WITHIN if high <= tolerance else BEYOND if low > tolerance else UNDECIDED


@dataclass(frozen=True)
class Part:
    """One class, or the rows of one group.

    Attributes:
        name: of the class, or the value.
        n: rows.
        predicted, happened: the mean prediction, and the observed frequency.
        gap: happened minus predicted.
        interval: of the gap, 95 %, for this part alone.
        small: whether there are too few expected positives or negatives, or too few blocks of
            them, for a verdict from a normal approximation.
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
        error: its standard error, at least that of a model whose gap is at the tolerance.
        n: rows, or of weighted ones Kish's effective size.
        small: whether there are too few expected positives or negatives for a verdict.
        chance: of small parts without weights, the probability of as large a gap if the true one
            is at the limit; else 1.
    """

    gap: float
    error: float
    n: float
    small: bool
    chance: float = 1.0


def judge_parts(
    parts: Mapping[Any, BinSums],
    tolerance: float,
    relative: float = 1.0,
    *,
    in_blocks: bool = False,
) -> list[Part]:
    """Which parts have a mean gap beyond the tolerance, and which within.

    The gap of each part is tested against the tolerance, not against 0, with Holm's correction for
    the number of parts. The probability that any part is wrongly called "beyond" is therefore at
    most 5 %, and so is the probability that any is wrongly called "within". A part with fewer than
    ten expected positives or negatives is undecided, unless its gap is too large for chance in any
    case: then it is beyond. In blocks rows are counted as if all of a block were alike, which is
    the worst case, or with the noise of these blocks where they are many. Of rows with weights no
    such case is known, so they remain undecided.

    Args:
        parts: by name.
        tolerance: of the gap, 0 to 1.
        relative: how large it may be beside the rate of a part, as `report` has it.
        in_blocks: whether the sums are over blocks.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
    """
    limits = [allowed(tolerance, relative, bins.predicted) for bins in parts.values()]
    gaps = [
        gap_of(bins, limit, in_blocks=in_blocks)
        for bins, limit in zip(parts.values(), limits, strict=True)
    ]
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


def parted_by(labels: np.ndarray, groups: np.ndarray) -> bool:
    """Whether all rows of each group have the same label, and chance is not the reason.

    Such groups are parted by the outcome: even a perfect model is off in each of them.

    Args:
        labels: (n,), integers from 0.
        groups: (n,), the number of each row's group, from 0.
    """
    table = np.zeros((groups.max() + 1, labels.max() + 1))
    np.add.at(table, (groups, labels), 1)
    sizes, shares = table.sum(axis=1), table.sum(axis=0) / len(labels)
    if (table.max(axis=1) < sizes).any() or shares.max() == 1:
        return False
    with np.errstate(divide="ignore"):  # of many rows the probability is 0 in floats
        by_chance = np.log([(shares**size).sum() for size in sizes])
    return bool(by_chance.sum() < np.log(_ACCIDENT))


def gap_of(bins: BinSums, limit: float = 0.0, *, in_blocks: bool = False) -> Gap:
    """The mean gap of all rows in the bins.

    A part that by chance has few events seems to have little noise. So unless the rows come in
    blocks, whose noise only they can tell, the error is no smaller than that of a model whose gap
    is at the limit, on the side of this one.
    """
    whole = bins.array.sum(axis=1, keepdims=True)
    (n,), (around,), (calibrated,) = (each.tolist() for each in noise_of_means(whole))
    rate, gap = min(max(bins.predicted, 0.0), 1.0), bins.happened - bins.predicted
    variance = (around + _ADDED * calibrated) / (n - 1 + _ADDED) / n
    if calibrated > 0 and not in_blocks:
        edge = min(max(rate + float(np.copysign(limit, gap)), 0.0), 1.0)
        at_edge = calibrated * edge * (1 - edge) / (rate * (1 - rate))
        variance = max(variance, at_edge / n)
    (equal,) = worth(whole[COUNT], np.array([rate]), heaviness(whole)).tolist()
    if in_blocks:  # those in which by luck little happened seem to be worth more
        equal = min(equal, n)
    rarer = min(bins.predicted, 1 - bins.predicted)
    few = n < 2 or equal * rarer < _FEWEST
    chance = 1.0
    if few and in_blocks:
        equal = max(equal, _measured_worth(bins, n, variance))
    if few and (in_blocks or not bins.weighted):
        chance = _chance_of_gap(equal, rate, gap, limit)
    return Gap(gap, variance**0.5, n, few, chance)


def _measured_worth(bins: BinSums, n: float, variance: float) -> float:
    """How many independent rows are worth as much as these blocks, by their measured noise.

    It is the number of rows over the design effect, of which blocks tell little where they are
    few, or where the rarer outcome is by luck as rare as it is. So there have to be many blocks and
    more of this outcome than expected, and their noise counts as the largest that is no surprise.

    Args:
        bins: the sums over blocks.
        n: how many blocks of equal size they are worth.
        variance: of the mean gap.

    Source: Kish 1965, "Survey Sampling", section 8.2, for the design effect.
    """
    happened = min(max(bins.happened, 0.0), 1.0)
    more_of_the_rarer = (happened - bins.predicted) * (0.5 - bins.predicted) > 0
    if n < _MANY_BLOCKS or variance == 0 or not more_of_the_rarer:
        return 0.0
    largest = variance * (n - 1) / float(chdtri(n - 1, 1 - _UNSURPRISING))
    return float(min(happened * (1 - happened) / largest, bins.n))


def left_wrong(before: Sequence[Part], after: Sequence[Part]) -> list[str]:
    """The names of those that a map leaves beyond, or that were and it does not bring within."""
    then = {part.name: part.outcome for part in after}
    return [
        part.name
        for part in before
        if then.get(part.name) == BEYOND
        or (part.outcome == BEYOND and then.get(part.name) != WITHIN)
    ]


def _chance_of_gap(equal: float, rate: float, gap: float, limit: float) -> float:
    """The two-sided p value of so large a gap of as many independent rows.

    Of blocks whose rows are all alike as many as there are blocks. The number of events is then
    binomial, and less variable in any other case.
    """
    edge, seen = rate + float(np.copysign(limit, gap)), rate + gap
    if gap < 0:
        edge, seen = 1 - edge, 1 - seen
    if not 0 < edge < min(seen, 1):
        return 1.0
    return float(min(1.0, 2 * betainc(equal * seen, equal * (1 - seen) + 1, edge)))


def judge_gaps(
    gaps: Sequence[Gap], limits: Sequence[float]
) -> list[tuple[tuple[float, float], str]]:
    """The interval of each gap, and its outcome, corrected as in `judge_parts`."""
    pairs = list(zip(gaps, limits, strict=True))
    above = holm([_chance_within(*gap, limit) for gap, limit in pairs])
    below = holm([_chance_beyond(*gap, limit) for gap, limit in pairs])
    found = []
    for (gap, error, n, *_), over, under in zip(gaps, above, below, strict=True):
        outcome = BEYOND if over < _ALPHA else WITHIN if under < _ALPHA else UNDECIDED
        half = float(stdtrit(max(n - 1, 1), 0.975)) * error
        found.append(((gap - half, gap + half), outcome))
    return found


def _chance_within(
    gap: float, error: float, n: float, small: bool, chance: float, tolerance: float
) -> float:
    """The p value of the null hypothesis that the true gap is no larger than the tolerance."""
    if small:
        return chance
    far = abs(gap) - tolerance
    if error == 0:
        return float(far <= 0)
    # With a tolerance of 0 the test is two-sided.
    tails = stdtr(n - 1, -far / error) + stdtr(n - 1, -(abs(gap) + tolerance) / error)
    return float(min(1.0, tails))


def _chance_beyond(
    gap: float, error: float, n: float, small: bool, chance: float, tolerance: float
) -> float:
    """The p value of the null hypothesis that the true gap is larger than the tolerance."""
    if small:
        return 1.0
    if error == 0:
        return float(abs(gap) > tolerance)
    return float(stdtr(n - 1, (abs(gap) - tolerance) / error))


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
            the gap that was seen beyond the tolerance. A small span raises none.
        visible: the smallest gap that is three standard deviations, 0 to 1.
        blind: whether a gap of the size of the tolerance is smaller than that.
    """

    name: str
    n: int
    predicted: float
    expected: float
    happened: float
    z: float
    small: bool
    alarm: bool
    visible: float
    blind: bool


def control(
    times: Mapping[str, BinSums],
    baseline: np.ndarray | None = None,
    tolerance: float = 0.0,
    relative: float = 1.0,
) -> list[Span]:
    """A control chart: z for each span of time, with limits at -3 and 3.

    The expected frequency of a row is its prediction, corrected by the gap that its bin had in the
    baseline. An old, known error therefore raises no alarm, and a new one does, as long as the
    scores within each bin are spread as in the baseline. The sampling noise of the baseline itself
    is included in the variance, if about three events or more were expected in it. Without a
    baseline the predictions are expected to be calibrated.

    Without any drift, about one span in 370 lies beyond the limits if z is normal. It is only
    approximately normal, and the approximation is worse when a span has few positives or few
    negatives; where fewer than about five are expected there is no alarm, however many happen. The
    variance is that of the mean prediction in each bin, which is a little too large. An alarm takes
    more: with Holm's correction for the number of spans, calibrated ones raise any at most in one
    report of twenty. Its p values are therefore those of a binomial number of events with the same
    mean and variance. And since of millions of rows every gap is beyond the limits, the gap that
    was seen has to be larger than the tolerance, though the true one need not be.

    Where most of the last 2, 4, 8 ... spans are too small to show a break that is spread over them,
    they are judged together as well, under the same correction. If they raise an alarm, and none of
    them does alone, they are listed as a further span, at the end.

    Args:
        times: the sums of each span.
        baseline: the counts, correct predictions and summed predictions of its bins, (3, M); of
            weighted rows those of as many equal ones as they are worth.
        tolerance, relative: as `report` has them, applied to the expected frequency of each span.

    Source: Shewhart 1931, "Economic Control of Quality of Manufactured Product", for the limits.
    """
    if not times:
        return []
    # What a positive weighs is not known of a day without any, so all days tell it.
    heavy = heaviness(np.sum([bins.array for bins in times.values()], axis=0))
    names, n, limits = sorted(times), len(times), (tolerance, relative)
    judged = [_judged(name, times[name], baseline, heavy, limits) for name in names]
    small = [span.small for span, _ in judged]
    sizes = [2**i for i in range(1, (n - 1).bit_length())]
    sizes = [k for k in sizes if 2 * sum(small[-k:]) > k]
    for k in sizes:
        last = BinSums(np.sum([times[name].array for name in names[-k:]], axis=0))
        judged.append(_judged(f"{names[-k]} to {names[-1]}", last, baseline, heavy, limits))
    found = [
        replace(
            span,
            alarm=abs(span.z) > LIMIT
            and chance < _ALPHA
            and abs(span.happened - span.expected) > allowed(tolerance, relative, span.expected),
        )
        for (span, _), chance in zip(judged, holm([chance for _, chance in judged]), strict=True)
    ]
    single = found[:n]
    # Where one of them raises an alarm by itself, it is told already.
    together = [
        span
        for k, span in zip(sizes, found[n:], strict=True)
        if span.alarm and not any(one.alarm for one in single[-k:])
    ]
    return [*single, max(together, key=lambda span: abs(span.z))] if together else single


def _judged(
    name: str,
    bins: BinSums,
    baseline: np.ndarray | None,
    heavy: np.ndarray,
    limits: tuple[float, float],
) -> tuple[Span, float]:
    """A span that raises no alarm yet, and the p value of its number of events."""
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
    calm = float(counts[filled] @ variances)
    small = calm**2 < _LEAST_VARIANCE * variance
    seen, mean = float(correct.sum()), float(expected.sum())
    visible = LIMIT * spread / bins.mass
    span = Span(
        name=name,
        n=bins.n,
        predicted=bins.predicted,
        expected=float(expected.sum() / bins.mass),
        happened=bins.happened,
        z=z,
        small=small,
        alarm=False,
        visible=visible,
        blind=small or visible > allowed(*limits, mean / bins.mass),
    )
    return span, _chance_of(seen, mean, calm, spread**2) if calm and not small else 1.0


def _chance_of(events: float, mean: float, calm: float, variance: float) -> float:
    """The two-sided p value of a number of events, or of their weights.

    The tail of few events is not normal. A binomial number with this mean and the variance
    ``calm`` has it; weights and a baseline scale it to the true variance.
    """
    rate, scale = 1 - calm / mean, calm / variance
    x, n = scale * events, scale * mean / rate
    least = np.finfo(float).tiny
    more = betainc(max(x, least), max(n - x + 1, least), rate)
    fewer = 1 - betainc(x + 1, max(n - x, least), rate)
    return float(min(1.0, 2 * min(more, fewer)))


def begins(alarms: Sequence[bool]) -> int:
    """The place from which alarms are frequent, by maximum likelihood: one early false alarm, as
    one span in 370 raises it, is not where a break begins.
    """
    found, n = np.asarray(alarms), len(alarms)
    likely = np.full(n, -np.inf)
    for place in np.flatnonzero(found):
        before, seen, rest = found[:place].sum(), found[place:].sum(), n - place
        rate = (seen + 0.5) / (rest + 1)
        likely[place] = seen * np.log(rate) + (rest - seen) * np.log1p(-rate)
        likely[place] += before * np.log(_FALSE) + (place - before) * np.log1p(-_FALSE)
    return int(likely.argmax())


@dataclass(frozen=True)
class Verdict:
    """How the interval of the population ECE compares with the tolerance.

    Attributes:
        outcome: of all that was asked for. "beyond" if the error of all rows is; else "groups" if
            that of a group is, "times" if a span of time raises an alarm, "undecided" if there
            are too few rows to tell of all rows or of a group, and "within" if nothing of this.
        overall: of all rows alone: "within" if the interval ends at the tolerance or below it,
            "beyond" if it begins above it, else "undecided".
        tolerance: 0 to 1, as `calib_audit.report` applies it to all rows.
        rows_needed: if all rows are undecided, about how many rows a decision would take; None if
            more than a thousand times as many.
        rows_needed_range: from how many to how many, as far as these rows tell; the second is None
            if more than a thousand times as many. None if all rows are decided.
        sentence: the verdict and its reasons in words.
    """

    outcome: str
    overall: str
    tolerance: float
    rows_needed: int | None = None
    rows_needed_range: tuple[int | None, int | None] | None = None
    sentence: str = ""

    @property
    def exit_code(self) -> int:
        """0 within, 1 beyond, 3 undecided, 4 beyond in a group, 5 alarm in a span of time."""
        return _EXIT[self.outcome]


def since(times: Sequence[Span]) -> str | None:
    """The span from which on most raise an alarm, one of the last two included; None without."""
    judged = [span for span in times if not span.small]
    alarms = [span.alarm for span in judged]
    begin = begins(alarms)
    later, together = sum(alarms[begin:]), " to " in judged[-1].name
    if 2 * later > len(alarms) - begin and any(alarms[-2:]) and not together:
        alone = sum(alarms) == 1 and len(judged) > 1
        return judged[begin].name if later > 1 or alone else None
    return None


def judge_groups(rows: Rows, limits: tuple[float, float]) -> dict[str, list[Part]]:
    """The rows of each value of each column of groups, as `judge_parts` judges them."""
    found = {}
    for name, column in rows.groups.items():
        of_rows = *confidences_of(rows), column.codes, len(column.values)
        if rows.blocks is None:
            sums = tally(*of_rows, rows.weights)
        else:
            sums = sums_of_blocks(*of_rows, rows.blocks.codes).array
        parts = {str(value): BinSums(sums[:, [place]]) for place, value in enumerate(column.values)}
        found[name] = judge_parts(parts, *limits, in_blocks=rows.blocks is not None)
    return found


def judge(
    measures: Measures,
    tolerance: float,
    relative: float,
    groups: Mapping[str, Sequence[Part]],
    times: Sequence[Span],
    *,
    monitor: bool = False,
) -> Verdict:
    """The verdict on all rows, in view of their groups and of spans of time.

    Args:
        measures: of all rows.
        tolerance, relative: as `report` has them.
        groups, times: as they were judged.
        monitor: whether only alarms count. Then too few rows are a matter of the last span alone,
            because the earlier ones were watched before.
    """
    limit = allowed(tolerance, relative, measures.predicted)
    if measures.error[0] > tolerance:
        limit = tolerance  # which is beyond question, whatever the rate
    overall = _outcome_of(measures.error, limit)
    found = {part.outcome for parts in groups.values() for part in parts}
    alarm = any(span.alarm for span in times)
    if monitor:
        outcome = _TIMES if alarm else UNDECIDED if times[-1].blind else WITHIN
    elif overall == BEYOND:
        outcome = BEYOND
    elif BEYOND in found or alarm:
        outcome = _GROUPS if BEYOND in found else _TIMES
    else:
        outcome = UNDECIDED if UNDECIDED in found else overall
    return Verdict(outcome, overall, limit)
