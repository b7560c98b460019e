"""The rows of the tables, which the page and the terminal share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from calib_audit.findings import Findings
from calib_audit.formatting import counted_rows, number, percent, points, signed_points
from calib_audit.parts import Part, Span
from calib_audit.words import MOST_PARTS, state_of_part, state_of_span


def _column(head: str, kind: str = "", **options: Any) -> Any:
    """A column: its head, and whether its cells are a "number", a "note" or tell the "state"."""
    return field(metadata={"head": head, "kind": kind}, **options)


@dataclass(frozen=True)
class MeasureRow:
    """A measure of all rows, and how to read it."""

    name: str = _column("measure")
    value: str = _column("value", "number")
    note: str = _column("interval, or what to compare it with", "note")


@dataclass(frozen=True)
class BarRow:
    """A bin of the diagram."""

    predicted: str = _column("predicted")
    happened: str = _column("happened", "number")
    n: str = _column("rows", "number")
    band: str = _column("band of a calibrated model")


@dataclass(frozen=True)
class PartRow:
    """A class or a group."""

    name: str = _column("name")
    n: str = _column("rows", "number")
    predicted: str = _column("predicted", "number")
    happened: str = _column("happened", "number")
    gap: str = _column("gap in points, 95 % interval")
    after: str = _column("after recalibration")
    own: str = _column("with a map for each group")
    verdict: str = _column("verdict", "state")


@dataclass(frozen=True)
class SpanRow:
    """A span of time."""

    name: str = _column("span")
    n: str = _column("rows", "number")
    predicted: str = _column("predicted", "number")
    expected: str = _column("expected", "number")
    happened: str = _column("happened", "number")
    z: str = _column("z", "number")
    state: str = _column("state", "state")


@dataclass(frozen=True)
class RecalibratorRow:
    """A recalibrator, or the original predictions."""

    name: str = _column("calibration method")
    nll: str = _column("NLL", "number")
    gain: str = _column("change and its interval")
    ece: str = _column("ECE", "number")
    auroc: str = _column("AUROC", "number")


class Bar(NamedTuple):
    """One bin of the diagram.

    Attributes:
        predicted: the mean prediction.
        happened: the observed frequency (or the accuracy).
        n: rows.
        low, high: the consistency bar: that of a calibrated model lies there 95 times in 100.
    """

    predicted: float
    happened: float
    n: int
    low: float
    high: float

    @property
    def outside(self) -> bool:
        """Whether the observed frequency lies outside the consistency bar."""
        return not self.low <= self.happened <= self.high


class Table(NamedTuple):
    """Rows of one dataclass, which a page shows without knowing its columns."""

    of: type
    rows: Sequence[Any]

    @property
    def columns(self) -> list[dict[str, str]]:
        """The head, the name of the field and the kind of cells of each column that has any."""
        return [
            {"head": each.metadata["head"], "name": each.name, "kind": each.metadata["kind"]}
            for each in fields(self.of)
            if not self.rows or any(getattr(row, each.name) for row in self.rows)
        ]

    def state(self, row: Any) -> str:
        """What a row tells in its column of states, in a word; empty without one."""
        told = [getattr(row, each["name"]) for each in self.columns if each["kind"] == "state"]
        return told[0].partition(":")[0].partition(" ")[0] if told else ""


def measure_rows(report: Findings) -> list[MeasureRow]:
    """The table's row for each measure of all rows."""
    m = report.measures
    low, high = m.ratio_interval
    of_weights = []
    if m.blocks is not None:
        note = f"worth {m.effective:,.0f} of equal size; intervals and tests count these, not rows"
        of_weights.append(MeasureRow("blocks", f"{m.blocks:,}", note))
    elif m.effective != m.n:
        note = "so many rows of equal weight would tell as much"
        of_weights.append(MeasureRow("effective rows", f"{m.effective:,.0f}", note))
    rows = [
        MeasureRow("rows", f"{m.n:,}", ""),
        *of_weights,
        MeasureRow(
            "observed over expected",
            number(m.ratio, 3),
            f"{number(low, 3)} to {number(high, 3)}; 1 if calibrated on average",
        ),
        MeasureRow(
            "Spiegelhalter's z",
            number(m.z, 1),
            "between \N{MINUS SIGN}2 and 2 for most calibrated models",
        ),
    ]
    if m.line is None:
        note = "too few positives or negatives"
        rows.append(MeasureRow("slope and intercept", "unknown", note))
    else:
        for name, value, (low, high), ideal in (
            ("slope", m.line.slope, m.line.slope_interval, 1),
            ("intercept", m.line.intercept, m.line.intercept_interval, 0),
        ):
            note = f"{number(low)} to {number(high)}; {ideal} if calibrated"
            rows.append(MeasureRow(name, number(value), note))
    low, high = m.auroc_interval
    ends = "too few positives or negatives for an interval"
    if low == low:
        ends = f"{number(low)} to {number(high)}"
    parts = m.decomposition
    return [
        *rows,
        MeasureRow(
            "AUROC",
            number(m.auroc),
            f"{ends}; 0.5 if the "
            f"{'confidence' if report.columns.top_label else 'score'} tells nothing, and 1 if it "
            f"separates {'correct from wrong rows' if report.columns.top_label else 'both labels'}",
        ),
        MeasureRow(
            f"ECE, {report.bins.array.shape[1]} bins",
            percent(m.ece),
            f"baseline ECE (of a calibrated model on as many rows) {percent(m.baseline_ece.mean)}; "
            f"one in twenty such models exceeds {percent(m.baseline_ece.high)}",
        ),
        MeasureRow(
            "population ECE",
            f"{points(m.error[0])} to {percent(m.error[1])}",
            "95 % interval of the largest one, in bins of equal width, of equal mass or on the "
            "sides of the line: a lower bound of the true calibration error, on which the "
            "verdict is based",
        ),
        MeasureRow(
            "debiased error (root mean square)",
            percent(m.debiased),
            f"{points(m.debiased_interval[0])} to {percent(m.debiased_interval[1])}",
        ),
        MeasureRow("NLL", number(m.nll, 3), "nats; lower is better"),
        MeasureRow("Brier score", number(m.brier, 3), "lower is better"),
        MeasureRow(
            "Brier score of the confidence",
            number(parts.miscalibration - parts.resolution + parts.uncertainty, 3),
            f"{number(parts.miscalibration, 3)} miscalibration, minus "
            f"{number(parts.resolution, 3)} resolution, plus {number(parts.uncertainty, 3)} "
            "uncertainty",
        ),
        MeasureRow(
            "accuracy", percent(m.accuracy), "" if report.columns.top_label else "at one half"
        ),
    ]


