"""All that a report takes of the rows, from one file or from a folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calib_utils.audit.class_columns import columns_of
from calib_utils.audit.columns import Columns
from calib_utils.audit.file_sums import How
from calib_utils.audit.folder import is_folder, open_folder
from calib_utils.audit.folder_reading import read_folder
from calib_utils.audit.lots import MOST_DRAWN
from calib_utils.audit.reading import open_source
from calib_utils.audit.rows import Rows, RowsReader
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
        return gather_file(data, named, n_bins, drop, rescale, seed, sample, check)
    folder = open_folder(data, named, skip_bad_files)
    check(folder.columns)
    heaviest = max(file.heaviest for file in folder.files)
    all_count = not (drop or skip_bad_files or named.get("weight"))
    few = not all_count or sum(file.rows for file in folder.files) <= MOST_DRAWN
    how = How(folder.columns, n_bins, drop, rescale, int(seed), sample, few, heaviest)
    reader, sums, refused = read_folder(
        folder, how, scheduler=scheduler, skip_bad_files=skip_bad_files, progress=progress
    )
    totals = Totals(sums, how.seed)
    return Gathered(reader, totals, {"SHA-256 of the sums": totals.digest}, refused)


def gather_file(
    data: Any,
    named: Mapping[str, Any],
    n_bins: int,
    drop: bool,
    rescale: bool,
    seed: int,
    sample: bool = True,
    check: Callable[[Columns], None] = lambda columns: None,
) -> Gathered:
    """Read one file, or a data frame; its sums are those of a folder with one file."""
    source = open_source(data)
    columns = columns_of(source, **named)
    check(columns)
    how = How(columns, n_bins, drop, rescale, int(seed), sample)
    reader, sums = how.reader(source), how.no_sums()
    for rows in _of_equal_weight(reader, seed):
        sums.add(rows)
    if not sums.n:
        raise ValueError(f"{columns.weight}: expected a weight above 0, found none")
    facts = {"SHA-256": source.sha256} if source.sha256 else {}
    return Gathered(reader, Totals(sums, how.seed), facts)


def _of_equal_weight(reader: RowsReader, seed: int) -> Iterator[Rows]:
    """The rows; of weighted ones each with a chance in proportion to its weight."""
    if reader.columns.weight is None:
        yield from reader.blocks()
        return
    largest = max(float(rows.weights.max()) for rows in reader.blocks() if rows.weights is not None)
    rng = np.random.default_rng([seed, 1])
    for rows in reader.blocks():
        assert rows.weights is not None
        kept = rng.random(len(rows.labels)) * largest < rows.weights
        if kept.any():
            yield rows.take(kept)
