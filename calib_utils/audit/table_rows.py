"""The rows of the tables, which the page and the terminal share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib_utils.audit.costs import Costs
from calib_utils.audit.findings import Findings
from calib_utils.audit.formatting import number, percent, points, signed_points
from calib_utils.audit.subgroups import Part
from calib_utils.audit.times import Span

__all__ = [
    "class_note",
    "cost_lines",
    "measure_rows",
    "part_rows",
    "recalibrator_rows",
    "recalibrator_sentence",
    "span_rows",
    "titled_parts",
]

MOST_PARTS = 30  # in a table; the others are counted


def measure_rows(report: Findings) -> list[tuple[str, str, str]]:
    """Name, value, and an interval or a note on how to read it."""
    m = report.measures
    low, high = m.ratio_interval
    rows = [
        ("rows", f"{m.n:,}", ""),
        (
            "observed over expected",
            number(m.ratio, 3),
            f"{number(low, 3)} to {number(high, 3)}; 1 if calibrated on average",
        ),
        (
            "Spiegelhalter's z",
            number(m.z, 1),
            "between \N{MINUS SIGN}2 and 2 for most calibrated models",
        ),
    ]
    if m.line is None:
        rows.append(("slope and intercept", "unknown", "too few positives or negatives"))
    else:
        for name, value, (low, high), ideal in (
            ("slope", m.line.slope, m.line.slope_interval, 1),
            ("intercept", m.line.intercept, m.line.intercept_interval, 0),
        ):
            rows.append(
                (name, number(value), f"{number(low)} to {number(high)}; {ideal} if calibrated")
            )
    parts = m.decomposition
    return [
        *rows,
        (
            f"ECE, {report.bins.array.shape[1]} bins",
            percent(m.ece),
            f"baseline ECE (of a calibrated model on as many rows) {percent(m.baseline_ece.mean)}; "
            f"one in twenty such models exceeds {percent(m.baseline_ece.high)}",
        ),
        (
            "binned calibration error",
            f"{points(m.error[0])} to {percent(m.error[1])}",
            "95 % interval of the larger error, in bins of equal width or of equal mass: a lower "
            "bound of the true error, on which the verdict is based",
        ),
        (
            "debiased error (root mean square)",
            percent(m.debiased),
            f"{points(m.debiased_interval[0])} to {percent(m.debiased_interval[1])}",
        ),
        ("NLL", number(m.nll, 3), "nats; lower is better"),
        ("Brier score", number(m.brier, 3), "lower is better"),
        (
            "Brier score of the confidence",
            number(parts.miscalibration - parts.resolution + parts.uncertainty, 3),
            f"{number(parts.miscalibration, 3)} miscalibration, minus "
            f"{number(parts.resolution, 3)} resolution, plus {number(parts.uncertainty, 3)} "
            "uncertainty",
        ),
        ("accuracy", percent(m.accuracy), "" if report.columns.top_label else "at one half"),
    ]


def titled_parts(report: Findings) -> list[tuple[str, list[Part]]]:
    """The classes and the groups of each column, if there are any."""
    parts = [("Classes", report.classes)]
    parts += [(f"Groups of {name!r}", found) for name, found in report.groups.items()]
    return [(title, found) for title, found in parts if found]


def class_note(report: Findings) -> str:
    """Why all classes can be within the tolerance while the model is beyond it."""
    if report.verdict.outcome != "beyond" or any(c.outcome != "within" for c in report.classes):
        return ""
    return (
        "Each class is within the tolerance although the model as a whole is beyond it. A class is "
        "judged by its mean probability over all rows, where too high and too low cancel, and the "
        "model by its confidence in the predicted class, bin by bin."
    )


def part_rows(parts: Sequence[Part]) -> list[tuple[str, ...]]:
    """The table's row for each part, with those beyond the tolerance first."""
    order = {"beyond": 0, "undecided": 1, "within": 2}
    ordered = sorted(parts, key=lambda part: (order[part.outcome], part.small, -abs(part.gap)))
    return [
        (
            part.name,
            f"{part.n:,}",
            percent(part.predicted),
            percent(part.happened),
            f"{signed_points(part.gap)} "
            f"({signed_points(part.interval[0])} to {signed_points(part.interval[1])})",
            "undecided: too few" if part.small else part.outcome,
        )
        for part in ordered[:MOST_PARTS]
    ]


def span_rows(spans: Sequence[Span]) -> list[tuple[str, ...]]:
    """The table's row for each span of time."""
    return [
        (
            span.name,
            f"{span.n:,}",
            percent(span.predicted),
            percent(span.expected),
            percent(span.happened),
            number(span.z, 1),
            "alarm" if span.alarm else "too few rows" if span.small else "in control",
        )
        for span in spans
    ]


def recalibrator_rows(report: Findings) -> list[tuple[str, ...]]:
    """The table's row for each recalibrator, and for the original predictions."""
    tried = report.recalibrators
    if tried is None:
        return []
    rows: list[tuple[str, ...]] = [
        (
            one.name,
            number(one.nll, 3),
            one.trouble
            or f"{_gain(one.gain)} ({_gain(one.interval[0])} to {_gain(one.interval[1])})",
            percent(one.ece),
        )
        for one in tried.found
    ]
    place = sum(one.nll < tried.nll for one in tried.found)
    rows.insert(place, ("none", number(tried.nll, 3), "", percent(tried.ece)))
    return rows


def recalibrator_sentence(report: Findings) -> str:
    """Which recalibrator to use."""
    tried = report.recalibrators
    if tried is None:
        return "No recalibrator was tried, because there were too few rows or none was asked for."
    first = tried.found[0]
    if tried.best is None:
        return f"None helps: no recalibrator has an NLL that is clearly lower ({tried.how})."
    return (
        f"{first.name} helps most: it lowers the NLL by {number(-first.gain, 3)}, and by at least "
        f"{number(-first.interval[1], 3)} ({tried.how}; the interval is corrected for the number "
        "of recalibrators)."
    )


def cost_lines(report: Findings) -> list[str]:
    """The cost of a row at the thresholds of interest."""
    costs = report.costs
    if costs is None:
        return []
    return [
        f"threshold {number(costs.planned[0], 3)}, optimal for calibrated predictions at prices "
        f"{costs.false_alarm:g} (false alarm) and {costs.miss:g} (miss): "
        f"{number(costs.planned[1], 3)} a row",
        f"{_lowest(costs)}, best on these rows: {number(costs.lowest[1], 3)} a row",
        f"acting always: {number(costs.always, 3)} a row; never: {number(costs.never, 3)} a row",
    ]


def _gain(gain: float) -> str:
    return ("+" if gain > 0 else "") + number(gain, 3)


def _lowest(costs: Costs) -> str:
    never = np.isinf(costs.lowest[0])
    return "never acting" if never else f"threshold {number(costs.lowest[0], 3)}"
