"""Is the model calibrated to within a tolerance? Yes, no, or too few rows to tell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from calib_audit.bin_sums import CORRECT, COUNT, EXPECTED, SQUARES, BinSums
from calib_audit.formatting import (
    counted_rows,
    distinct,
    number,
    percent,
    points,
    printable,
    two_digits,
)
from calib_audit.measures import Measures, larger_error
from calib_audit.parts import (
    BEYOND,
    EXIT,
    GROUPS,
    TIMES,
    UNDECIDED,
    WITHIN,
    Part,
    Span,
    allowed,
    begins,
    left_wrong,
    outcome_of,
    written,
)
from calib_audit.recalibrators import TriedRecalibrators
from calib_utils.metrics.errors import debiased_square
from calib_utils.metrics.noise import noise_of_means, root_square_ends, squared_sums

__all__ = ["Verdict", "judge", "rows_needed", "still_wrong", "two_regimes", "watch"]

_MOST_STEPS = 40  # of a fourth of an octave: a thousand times as many rows
_LEVELS = 0.8, 0.4  # of the intervals whose ends are the quantiles
_PLACES = "but it is too high in some places and too low in others"
_LOST = 0.005  # of the AUROC, by ties of a map with steps or by classes that change places
_NAMED = 3  # groups in a sentence; the others are counted


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
    rows_needed: int | None
    rows_needed_range: tuple[int | None, int | None] | None
    sentence: str

    @property
    def exit_code(self) -> int:
        """0 within, 1 beyond, 3 undecided, 4 beyond in a group, 5 alarm in a span of time."""
        return EXIT[self.outcome]


def judge(
    measures: Measures,
    binnings: Sequence[BinSums],
    tolerance: float,
    relative: float,
    top_label: bool,
    recalibrators: TriedRecalibrators | None = None,
    groups: Mapping[str, Sequence[Part]] | None = None,
    times: Sequence[Span] = (),
    classes: Sequence[Part] = (),
) -> Verdict:
    """The verdict on a model: first what to do about it, and then the evidence."""
    limit = allowed(tolerance, relative, measures.predicted)
    if measures.error[0] > tolerance:
        limit = tolerance  # which is beyond question, whatever the rate
    overall = outcome_of(measures.error, limit)
    if overall == WITHIN and measures.happened in (0, 1):
        overall = UNDECIDED
    needed = rows_needed(binnings, limit) if overall == UNDECIDED else None
    about, between = (None, None) if needed is None else (needed[0], needed[1:])
    groups = groups or {}
    beyond, unclear = (_parts_that_are(outcome, groups) for outcome in (BEYOND, UNDECIDED))
    alarms = [span for span in times if span.alarm]
    outcome = overall
    if overall != BEYOND and (beyond or alarms):
        outcome = GROUPS if beyond else TIMES
    elif overall == WITHIN and unclear:
        outcome = UNDECIDED
    but = [f"not for {_listed(beyond)}"] if beyond else []
    but += [f"with {_when(times)}"] if alarms else []
    if not but and unclear and overall == WITHIN:
        but = [f"too few rows to tell for {_listed(unclear)}"]
    sentence = f"{_opening(overall, but)}: {_on_average(measures, overall, limit, top_label)}."
    if overall == BEYOND and beyond:
        sentence += f" Beyond the tolerance by themselves: {_listed(beyond)}."
    if overall == BEYOND and measures.reversed and not top_label:
        sentence = f"Is this the score of the other class? {sentence}"
    if overall == BEYOND and alarms:
        when = _when(times)
        sentence += f" Over time there {'is' if when.startswith('an ') else 'are'} {when}."
    if top_label and overall != BEYOND:
        sentence += _about_classes(classes)
    if overall != WITHIN and recalibrators is not None:
        sentence += f" {_remedy(recalibrators)}"
    if recalibrators is not None:
        sentence += _maps_per_group(recalibrators, groups)
        sentence += still_wrong(groups, recalibrators)
    elif alarms:
        sentence += f" {two_regimes(times)}"
    sentence += _cells(groups)
    sentence += _evidence(measures, overall, limit, needed, top_label)
    if limit < tolerance:
        rate = min(measures.predicted, 1 - measures.predicted)
        sentence += (
            f" That tolerance is {percent(relative)} of the rate of {percent(rate)}, beside which "
            f"{points(tolerance)} points would be large."
        )
    return Verdict(outcome, overall, limit, about, between, sentence)


def _parts_that_are(outcome: str, groups: Mapping[str, Sequence[Part]]) -> list[str]:
    """The groups of an outcome, those with the largest gap first; of those beyond how far off."""
    found = sorted(
        (-abs(part.gap), f"{name} {part.name}" if len(groups) > 1 else part.name, part.gap)
        for name, parts in groups.items()
        for part in parts
        if part.outcome == outcome
    )
    names = [f"`{printable(name)}`" for _, name, _ in found]
    if outcome != BEYOND:
        return names
    offs = _offs([gap for _, _, gap in found])
    return [f"{name} ({off})" for name, off in zip(names, offs, strict=True)]


def _offs(gaps: Sequence[float]) -> list[str]:
    """How far the predictions are off, of which the first says that these are points."""
    units = [" points", *[""] * len(gaps)]
    return [
        f"{points(abs(gap))}{unit} too {'low' if gap > 0 else 'high'}"
        for gap, unit in zip(gaps, units, strict=False)
    ]


def _listed(names: Sequence[str]) -> str:
    shown, more = list(names[:_NAMED]), len(names) - _NAMED
    shown += [f"{more:,} more"] if more > 0 else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _since(times: Sequence[Span]) -> str | None:
    """The span from which on most raise an alarm, one of the last two included; None without."""
    judged = [span for span in times if not span.small]
    alarms = [span.alarm for span in judged]
    if not any(alarms):
        return None
    begin = begins(alarms)
    later, together = sum(alarms[begin:]), " to " in judged[-1].name
    if 2 * later > len(alarms) - begin and any(alarms[-2:]) and not together:
        alone = sum(alarms) == 1 and len(judged) > 1
        return judged[begin].name if later > 1 or alone else None
    return None


def _when(times: Sequence[Span]) -> str:
    """Since when there are alarms, if from then on most spans raise one, and else how many."""
    alarms, since = [span for span in times if span.alarm], _since(times)
    if since is not None:
        before = sum(span.name < since for span in alarms)
        return f"alarms since {written(since)}" + (f" and {before:,} before" if before else "")
    if len(alarms) == 1:
        return f"an alarm {_on(alarms[0])}"
    return (
        f"alarms on {len(alarms):,} of {len(times):,} spans of time, the first on "
        f"{written(alarms[0].name)}"
    )


def _on(span: Span) -> str:
    return f"{'over' if ' to ' in span.name else 'on'} {written(span.name)}"


def watch(times: Sequence[Span], overall: Verdict) -> Verdict:
    """The verdict of a monitor: is there an alarm, and could one have been seen?

    Too few rows are a matter of the last span alone, because the earlier ones were watched before.

    Args:
        times: the spans, compared with a baseline.
        overall: the verdict on all rows, whose outcome and tolerance are kept.
    """
    last = times[-1]
    seen = (
        f"{_on(last)} {percent(last.expected)} were expected and "
        f"{percent(last.happened)} happened, of {counted_rows(last.n)}"
    )
    if any(span.alarm for span in times):
        when = _when(times)
        return replace(overall, outcome=TIMES, sentence=f"{when[0].upper()}{when[1:]}: {seen}.")
    if not last.blind:
        return replace(overall, outcome=WITHIN, sentence=f"No alarm: {seen}.")
    why = "these are too few for a test"
    if not last.small:
        why = f"a change is only visible from {points(last.visible)} points"
    return replace(
        overall,
        outcome=UNDECIDED,
        sentence="No alarm, but a change of the size of the tolerance could not have raised one: "
        f"{seen}, and {why}.",
    )


def two_regimes(times: Sequence[Span]) -> str:
    """Why no map is fitted on all rows where spans of time raise an alarm, and what to do."""
    since = _since(times)
    if since is None:
        return (
            "A map fitted on all these rows would average what differs between these spans of "
            "time, so none was: find out first what happened in those with an alarm."
        )
    return (
        "A map fitted on all these rows would average two regimes, so none was: fit one on the "
        f"rows since {written(since)}."
    )


def still_wrong(groups: Mapping[str, Sequence[Part]], recalibrators: TriedRecalibrators) -> str:
    """The groups that what is stored leaves beyond the tolerance, or does not bring within it."""
    if recalibrators.most_helpful is None:
        return ""
    after, of_groups = dict(recalibrators.groups), recalibrators.best_per_group
    if of_groups is not None:
        after = {of_groups[0]: of_groups[1].parts}
    failed: list[str] = []
    for column, parts in groups.items():
        bad = left_wrong(parts, after.get(column, ()))
        many = len(groups) > 1
        failed += [f"`{printable(f'{column} {name}' if many else name)}`" for name in bad]
    if not failed:
        return ""
    return f" These rows do not show {_listed(failed)} within the tolerance after it."


def _cells(groups: Mapping[str, Sequence[Part]]) -> str:
    """That groups of two columns may hide cells, unless cells were asked for."""
    single = [name for name in groups if "*" not in name]
    if len(single) < 2 or len(single) < len(groups):
        return ""
    crossed = "*".join(single[:2])
    return (
        f" Cells of {' and '.join(f'`{printable(name)}`' for name in single)}, whose errors may "
        f"cancel in these groups, were not looked at; the group `{printable(crossed)}` does that."
    )


def _opening(overall: str, but: Sequence[str]) -> str:
    if overall == BEYOND:
        return "Not trustworthy as it is"
    if not but:
        known = overall == WITHIN
        return "Trustworthy, as far as these rows show" if known else "Too few rows to tell"
    parts = " and ".join(but)
    if overall == WITHIN:
        return f"Trustworthy on average, but {parts}"
    parts = re.sub("^not for", "not trustworthy for", parts)
    return f"Too few rows to tell on average, but {parts}"


def _about_classes(classes: Sequence[Part]) -> str:
    """What the verdict, which is about the confidence in the predicted class, does not cover."""
    off = _parts_that_are(BEYOND, {"class": classes})
    if not off:
        return ""
    which = "probabilities" if len(off) > 1 else "probability"
    return (
        " That is about the confidence in the predicted class, while the mean "
        f"{which} of {_listed(off)} {'are' if len(off) > 1 else 'is'} beyond the tolerance."
    )


def _evidence(
    measures: Measures,
    overall: str,
    limit: float,
    needed: tuple[int | None, int | None, int | None] | None,
    top_label: bool,
) -> str:
    low, high = measures.error
    asked = f"the tolerance of {points(limit)} points"
    text = (
        f" On {_rows(measures)} its population ECE, a lower bound "
        f"of its true calibration error, lies between {points(low)} and {points(high)} points"
    )
    if overall == WITHIN:
        return f"{text}, within {asked}."
    if overall == BEYOND:
        return f"{text}, beyond {asked}."
    text += f". That does not settle whether it is within {asked}: "
    if measures.happened in (0, 1):
        which = "every row" if measures.happened else "no row"
        return f"{text}{which} is {'correct' if top_label else 'positive'}."
    assert needed is not None
    fewest, most = needed[1:]
    if fewest is None:
        return (
            f"{text}the error is so close to it that even a thousand times as "
            "many rows may not be enough."
        )
    what, more = "rows", ""
    if measures.blocks is not None:
        fewest, most = (
            each and two_digits(each * measures.blocks / measures.n) for each in (fewest, most)
        )
        what, more = "blocks like these", ", of which more rows tell little"
    if most is None:
        return (
            f"{text}a decision would take at least about {fewest:,} {what}, and if the error is "
            f"close to it more than a thousand times as many as there "
            f"are{more}."
        )
    between = f"about {fewest:,}" if fewest == most else f"between {fewest:,} and {most:,}"
    return f"{text}a decision would take {between} {what}{more}."


def _rows(measures: Measures) -> str:
    """How many, and how many equal ones they are worth."""
    text = counted_rows(measures.n)
    if measures.blocks is not None:
        return (
            f"{text} in {measures.blocks:,} blocks, worth {measures.effective:,.0f} of equal size,"
        )
    if measures.effective == measures.n:
        return text
    return f"{text}, worth {measures.effective:,.0f} of equal weight,"


def _on_average(measures: Measures, overall: str, limit: float, top_label: bool) -> str:
    predicted, happened = percent(measures.predicted), percent(measures.happened)
    if top_label:
        text = f"its mean confidence is {predicted} and its accuracy {happened}"
    else:
        text = f"it predicts {predicted} on average and {happened} happened"
    gap = measures.predicted - measures.happened
    if measures.unproven and not top_label:
        low, high = measures.auroc_interval
        tells = "these rows do not show that the score tells anything"
        if measures.blind:
            tells = "the score tells next to nothing"
        return (
            f"{text}, and {tells} about what happens, with an AUROC of "
            f"{number(measures.auroc)} ({number(low)} to {number(high)})"
        )
    if measures.reversed and not top_label:
        return (
            f"{text}, but less where it predicts more, with an AUROC of {number(measures.auroc)}; "
            "look whether the column or the positive label is the wrong one"
        )
    low, high = measures.ratio_interval
    if low <= 1 <= high:
        expected = max(measures.predicted, np.finfo(float).tiny)
        if abs(gap) > limit:
            text += ", a difference that chance may explain"
            if measures.line is None and overall == UNDECIDED:
                return text
        elif max(high * expected - measures.predicted, measures.predicted - low * expected) > limit:
            text += ", so these rows show no error on average"
        else:
            text += ", so it is calibrated on average"
        return text + _along_the_line(measures, overall)
    above, below = ("over", "under") if top_label else ("too high", "too low")
    lean = (above if gap > 0 else below) + ("confident" if top_label else "")
    text += f", so it is {lean} by {points(abs(gap))} points"
    if overall == BEYOND and abs(gap) < measures.error[0]:
        text += f", {_PLACES}"
    return text


def _along_the_line(measures: Measures, overall: str) -> str:
    """What else is known of a model whose mean is right, which alone proves little."""
    line = measures.line
    if line is None:
        return f", {_PLACES if overall == BEYOND else 'which says nothing of single predictions'}"
    low, high = line.slope_interval
    slope = (
        f"a slope of {number(line.slope)} ({number(low)} to {number(high)}), where 1 is calibrated"
    )
    if overall != WITHIN and not low <= 1 <= high:
        return f", but it is {'over' if high < 1 else 'under'}confident, with {slope}"
    return f", {_PLACES}, with {slope}" if overall == BEYOND else f", with {slope}"


def _remedy(recalibrators: TriedRecalibrators) -> str:
    best = recalibrators.best_found
    if best is None:
        if recalibrators.best_per_group is not None:
            return "No single map for all rows clearly helps."
        return "None of the calibration methods that were tried clearly helps."
    name = re.sub("(?<=[a-z])(?=[A-Z])", " ", best.name).capitalize()
    nll = distinct(recalibrators.nll, best.nll, 3)
    text = f"{name} lowers its NLL from {nll[0]} to {nll[1]}"
    before, after = percent(recalibrators.ece), percent(best.ece)
    if before == after:
        text += f" but leaves its ECE at {after}"
    elif best.ece < recalibrators.ece:
        text += f" and its ECE from {before} to {after}"
    else:
        text += f" but raises its ECE from {before} to {after}"
    lost = recalibrators.auroc - best.auroc
    text += f", at the price of {number(lost)} in AUROC." if lost > _LOST else "."
    left = _parts_that_are(BEYOND, recalibrators.groups)
    if left and recalibrators.best_per_group is not None:
        text += f" That does not make it right for {_listed(left)}."
    return text


def _maps_per_group(recalibrators: TriedRecalibrators, groups: Mapping[str, Sequence[Part]]) -> str:
    """What a map for each group does for those that one map for all leaves wrong."""
    text = ""
    for column, maps in recalibrators.per_group.items():
        if maps.best is None:
            continue
        before = {part.name: part for part in (recalibrators.groups or groups)[column]}
        wrong = BEYOND if any(one.outcome == BEYOND for one in before.values()) else UNDECIDED
        left = [part for part in maps.parts if before[part.name].outcome == wrong]
        left.sort(key=lambda part: -abs(before[part.name].gap))
        offs = _offs([part.gap for part in left])
        moved = [f"`{printable(part.name)}` {off}" for part, off in zip(left, offs, strict=True)]
        text += (
            f" A map for each value of `{printable(column)}` (`PlattPerGroup`) leaves "
            f"{_listed(moved)}, on rows that it was not fitted on"
        )
        text += "."
    return text


def rows_needed(
    binnings: Sequence[BinSums], tolerance: float
) -> tuple[int | None, int | None, int | None]:
    """About how many rows would decide, and from how many to how many.

    A typical larger sample shows gaps of the mean size that the true ones give with its smaller
    noise, and the result is the first size at which the interval of such a sample decides. The
    middle one takes the gaps of the bins as the true ones, with the noise subtracted from their
    squares. Their true root mean square is not known well, so the range is that of all sizes which
    follow from its 10, 30, 70 and 90 % quantiles, as those of a confidence distribution.

    In ``benchmarks.rows_needed`` the range holds the number that decides for 90 % of the samples,
    but of 500 rows of some models only for 60 %.

    Returns:
        The middle, the fewest and the most; None for more than a thousand times as many as these.
    """
    debiased = [np.fmax(debiased_square(bins.array), 0) ** 0.5 for bins in binnings]
    ends = [[root_square_ends(bins.array, level, 0) for bins in binnings] for level in _LEVELS]
    cases = [debiased, *(roots for pair in ends for roots in zip(*pair, strict=True))]
    found = [_decided_at(binnings, roots, tolerance) for roots in cases]
    known = [n for n in found if n is not None]
    return found[0], min(known, default=None), None if None in found else max(known)


def _decided_at(
    binnings: Sequence[BinSums], roots: Sequence[float], tolerance: float
) -> int | None:
    """The first number of rows that decides if the root mean squares of the gaps are these."""

    def decides(step: int) -> bool:
        more = [
            _with_more(bins, 2 ** (step / 4), root)
            for bins, root in zip(binnings, roots, strict=True)
        ]
        return outcome_of(larger_error(more, 0), tolerance) != UNDECIDED

    step = bisect_left(range(1, _MOST_STEPS + 1), True, key=decides) + 1
    if step > _MOST_STEPS:
        return None
    return two_digits(2 ** (step / 4) * binnings[0].n)


def _with_more(bins: BinSums, times: float, root: float) -> BinSums:
    """The sums that a typical sample of ``times`` as many rows would have.

    Its gaps have this root mean square.
    """
    array = bins.array[:, bins.array[COUNT] > 0]
    counts, squared = array[COUNT], squared_sums(array)[0]
    gaps = (array[EXPECTED] - array[CORRECT]) / counts
    seen = gaps**2 @ counts / counts.sum()
    if seen > 0:
        gaps = gaps * root / seen**0.5
    effective, around, _ = noise_of_means(array)
    within = around / effective
    noise = np.sqrt(np.maximum(within, 1e-12) / (times * effective))
    ratio = gaps / noise  # for the mean of a folded normal: the size of a gap with its noise
    shown = noise * (np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + ratio * (1 - 2 * ndtr(-ratio)))
    more = array * times
    more[CORRECT] = more[EXPECTED] - shown * more[COUNT]
    more[SQUARES] = (within + shown**2) * times * squared
    if len(more) > 5:
        more[6] = more[7] - shown * more[5]
    return BinSums(more)