class Titled(NamedTuple):
    """A table of classes or groups: its parts, and the same once recalibrated, if they were.

    ``after`` is one map for all rows, and ``own`` one for each group. Rows may be ``in_blocks``.
    """

    title: str
    parts: Sequence[Part]
    after: Sequence[Part] = ()
    own: Sequence[Part] = ()
    in_blocks: bool = False


def titled_parts(report: Findings) -> list[Titled]:
    """The classes, and the groups of each column, if there are any."""
    tried = report.recalibrators
    after = {} if tried is None else tried.groups
    own = {} if tried is None else {name: each.parts for name, each in tried.per_group.items()}
    in_blocks = report.measures.blocks is not None
    found = [Titled("Classes", report.classes, in_blocks=in_blocks)]
    found += [
        Titled(f"Groups of {name!r}", parts, after.get(name, ()), own.get(name, ()), in_blocks)
        for name, parts in report.groups.items()
    ]
    return [each for each in found if each.parts]


def part_rows(table: Titled) -> list[PartRow]:
    """The table's row for each part, with those beyond the tolerance first."""
    order = {"beyond": 0, "undecided": 1, "within": 2}
    after, own = (
        {part.name: signed_points(part.gap) for part in parts} for parts in (table.after, table.own)
    )
    shown = table.parts
    if len(shown) > MOST_PARTS:  # the others are counted
        shown = [part for part in shown if part.outcome != "undecided"]
    ordered = sorted(shown, key=lambda part: (order[part.outcome], part.small, -abs(part.gap)))
    return [
        PartRow(
            name=part.name,
            n=f"{part.n:,}",
            predicted=percent(part.predicted),
            happened=percent(part.happened),
            gap=f"{signed_points(part.gap)} "
            f"({signed_points(part.interval[0])} to {signed_points(part.interval[1])})",
            after=after.get(part.name, ""),
            own=own.get(part.name, ""),
            verdict=state_of_part(part, table.in_blocks),
        )
        for part in ordered[:MOST_PARTS]
    ]


def bar_rows(bars: Sequence[Bar]) -> list[BarRow]:
    """The table's row for each bin."""
    return [
        BarRow(
            predicted=percent(bar.predicted),
            happened=percent(bar.happened),
            n=f"{bar.n:,}",
            band=f"{percent(bar.low)} to {percent(bar.high)}",
        )
        for bar in bars
    ]


def span_rows(spans: Sequence[Span]) -> list[SpanRow]:
    """The table's row for each span of time."""
    return [
        SpanRow(
            name=span.name,
            n=f"{span.n:,}",
            predicted=percent(span.predicted),
            expected=percent(span.expected),
            happened=percent(span.happened),
            z=number(span.z, 1),
            state=state_of_span(span),
        )
        for span in spans
    ]


def recalibrator_rows(report: Findings) -> list[RecalibratorRow]:
    """The table's row for each recalibrator, and for the original predictions."""
    tried = report.recalibrators
    if tried is None:
        return []
    rows = [
        RecalibratorRow(
            name=one.name,
            nll=number(one.nll, 3),
            gain=one.trouble
            or f"{_gain(one.gain)} ({_gain(one.interval[0])} to {_gain(one.interval[1])})"
            + (f"; it gave {counted_rows(one.zeros)} a probability of 0" if one.zeros else ""),
            ece=percent(one.ece),
            auroc=number(one.auroc, 3),
        )
        for one in tried.found
    ]
    place = sum(one.nll < tried.nll for one in tried.found)
    none = RecalibratorRow(
        name="none",
        nll=number(tried.nll, 3),
        gain="",
        ece=percent(tried.ece),
        auroc=number(tried.auroc, 3),
    )
    return [*rows[:place], none, *rows[place:]]


def _gain(gain: float) -> str:
    return ("+" if gain > 0 else "") + number(gain, 3)
