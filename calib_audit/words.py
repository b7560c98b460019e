"""Every sentence of a report: its headline, what was read, and what stands beside its tables."""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Mapping, Sequence

import numpy as np

from calib_audit.bin_sums import BinSums
from calib_audit.columns import UNITS, Columns
from calib_audit.costs import Costs
from calib_audit.findings import Findings
from calib_audit.formatting import (
    counted_rows,
    distinct,
    number,
    percent,
    points,
    printable,
    two_digits,
)
from calib_audit.gathering import Gathered
from calib_audit.measures import Measures
from calib_audit.parts import (
    BEYOND,
    LIMIT,
    UNDECIDED,
    WITHIN,
    Part,
    Span,
    left_wrong,
    parted_by,
    since,
)
from calib_audit.recalibrators import MapsPerGroup, TriedRecalibrator, TriedRecalibrators
from calib_utils._numerics import zero_of

_PLACES = "but it is too high in some places and too low in others"
_LOST = 0.005  # of the AUROC, by ties of a map with steps or by classes that change places
_NAMED = 3  # groups in a sentence; the others are counted
MOST_PARTS = 30  # in a table; the others are counted
_MOST_REFUSED = 20  # files that are listed; the others are counted
_HEAVY = 100  # times the mean weight
DOUBT = (
    "score: because of their name, the values of {} are taken for logits, but they look like "
    "probabilities; if they are, rename the column"
)


def headline(report: Findings, tolerance: float, relative: float) -> str:
    """The verdict and its reasons: first what to do about it, and then the evidence.

    Args:
        report: all that was found.
        tolerance, relative: as they were asked for, before they are applied to these rows.
    """
    measures, tried, groups = report.measures, report.recalibrators, report.groups
    times, top_label = report.times, report.columns.top_label
    overall, limit = report.verdict.overall, report.verdict.tolerance
    beyond, unclear = (_parts_that_are(outcome, groups) for outcome in (BEYOND, UNDECIDED))
    alarms = any(span.alarm for span in times)
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
        sentence += _about_classes(report.classes)
    if overall != WITHIN and tried is not None:
        sentence += f" {_remedy(tried)}"
    if tried is not None:
        sentence += _maps_per_group(tried, groups)
        sentence += _still_wrong(groups, tried)
    elif alarms:
        sentence += f" {_two_regimes(times)}"
    sentence += _cells(groups)
    sentence += _evidence(report)
    if limit < tolerance:
        rate = min(measures.predicted, 1 - measures.predicted)
        sentence += (
            f" That tolerance is {percent(relative)} of the rate of {percent(rate)}, beside which "
            f"{points(tolerance)} points would be large."
        )
    return sentence


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


def _when(times: Sequence[Span]) -> str:
    """Since when there are alarms, if from then on most spans raise one, and else how many."""
    alarms, begin = [span for span in times if span.alarm], since(times)
    if begin is not None:
        before = sum(span.name < begin for span in alarms)
        return f"alarms since {written(begin)}" + (f" and {before:,} before" if before else "")
    if len(alarms) == 1:
        return f"an alarm {_on(alarms[0])}"
    return (
        f"alarms on {len(alarms):,} of {len(times):,} spans of time, the first on "
        f"{written(alarms[0].name)}"
    )


def _on(span: Span) -> str:
    return f"{'over' if ' to ' in span.name else 'on'} {written(span.name)}"


def watched(times: Sequence[Span]) -> str:
    """What a monitor says: is there an alarm, and could one have been seen?"""
    last = times[-1]
    seen = (
        f"{_on(last)} {percent(last.expected)} were expected and "
        f"{percent(last.happened)} happened, of {counted_rows(last.n)}"
    )
    if any(span.alarm for span in times):
        when = _when(times)
        return f"{when[0].upper()}{when[1:]}: {seen}."
    if not last.blind:
        return f"No alarm: {seen}."
    why = "where so few positives or negatives are expected, none is raised, however many happen"
    if not last.small:
        why = f"a change is only visible from {points(last.visible)} points"
    return (
        "No alarm, but a change of the size of the tolerance could not have raised one: "
        f"{seen}, and {why}."
    )


def _two_regimes(times: Sequence[Span]) -> str:
    """Why no map is fitted on all rows where spans of time raise an alarm, and what to do."""
    begin = since(times)
    if begin is None:
        return (
            "A map fitted on all these rows would average what differs between these spans of "
            "time, so none was: find out first what happened in those with an alarm."
        )
    return (
        "A map fitted on all these rows would average two regimes, so none was: fit one on the "
        f"rows since {written(begin)}."
    )


