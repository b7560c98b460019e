"""All that a report takes of the rows, from one file or from a folder of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from calib_utils.audit.class_columns import columns_of
from calib_utils.audit.columns import Columns
from calib_utils.audit.file_sums import How
from calib_utils.audit.folder import is_folder, open_folder
from calib_utils.audit.folder_reading import read_folder
from calib_utils.audit.lots import MOST_DRAWN
from calib_utils.audit.reading import open_source
from calib_utils.audit.rows import RowsReader
from calib_utils.audit.source import Source
from calib_utils.audit.totals import Totals

__all__ = ["Gathered", "gather", "gather_file"]


class Gathered(NamedTuple):
    """What was read.

    Attributes:
        reader: with what was counted.
        totals: of the rows.
        facts: what tells these rows from others.
        refused: a sentence for each file of a folder that was left out.
    """

    reader: RowsReader
    totals: Totals
    facts: dict[str, str]
    refused: Sequence[str] = ()


def gather(
    data: Any,
    named: Mapping[str, Any],
    *,
    n_bins: int,
    drop: bool,
    rescale: bool,
    seed: int,
    sample: bool,
    check: Callable[[Columns], None],
    scheduler: str | None,
    skip_bad_files: bool,
    progress: bool,
) -> Gathered:
    """Read a file or a folder; the arguments are those of a report.

    Args:
        sample: whether rows are needed to fit recalibrators on.
        check: looks at the columns before anything is read.
    """
    if not is_folder(data):
        for name, value in (("scheduler", scheduler), ("skip_bad_files", skip_bad_files)):
            if value:
                raise ValueError(
                    f"{name}: expected with a folder of Parquet files, found it with one file; "
                    "leave it out"
                )
        source = open_source(data)
        return gather_file(source, named, n_bins, drop, rescale, seed, sample, check)
    folder = open_folder(data, named, skip_bad_files)
    check(folder.columns)
    ranges = [file.weights for file in folder.files if file.weights is not None]
    heaviest = _heaviest(ranges, folder.columns)
    all_count = not (drop or skip_bad_files or named.get("weight"))
    few = not all_count or sum(file.rows for file in folder.files) <= MOST_DRAWN
    how = How(folder.columns, n_bins, drop, rescale, int(seed), sample, few, heaviest)
    reader, sums, refused = read_folder(
        folder, how, scheduler=scheduler, skip_bad_files=skip_bad_files, progress=progress
    )
    totals = Totals(sums, how.seed)
    return Gathered(reader, totals, {"SHA-256 of the sums": totals.digest}, refused)


def gather_file(
    source: Source,
    named: Mapping[str, Any],
    n_bins: int,
    drop: bool,
    rescale: bool,
    seed: int,
    sample: bool = True,
    check: Callable[[Columns], None] = lambda columns: None,
) -> Gathered:
    """Read one source; its sums are those of a folder with one file."""
    columns = columns_of(source, **named)
    check(columns)
    how = How(columns, n_bins, drop, rescale, int(seed), sample)
    reader = how.reader(source)
    if columns.weight is not None:
        ranges = [
            (float(rows.weights.min()), float(rows.weights.max()))
            for rows in reader.blocks()
            if rows.weights is not None
        ]
        how = how._replace(heaviest=_heaviest(ranges, columns))
    sums = how.no_sums()
    for rows in map(how.counted, reader.blocks()):
        if len(rows.labels):
            sums.add(rows)
    facts = {"SHA-256": source.sha256} if source.sha256 else {}
    return Gathered(reader, Totals(sums, how.seed), facts)


def _heaviest(ranges: Sequence[tuple[float, float]], columns: Columns) -> float:
    """The largest weight, of parts whose lowest and largest are known; 0 if all are equal.

    Raises:
        ValueError: if no weight is above 0.
    """
    if columns.weight is None:
        return 0.0
    lowest, largest = (min(low for low, _ in ranges), max(high for _, high in ranges))
    if largest <= 0:
        raise ValueError(f"{columns.weight}: expected a weight above 0, found none")
    return 0.0 if lowest == largest else largest
