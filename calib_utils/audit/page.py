"""The report as one HTML page, which loads nothing from the network."""

from __future__ import annotations

import base64
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

from calib_utils.audit import table_rows
from calib_utils.audit.drawings import (
    bars_of,
    cost_picture,
    is_rare,
    reliability_picture,
    times_picture,
)
from calib_utils.audit.findings import Findings
from calib_utils.audit.source import EXTRA
from calib_utils.audit.table_rows import Table

__all__ = ["as_page"]

_LARGEST = 1_000_000  # bytes of a calibrator that the page may embed


def as_page(report: Findings) -> str:
    """The page; see `Report.html`."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"the page needs Jinja2, {EXTRA}; text and JSON do not"
        ) from error
    text = files("calib_utils.audit").joinpath("page.html").read_text("utf-8")
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True
    ).from_string(text)
    top_label = report.columns.top_label
    happens = "correct" if top_label else "happened"
    picture = reliability_picture(report.bins, report.cells, report.measures, top_label)
    values: dict[str, Any] = {
        "report": report,
        "happens": happens,
        "measures": Table(table_rows.MeasureRow, table_rows.measure_rows(report)),
        "reliability": Markup(picture),
        "rare": is_rare(report.bins),
        "bars": Table(table_rows.BarRow, table_rows.bar_rows(bars_of(report.bins, report.cells))),
        "recalibrator_rows": Table(
            table_rows.RecalibratorRow, table_rows.recalibrator_rows(report)
        ),
        "recalibrator_sentence": table_rows.recalibrator_sentence(report),
        "calibrator": _as_link(report),
        "group_column": getattr(report.calibrator, "group_column_", ""),
        "parts": [
            (
                table.title,
                Table(table_rows.PartRow, table_rows.part_rows(table)),
                max(0, len(table.parts) - table_rows.MOST_PARTS),
            )
            for table in table_rows.titled_parts(report)
        ],
        "class_note": table_rows.class_note(report) if report.classes else "",
        "spans": Table(table_rows.SpanRow, table_rows.span_rows(report.times)),
        "times": Markup(times_picture(report.times)) if report.times else "",
        "costs": table_rows.cost_lines(report),
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