def _still_wrong(groups: Mapping[str, Sequence[Part]], recalibrators: TriedRecalibrators) -> str:
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


def _evidence(report: Findings) -> str:
    measures, verdict, top_label = report.measures, report.verdict, report.columns.top_label
    low, high = measures.error
    asked = f"the tolerance of {points(verdict.tolerance)} points"
    rows = counted_rows(measures.n)
    if measures.blocks is not None:
        rows += f" in {measures.blocks:,} blocks, worth {measures.effective:,.0f} of equal size,"
    elif measures.effective != measures.n:
        rows += f", worth {measures.effective:,.0f} of equal weight,"
    text = (
        f" On {rows} its population ECE, a lower bound "
        f"of its true calibration error, lies between {points(low)} and {points(high)} points"
    )
    if verdict.overall != UNDECIDED:
        return f"{text}, {verdict.overall} {asked}."
    text += f". That does not settle whether it is within {asked}: "
    if measures.happened in (0, 1):
        which = "every row" if measures.happened else "no row"
        return f"{text}{which} is {'correct' if top_label else 'positive'}."
    assert verdict.rows_needed_range is not None
    fewest, most = verdict.rows_needed_range
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
    nll = distinct(recalibrators.nll, best.nll)
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
            f"{_listed(moved)}, on rows that it was not fitted on."
        )
    return text


def written(name: str) -> str:
    """A span in words: a day as "29 June 2026", and others as they are."""
    if " to " in name:
        return " to ".join(map(written, name.split(" to ")))
    day = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", name)
    return f"{int(day[3])} {month_name[int(day[2])]} {day[1]}" if day else name


def what_was_read(gathered: Gathered, fitted: bool) -> list[str]:
    columns, counts, totals = gathered.columns, gathered.counts, gathered.totals
    lines = [f"{gathered.name}: {counted_rows(counts.read)}", *roles(columns)]
    if counts.dropped:
        were = " was", " were"
        lines.append(f"{counted_rows(counts.dropped, *were)} dropped because a value was missing")
    if counts.rescaled:
        lines.append(
            counted_rows(counts.rescaled, " was divided by its sum", " were divided by their sum")
        )
    if counts.numbered:
        lines.append(
            f"the labels are numbers, taken for the places of the classes: 0 is "
            f"{columns.classes[0]!r}, and {len(columns.classes) - 1} is {columns.classes[-1]!r}"
        )
    if columns.kind == "logprobs":
        lines += _about_logs(counts.filled, counts.elsewhere)
    if columns.weight:
        lines += _about_weights(totals.bins, counts.read - counts.dropped)
    if columns.positive is not None and columns.positive not in counts.seen:
        lines.append(f"no row has the label {columns.positive!r}")
    if counts.impossible:
        lines.append(
            f"{counted_rows(counts.impossible)} gave a probability of 0 to what happened; it is "
            "replaced by the smallest positive number, because the NLL would be infinite otherwise"
        )
    if columns.kind not in ("logit", "logits"):
        ends = dict.fromkeys([columns.scores[0], columns.scores[-1]])
        probs = totals.rows.probs if fitted else totals.confidences[0]
        lines += zero_of(probs, " to ".join(map(repr, ends)))[1]
    if counts.doubtful:
        lines.append(DOUBT.format(repr(columns.scores[0])))
    lines += [
        f"{name!r}: all rows of each value have the same label, so even a perfect model is off in "
        "these groups; take a column that is known before the outcome"
        for name, column in totals.rows.groups.items()
        if not (gathered.summed and columns.classes)  # of which only the correct ones are known
        and parted_by(totals.rows.labels, column.codes)
    ]
    lines += [] if totals.complete else [_about_cells(gathered)]
    if gathered.summed:
        lines.append(
            "these are sums that a database made, so no calibration method was tried: that needs "
            "rows, as compare and apply do"
        )
        if columns.blocks is not None:
            lines.append(
                "each row has the mean confidence of its block in a cell of log-odds that is 1/128 "
                "wide"
            )
    if refused := gathered.refused:
        lines.append(
            f"{len(refused):,} {'file was' if len(refused) == 1 else 'files were'} left out"
        )
        lines += [f"left out: {problem}" for problem in refused[:_MOST_REFUSED]]
    return lines


