"""All that a report takes of the rows, from one file or from a folder of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calib_utils.audit.bin_sums import Totals
from calib_utils.audit.class_columns import columns_of
from calib_utils.audit.columns import Columns
from calib_utils.audit.file_sums import How
from calib_utils.audit.folder import is_folder, open_folder
from calib_utils.audit.folder_totals import read_folder
from calib_utils.audit.reading import open_source
from calib_utils.audit.rows import Rows, RowsReader

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
    keep: bool,
    check: Callable[[Columns], None],
    scheduler: str | None,
    skip_bad_files: bool,
    progress: bool,
) -> Gathered:
    """Read a file or a folder; the arguments are those of a report.

    Args:
        keep: whether rows are needed to fit recalibrators on.
        check: looks at the columns before anything is read.
    """
    if not is_folder(data):
        for name, value in (("scheduler", scheduler), ("skip_bad_files", skip_bad_files)):
            if value:
                raise ValueError(
                    f"{name}: expected with a folder of Parquet files, found it with one file; "
                    "leave it out"
                )
        return gather_file(data, named, n_bins, drop, rescale, seed, check)
    folder = open_folder(data, named, skip_bad_files)
    check(folder.columns)
    heaviest = max(file.heaviest for file in folder.files)
    how = How(folder.columns, n_bins, drop, rescale, int(seed), keep, heaviest)
    reader, totals, refused = read_folder(
        folder, how, scheduler=scheduler, skip_bad_files=skip_bad_files, progress=progress
    )
    return Gathered(reader, totals, {"SHA-256 of the sums": totals.digest}, refused)


def gather_file(
    data: Any,
    named: Mapping[str, Any],
    n_bins: int,
    drop: bool,
    rescale: bool,
    seed: int,
    check: Callable[[Columns], None] = lambda columns: None,
) -> Gathered:
    """Read one file, or a data frame."""
    source = open_source(data)
    columns = columns_of(source, **named)
    check(columns)
    reader, totals = RowsReader(source, columns, drop, rescale), Totals(n_bins, seed)
    for rows in _of_equal_weight(reader, seed):
        totals.add(rows)
    if not totals.bins.n:
        raise ValueError(f"{columns.weight}: expected a weight above 0, found none")
    return Gathered(reader, totals, {"SHA-256": source.sha256} if source.sha256 else {})


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
