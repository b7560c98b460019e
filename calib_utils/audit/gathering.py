"""All that a report takes of the rows, from one file or from a folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calib_utils.audit.class_columns import columns_of
from calib_utils.audit.columns import Columns
from calib_utils.audit.file_sums import How, sums_of
from calib_utils.audit.folder import is_folder, open_folder
from calib_utils.audit.folder_reading import read_folder
from calib_utils.audit.lots import MOST_DRAWN
from calib_utils.audit.reading import open_source
from calib_utils.audit.rows import Counts
from calib_utils.audit.source import Source
from calib_utils.audit.totals import Totals

__all__ = ["Gathered", "gather", "gather_file"]


class Gathered(NamedTuple):
    """What was read.

    Attributes:
        name: of the data.
        columns: which were read.
        counts: of the rows that needed attention.
        totals: of the rows.
        facts: what tells these rows from others.
        refused: a sentence for each file of a folder that was left out.
    """

    name: str
    columns: Columns
    counts: Counts
    totals: Totals
    facts: dict[str, str]
    refused: Sequence[str] = ()


def gather(
    data: Any,
    named: Mapping[str, Any],
    how: Mapping[str, Any],
    check: Callable[[Columns], None],
    *,
    scheduler: str | None,
    skip_bad_files: bool,
    progress: bool,
) -> Gathered:
    """Read a file, a data frame or a folder.

    Args:
        data, scheduler, skip_bad_files, progress: as for a report.
        named: the columns, as for a report.
        how: fields of `How`: those that are known before the data.
        check: looks at the columns before anything is read.
    """
    if not is_folder(data):
        for name, value in (("scheduler", scheduler), ("skip_bad_files", skip_bad_files)):
            if value:
                raise ValueError(
                    f"{name}: expected with a folder of Parquet files, found it with one file; "
                    "leave it out"
                )
        return gather_file(open_source(data), named, how, check)
    folder = open_folder(data, named, skip_bad_files)
    columns, files = folder.columns, folder.files
    check(columns)
    known = How(columns, **how)
    all_count = not (known.drop or skip_bad_files or columns.weight)
    known = known._replace(
        few=not all_count or sum(file.rows for file in files) <= MOST_DRAWN,
        heaviest=_heaviest((file.weights for file in files), columns),
    )
    name, counts, sums, refused = read_folder(
        folder, known, scheduler=scheduler, skip_bad_files=skip_bad_files, progress=progress
    )
    totals = Totals(sums, known.seed)
    return Gathered(name, columns, counts, totals, {"SHA-256 of the sums": totals.digest}, refused)


def gather_file(
    source: Source,
    named: Mapping[str, Any],
    how: Mapping[str, Any],
    check: Callable[[Columns], None] = lambda columns: None,
) -> Gathered:
    """Read one source; its sums are those of a folder with one file."""
    columns = columns_of(source, **named)
    check(columns)
    known = How(columns, **how)
    if columns.weight is not None:
        reader = known.reader(source)
        ranges = [_range_of(rows.weights) for rows in reader.blocks()]
        reader.counts.check(source.name, columns)
        known = known._replace(heaviest=_heaviest(ranges, columns))
    reader = known.reader(source)
    sums = sums_of(reader, known)
    reader.counts.check(source.name, columns)
    facts = {"SHA-256": source.sha256} if source.sha256 else {}
    return Gathered(source.name, columns, reader.counts, Totals(sums, known.seed), facts)


def _range_of(weights: np.ndarray | None) -> tuple[float, float] | None:
    if weights is None or not len(weights):
        return None
    return float(weights.min()), float(weights.max())


def _heaviest(ranges: Iterable[tuple[float, float] | None], columns: Columns) -> float:
    """The largest weight, of parts whose lowest and largest are known; 0 if all are equal.

    Raises:
        ValueError: if no weight is above 0.
    """
    if columns.weight is None:
        return 0.0
    ends = [end for each in ranges if each is not None for end in each]
    if ends and max(ends) <= 0:
        raise ValueError(f"{columns.weight}: expected a weight above 0, found none")
    return 0.0 if len(set(ends)) < 2 else max(ends)