def roles(columns: Columns) -> list[str]:
    """The role of each column, one line each."""
    scores = columns.scores
    shown = ", ".join(map(repr, scores[:4]))
    if len(scores) > 4:
        shown = f"{scores[0]!r} to {scores[-1]!r}"
    what = {
        "score": "the probability of the positive class",
        "logit": "the log-odds of the positive class",
        "probs": f"probabilities of {len(scores)} classes",
        "logits": f"logits of {len(scores)} classes",
        "logprobs": f"log-probabilities of {len(scores)} classes",
        "confidence": "the confidence in each prediction",
    }[columns.kind]
    label = "whether it is correct" if columns.kind == "confidence" else "the label"
    if columns.positive is not None:
        label += f", positive where {columns.positive!r}"
    lines = [f"{columns.label!r}: {label}", f"{shown}: {what}"]
    if columns.classes:
        more = ", …" if len(columns.classes) > 8 else ""
        lines.append(
            f"classes, in the order of the columns: {', '.join(columns.classes[:8])}{more}"
        )
    lines += [f"{columns.weight!r}: the weight"] if columns.weight else []
    lines += [f"{columns.blocks!r}: rows that belong together"] if columns.blocks else []
    lines += [f"{group!r}: a group" for group in columns.groups]
    lines += [f"{columns.time!r}: the time, by {UNITS[columns.unit]}"] if columns.time else []
    guessed = tuple(map(repr, columns.guessed))
    return [f"{line} (guessed)" if line.startswith(guessed) else line for line in lines]


def _about_cells(gathered: Gathered) -> str:
    """How the measures use the rows where not all of them are at hand."""
    totals = gathered.totals
    n = len(totals.confidences[0])
    what = "slope and decomposition"
    if not totals.whole:
        what = "slope, decomposition, cost and calibration methods"
    which = "all" if n == totals.bins.n else "a random sample of"
    found = (
        "all rows were counted, in bins and in cells of log-odds that are 1/128 wide, which is "
        "at most 0.2 points; bins of equal mass are made of these cells, and "
        f"{what} use {which} {n:,} rows, each with the mean confidence of its cell"
    )
    if totals.whole:
        found += (
            f"; calibration methods use a random sample of {len(totals.rows.labels):,} whole rows"
        )
    return found


def _about_weights(bins: BinSums, n: int) -> list[str]:
    lines, times = [], bins.n / bins.mass
    if n > bins.n:
        lines.append(
            counted_rows(n - bins.n, " has a weight of 0 and does", " have a weight of 0 and do")
            + " not count"
        )
    if bins.effective == bins.n:
        return [*lines, "all weights are equal, so each row counts once"]
    lines.append(f"by their weights these rows are worth {bins.effective:,.0f} of equal weight")
    if times > _HEAVY:
        lines[-1] += (
            f"; the largest weight is {times:,.0f} times the mean, so look whether it is right"
        )
    return lines


def _about_logs(filled: int, elsewhere: int) -> list[str]:
    lines = ["each row was divided by its sum, so that the classes have all of the probability"]
    if filled:
        lines.append(
            f"{counted_rows(filled)} lacked a class: each such class got an equal part of what the "
            "others leave, but no more than the smallest of them"
        )
    if elsewhere:
        lines.append(
            f"in {counted_rows(elsewhere)} the classes have less than half of the probability, "
            "so the model was about to answer something else"
        )
    return lines


def class_note(report: Findings) -> str:
    """Why the table of classes can contradict the verdict, or tell little."""
    outcomes = [each.outcome for each in report.classes]
    if len(outcomes) > MOST_PARTS and outcomes.count("undecided") > len(outcomes) / 2:
        return (
            f"Of the {len(outcomes):,} classes, {outcomes.count('beyond'):,} are beyond the "
            f"tolerance, {outcomes.count('within'):,} within it, and "
            f"{outcomes.count('undecided'):,} undecided. With about "
            f"{report.measures.n / len(outcomes):,.0f} rows of each, their own frequencies tell "
            "little, so rely on the verdict on all rows."
        )
    if report.verdict.overall != "beyond" and "beyond" in outcomes:
        return (
            "The verdict is about the confidence in the predicted class, while a class is judged "
            "by its mean probability over all rows. If you use the probabilities of a class that "
            "is beyond the tolerance, make a report on these, with that class as the positive one."
        )
    if report.verdict.overall != "beyond" or any(each != "within" for each in outcomes):
        return ""
    return (
        "Each class is within the tolerance although the model as a whole is beyond it. A class is "
        "judged by its mean probability over all rows, where too high and too low cancel, and the "
        "model by its confidence in the predicted class, bin by bin."
    )


