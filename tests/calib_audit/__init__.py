"""What tests of the report share."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from calib_audit import Report, report
from calib_audit.columns import choose_columns
from calib_audit.rows import Rows, RowsReader
from calib_audit.source import open_source

# Where only what was measured counts: that no verdict is open saves how many rows it would take.
DECIDED: Any = {"cross_fit": 0, "tolerance": 0.9, "relative_tolerance": 1.0}

every_form = pytest.mark.parametrize("form", ["frame", "file", "folder"])


def in_form(form: str, columns: dict[str, np.ndarray], folder: Path) -> Any:
    """The columns as one of `every_form`."""
    if form == "frame":
        return columns
    parquet.write_table(pa.table(columns), folder / "part.parquet")
    return folder / "part.parquet" if form == "file" else folder


def written(path: Path, **columns: Any) -> str:
    """The path of a CSV file with these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        plain = (np.asarray(each).tolist() for each in columns.values())
        csv.writer(file).writerows([columns, *zip(*plain, strict=True)])
    return str(path)


def read_again(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def taken(data: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Some rows of the columns."""
    return {name: values[rows] for name, values in data.items()}


def rows_of(data: Any, drop: bool = False, rescale: bool = False, **named: Any) -> Rows:
    """The rows that a report reads, where they are one block."""
    source = open_source(data)
    reader = RowsReader(source, choose_columns(source.columns, **named), drop, rescale)
    (rows,) = reader.blocks()
    reader.counts.check(source.name, reader.columns)
    return rows


def bare(probs: np.ndarray, labels: np.ndarray, logits: np.ndarray | None = None) -> Rows:
    """Rows without groups, times and weights."""
    return Rows(probs, logits, labels, {}, None, None)


def judged(score: np.ndarray, label: np.ndarray, **options: Any) -> Report:
    """A report that tries no calibration methods."""
    return report({"score": score, "label": label}, **{"cross_fit": 0} | options)


def numbers(data: Any, **options: Any) -> dict[str, Any]:
    """All that a report tells but the names and the number of its files."""
    found = json.loads(report(data, **options).json())
    del found["facts"]["data"], found["read"][0]
    return found


def keep_at_most(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a report keep so few rows."""
    for module in ("lots", "totals", "gathering", "building"):
        monkeypatch.setattr(f"calib_audit.{module}.MOST_DRAWN", rows)


def points_of(found: Report) -> list[float]:
    """All estimates that do not speak of chance."""
    m = found.measures
    line = [] if m.line is None else [m.line.slope, m.line.intercept]
    parts = [part for each in (found.classes, *found.groups.values()) for part in each]
    points = [m.predicted, m.happened, m.ratio, m.ece, m.auroc, m.nll, m.brier, m.accuracy]
    points += [*line, *m.decomposition]
    points += [number for part in parts for number in (part.predicted, part.happened, part.gap)]
    points += [number for span in found.times for number in (span.expected, span.happened)]
    return points if found.costs is None else [*points, *found.costs.curve, *found.costs.lowest]
