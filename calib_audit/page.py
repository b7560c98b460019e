"""The report as one HTML page, which loads nothing from the network, and its figures as SVG."""

from __future__ import annotations

import base64
import io
import math
import re
import tempfile
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from scipy.stats import binom

from calib_audit import table_rows, words
from calib_audit.bin_sums import CORRECT, COUNT, EXPECTED, BinSums, heaviness, worth
from calib_audit.costs import Costs
from calib_audit.findings import Findings
from calib_audit.formatting import number, percent
from calib_audit.measures import Measures
from calib_audit.parts import LIMIT, Span
from calib_audit.source import EXTRA
from calib_audit.table_rows import Bar, Table
from calib_utils.metrics import ReliabilityBins
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE, draw_diagram

_RARE = 0.02  # a mean below which linear axes show nothing
_PARTS = 12  # bins of a diagram with log axes, with about as many expected events in each
_CHANCE = 0.95  # that the observed frequency of a calibrated model lies in the band
_WIDTH = 3.9  # inches: about the width of a phone
# The page's variable for each colour of the figures, in light and in dark mode.
_COLOURS = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    "#cccccc": "var(--line)",
    "#f0c7a6": "var(--line)",  # of a bin with few rows, which the page never draws
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREY.lower(): "var(--quiet)",
}
_LARGEST = 1_000_000  # bytes of a calibrator that the page may embed


def is_rare(bins: BinSums) -> bool:
    """Whether the predicted events are so rare that the diagram needs log axes."""
    return 0 < max(bins.predicted, bins.happened) < _RARE


def bars_of(bins: BinSums, cells: BinSums) -> list[Bar]:
    """The bins that are drawn: those of equal width or, for rare events, joined cells."""
    array = bins.array if not is_rare(bins) else _joined(cells.array)
    found = []
    array = array[:, array[COUNT] > 0]
    masses, rows = array[COUNT], BinSums(array).rows
    means = np.minimum(array[EXPECTED] / masses, 1.0)
    equal = np.maximum(np.rint(worth(masses, means, heaviness(array))), 1)
    for mean, happened, n, count in zip(
        means.tolist(), (array[CORRECT] / masses).tolist(), rows.tolist(), equal, strict=True
    ):
        low, high = binom.ppf([(1 - _CHANCE) / 2, (1 + _CHANCE) / 2], count, mean) / count
        found.append(Bar(mean, happened, int(n), low, high))
    return found


def _joined(array: np.ndarray) -> np.ndarray:
    """Neighbouring cells, joined until each has enough expected events; the last takes the rest."""
    whole = BinSums(array)
    enough = max(5.0 * whole.mass / whole.effective, array[EXPECTED].sum() / _PARTS)
    found, joined = [], np.zeros(len(array))
    for column in array.T:
        joined = joined + column
        if joined[EXPECTED] >= enough:
            found.append(joined)
            joined = np.zeros(len(array))
    if found:
        found[-1] = found[-1] + joined
    else:
        found = [joined]
    return np.stack(found, axis=1)


def reliability_picture(bins: BinSums, cells: BinSums, measures: Measures, top_label: bool) -> str:
    """The reliability diagram, with consistency bars."""
    bars = bars_of(bins, cells)
    described = (
        f"{len(bars)} bins, of which {sum(bar.outside for bar in bars)} lie outside the band of a "
        "calibrated model; "
        + "; ".join(f"{percent(bar.predicted)} predicted, {percent(bar.happened)}" for bar in bars)
    )

    def draw(ax: Axes) -> None:
        if is_rare(bins):
            _draw_rare(ax, bars)
            names = ("Confidence", "Accuracy") if top_label else ("Predicted", "Happened")
            ax.set(xlabel=names[0], ylabel=names[1])
            return
        counts = bins.rows.astype(np.int64)
        columns = np.full((len(counts), 5), np.nan)
        columns[counts > 0] = bars
        predicted, happened, _, low, high = columns.T
        drawn = ReliabilityBins(np.linspace(0, 1, len(counts) + 1), counts, happened, predicted)
        none, baseline = np.zeros(len(counts), bool), measures.baseline_ece.mean
        band = f"Calibrated, {100 * _CHANCE:g} %", low, high
        draw_diagram(drawn, measures.ece, baseline, none, band, binary=not top_label, ax=ax)

    return _picture("Reliability diagram", described, 4.5, draw)


def _draw_rare(ax: Axes, bars: Sequence[Bar]) -> None:
    """Dots and their bands on logarithmic axes, where a dot on the lower edge may be 0."""
    seen = np.array(bars)[:, [0, 1, 3, 4]]
    low = 10 ** math.floor(math.log10(seen[:, :3][seen[:, :3] > 0].min()))
    high = min(1.0, 10 ** (1 + math.floor(math.log10(seen.max()))))
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    ax.plot([low, high], [low, high], ":", color=GREY)
    outside = np.array([bar.outside for bar in bars])
    x, y, *ends = np.maximum(seen, low).T
    ax.vlines(x, *ends, color=GREY, alpha=0.4, linewidth=8)
    ax.plot(x[~outside], y[~outside], "o", color=BLUE, markersize=5, clip_on=False)
    ax.plot(x[outside], y[outside], "D", color=ORANGE, markersize=6, clip_on=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, _: f"{100 * value:.6g} %")
        axis.set_minor_locator(NullLocator())