def state_of_part(part: Part, in_blocks: bool) -> str:
    """Its verdict, and why there is none of a small one."""
    if not part.small or part.outcome != "undecided":
        return part.outcome
    return f"undecided: too few {'blocks' if in_blocks else 'positives or negatives'}"


def state_of_span(span: Span) -> str:
    if span.small:
        return "too few rows"
    if span.alarm:
        return "alarm"
    return "no alarm, although beyond the limits" if abs(span.z) > LIMIT else "no alarm"


def recalibrator_sentence(report: Findings) -> str:
    """Which recalibrator to use, one for all rows or one for each group."""
    tried, m = report.recalibrators, report.measures
    if tried is None and not report.columns.top_label and (m.reversed or m.blind):
        return (
            "No calibration method was tried, because none makes a good score of one that "
            f"{'falls where what happens rises' if m.reversed else 'tells next to nothing'}."
        )
    if tried is None and any(span.alarm for span in report.times):
        return _two_regimes(report.times)
    if tried is None:
        return (
            "No calibration method was tried, because there were too few rows, or none but "
            "their sums, all labels were equal, or none was asked for."
        )
    best, of_groups = tried.best_found, tried.best_per_group
    if best is None:
        text = f"None clearly helps: no change has an interval below 0 ({tried.how})."
        if of_groups is not None:
            text = f"No single map for all rows clearly helps ({tried.how})."
    else:
        which = (
            "helps most"
            if best is tried.found[0]
            else "has the lowest NLL of those that clearly help"
        )
        text = (
            f"{best.name} {which}: it lowers the NLL by {_at_least(best)} ({tried.how}; the "
            "interval is corrected for the number of methods)."
        )
    if of_groups is None:
        return text
    column, maps = of_groups
    where = "in the groups that are wrong without it"
    does = f"does {where}: it lowers their NLL by"
    if best is not None:
        does = f"lowers it {where} by a further"
    return f"{text} A map for each value of {column!r} (PlattPerGroup) {does} {_at_least(maps)}."


def cost_lines(costs: Costs) -> list[str]:
    """The cost of a row at the thresholds of interest."""
    return [
        f"threshold {number(costs.planned[0], 3)}, optimal for calibrated predictions at prices "
        f"{costs.false_alarm:g} (false alarm) and {costs.miss:g} (miss): "
        f"{number(costs.planned[1], 3)} a row",
        f"{_lowest(costs)}, best on these rows: {number(costs.lowest[1], 3)} a row",
        f"acting always: {number(costs.always, 3)} a row; never: {number(costs.never, 3)} a row",
    ]


def _at_least(one: TriedRecalibrator | MapsPerGroup) -> str:
    return f"{number(-one.gain, 3)}, and by at least {number(-one.interval[1], 3)}"


def _lowest(costs: Costs) -> str:
    never = np.isinf(costs.lowest[0])
    return "never acting" if never else f"threshold {number(costs.lowest[0], 3)}"


def others(parts: Sequence[Part]) -> str:
    """How many parts a table leaves out, in words; empty if none."""
    undecided = sum(part.outcome == "undecided" for part in parts)
    if len(parts) <= MOST_PARTS:
        return ""
    more = max(0, len(parts) - undecided - MOST_PARTS)
    texts = [f"{more:,} more within or beyond"] if more else []
    texts += [f"{undecided:,} undecided"] if undecided else []
    return f"and {' and '.join(texts)}"


def about_calibrator(report: Findings, path: object) -> list[str]:
    """What a file contains in which the calibrator was to be stored, and what that leaves wrong."""
    tried, best = report.recalibrators, report.calibrator
    if tried is None or best is None:
        what = "was tried" if tried is None else "clearly helps"
        return [f"{path} was not written, because no calibration method {what}"]
    column = getattr(best, "group_column_", "")
    more = f", with a map for each value of {column!r}" if column else ""
    left = _still_wrong(report.groups, tried).strip()
    return [f"{path} contains {best!r}{more}", *([left] if left else [])]