def times_picture(spans: Sequence[Span]) -> str:
    """The control chart of z."""
    alarms = [span.name for span in spans if span.alarm]
    outside = sum(abs(span.z) > LIMIT for span in spans)
    described = (
        f"{len(spans)} values of z with limits at 3 and -3, of which {outside} "
        f"{'lies' if outside == 1 else 'lie'} beyond the limits. "
        f"Alarms: {', '.join(alarms) or 'none'}."
    )

    def draw(ax: Axes) -> None:
        z, places = np.array([span.z for span in spans]), np.arange(len(spans))
        alarm = np.array([span.alarm for span in spans])
        small = np.array([span.small for span in spans])
        ax.axhline(0, color=GREY, linestyle=":")
        for limit in (-LIMIT, LIMIT):
            ax.axhline(limit, color=ORANGE, linestyle="--")
        calm = ~alarm & ~small
        ax.plot(places[calm], z[calm], "o", color=BLUE, markersize=5)
        ax.plot(places[small], z[small], "o", color=BLUE, markersize=5, markerfacecolor="white")
        ax.plot(places[alarm], z[alarm], "^", color=ORANGE, markersize=8)
        reach = max(LIMIT + 1, 1.1 * np.nanmax(np.abs(z), initial=0))
        ax.set(ylabel="z", xlim=(-0.5, len(spans) - 0.5), ylim=(-reach, reach))
        ends = sorted({0, len(spans) - 1})
        ax.set_xticks(ends, [spans[i].name for i in ends])

    return _picture("Control chart", described, 2.6, draw)


def cost_picture(costs: Costs) -> str:
    """The cost against the threshold."""
    planned = costs.planned[0]
    lowest = f"at its lowest point {number(costs.lowest[0], 3)}"
    if np.isinf(costs.lowest[0]):
        lowest = "if one never acts, which is its lowest"
    described = (
        f"The cost is {number(costs.always, 3)} at the threshold 0, "
        f"{number(costs.planned[1], 3)} at {number(planned, 3)}, which is marked, "
        f"{number(costs.lowest[1], 3)} {lowest}, "
        f"and {number(costs.never, 3)} if one never acts."
    )

    def draw(ax: Axes) -> None:
        ax.axvline(planned, color=ORANGE, linestyle="--")
        ax.plot(costs.thresholds, costs.curve, color=BLUE, linewidth=2)
        ax.set(xlabel="Threshold", ylabel="Cost of a row", xlim=(0, 1), ylim=(0, None))

    return _picture("Cost against the threshold", described, 2.8, draw)


def _picture(title: str, described: str, height: float, draw: Callable[[Axes], None]) -> str:
    """The figure as an element of the page; equal numbers give equal text."""
    name = title.partition(" ")[0].lower()
    ours = {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "DejaVu Sans"}
    with matplotlib.style.context(["default", ours]):
        figure = Figure((_WIDTH, height))
        draw(figure.add_subplot())
        content = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        options: dict[str, Any] = {"bbox_inches": "tight", "transparent": True}
        figure.savefig(content, format="svg", metadata=nothing, **options)
    svg = content.getvalue()
    size = re.search(r'width="([\d.]+)pt" height="[\d.]+pt" (viewBox="[^"]+")', svg)
    assert size is not None
    inside = svg[svg.index(">", svg.index("<svg")) + 1 :]
    inside = re.sub(r"<style.*?</style>", "", inside, flags=re.DOTALL)  # it would style the page
    inside = re.sub(r'<g id="[^"]*"', "<g", inside)  # they repeat in each figure
    inside = inside.replace("'DejaVu Sans'", "system-ui")
    inside = re.sub("#[0-9a-f]{6}", lambda found: _COLOURS[found[0]], inside)
    return (
        f'<svg width="{float(size[1]) * 4 / 3:.0f}" {size[2]} role="img" '
        f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{escape(title)}'
        f'</title><desc id="{name}-text">{escape(described)}</desc>{inside}'
    )


def as_page(report: Findings) -> str:
    """The page; see `Report.html`."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the page needs Jinja2, {EXTRA}; text and JSON do not"
        ) from error
    text = files("calib_audit").joinpath("page.html").read_text("utf-8")
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).from_string(text)
    top_label = report.columns.top_label
    happens = "correct" if top_label else "happened"
    picture = reliability_picture(report.bins, report.cells, report.measures, top_label)
    values: dict[str, Any] = {
        "report": report,
        "blue": BLUE.lower(),
        "orange": ORANGE.lower(),
        "happens": happens,
        "measures": Table(table_rows.MeasureRow, table_rows.measure_rows(report)),
        "reliability": Markup(picture),
        "rare": is_rare(report.bins),
        "bars": Table(table_rows.BarRow, table_rows.bar_rows(bars_of(report.bins, report.cells))),
        "recalibrator_rows": Table(
            table_rows.RecalibratorRow, table_rows.recalibrator_rows(report)
        ),
        "recalibrator_sentence": words.recalibrator_sentence(report),
        "calibrator": _as_link(report),
        "group_column": getattr(report.calibrator, "group_column_", ""),
        "parts": [
            (
                table.title,
                Table(table_rows.PartRow, table_rows.part_rows(table)),
                words.others(table.parts),
            )
            for table in table_rows.titled_parts(report)
        ],
        "class_note": words.class_note(report) if report.classes else "",
        "spans": Table(table_rows.SpanRow, table_rows.span_rows(report.times)),
        "times": Markup(times_picture(report.times)) if report.times else "",
        "costs": [] if report.costs is None else words.cost_lines(report.costs),
        "cost": Markup(cost_picture(report.costs)) if report.costs is not None else "",
    }
    return template.render(values)


def _as_link(report: Findings) -> str:
    """The calibrator's file, embedded in a data URL."""
    if report.calibrator is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calibrator.npz"
        report.calibrator.save(path)
        content = path.read_bytes()
    if len(content) > _LARGEST:
        return ""
    return f"data:application/octet-stream;base64,{base64.b64encode(content).decode()}"
