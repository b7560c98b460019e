"""The sums of one file of a folder, wherever it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from calib_audit.column_types import Coded, coded, in_spans, occurring
from calib_audit.columns import Columns
from calib_audit.exact_sums import ExactSums
from calib_audit.files import from_arrow
from calib_audit.folder import FolderFile
from calib_audit.lots import SEED, Lots
from calib_audit.rows import Counts, Rows, RowsReader
from calib_audit.source import Source

__all__ = ["FileSums", "How", "sums_of", "sums_of_file"]

# Numbers of a block: in larger ones little is left in the caches, and in smaller ones the threads
# wait for each other more often than they count.
_CELLS = 1_000_000
_LARGE = 31 << 20  # bytes
_LIGHTEST = 1e-9  # of the largest weight


class How(NamedTuple):
    """What is read of each file, and how.

    Attributes:
        columns, n_bins, drop, rescale: as for a report.
        sample: whether rows of several classes, with weights or in groups are kept by lot, to fit
            calibration methods on.
        few: whether there may be so few rows that all of them are kept.
        heaviest: the largest weight in any file; 0 if all rows count alike.
    """

    columns: Columns
    n_bins: int
    drop: bool
    rescale: bool
    sample: bool = True
    few: bool = True
    heaviest: float = 0.0

    def reader(self, source: Source) -> RowsReader:
        """Reads a source."""
        return RowsReader(source, self.columns, self.drop, self.rescale)

    def no_sums(self) -> ExactSums:
        """The sums of no rows."""
        kind, n_classes = self.columns.kind, len(self.columns.scores)
        weighted = self.heaviest > 0
        whole = weighted or bool(self.columns.groups) or not self.columns.binary
        sample = self.sample and whole
        lots = Lots(SEED, kind in ("logit", "logits"), sample) if self.few or sample else None
        return ExactSums(self.n_bins, 0 if self.columns.binary else n_classes, lots, weighted)

    def counted(self, rows: Rows) -> Rows:
        """The rows whose weight is not 0, with weights as parts of the largest one.

        Raises:
            ValueError: if a weight is so small that its square would be lost.
        """
        if rows.weights is None or not self.heaviest:
            return rows._replace(weights=None)
        weights = rows.weights / self.heaviest
        light = (rows.weights > 0) & (weights < _LIGHTEST)
        if light.any():
            raise ValueError(
                f"{self.columns.weight}: expected weights of 0, or of at least a billionth of the "
                f"largest, {self.heaviest:g}, found {rows.weights[light.argmax()]:g}; leave such "
                "rows out"
            )
        return rows._replace(weights=weights).take(weights > 0)


class FileSums(NamedTuple):
    """What one file adds to a report.

    Attributes:
        sums: of its rows.
        counts: what was not as it should be.
        problem: what is wrong with the file; then nothing of it counts.
    """

    sums: ExactSums
    counts: Counts
    problem: str = ""


def sums_of(
    reader: RowsReader, how: How, tell: Callable[[int], Any] = lambda rows: None
) -> ExactSums:
    """The sums of all rows that a reader reads; ``tell`` is called with the size of each block."""
    sums, read = how.no_sums(), 0
    for rows in map(how.counted, reader.blocks()):
        sums.add(rows)
        tell(reader.counts.read - read)
        read = reader.counts.read
    return sums


def sums_of_file(
    file: FolderFile, how: How, tell: Callable[[int], Any] = lambda rows: None
) -> FileSums:
    """Read a file, block by block: all of it counts, or nothing.

    Args:
        file: as it was when the folder was opened.
        how: what is read.
        tell: is called with the number of rows of each block.
    """
    reader = how.reader(Source(file.name, [], None, lambda names: _blocks(file, how.columns)))
    np.empty(_LARGE, np.uint8)  # freed at once, by which glibc learns to keep what is freed later
    try:
        return FileSums(sums_of(reader, how, tell), reader.counts)
    except ValueError as error:
        known = str(error).startswith(file.name)
        where = "" if known else f"{file.name}, row group {_group_of(file, reader.counts.read)}: "
        return FileSums(how.no_sums(), Counts(), f"{where}{error}")


def _blocks(file: FolderFile, columns: Columns) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    stored = [name for name in columns.names if name not in file.keys]
    few = {columns.label, columns.time, *columns.of_groups}  # that have few values
    units = {columns.time: columns.unit} if columns.time not in columns.of_groups else {}
    step = max(1, _CELLS // max(4, len(stored)))
    group, opened = 0, None
    try:
        if os.path.getsize(file.path) != file.size:
            raise ValueError(
                f"{file.name}: the file was written to since the folder was opened; write files "
                "elsewhere, and move them here when they are whole"
            )
        texts = [name for name in stored if name in file.texts]
        with parquet.ParquetFile(file.path, read_dictionary=texts, buffer_size=1 << 20) as opened:
            for group in range(opened.num_row_groups):
                for batch in opened.iter_batches(step, [group], stored, use_threads=False):
                    n = len(batch)
                    raw = {
                        name: _coded(batch.column(name), units.get(name))
                        if name in few or name in texts
                        else from_arrow(batch.column(name))
                        for name in stored
                    }
                    yield raw | {
                        name: Coded(np.array([text]), np.zeros(n, np.intp))
                        for name, text in file.keys.items()
                        if name in columns.names
                    }
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        column = "" if opened is None else _damaged(file, group, stored)
        raise ValueError(
            f"{file.name}, row group {group}{column}: the file is damaged ({reason}); write it "
            "again"
        ) from error


def _damaged(file: FolderFile, group: int, stored: list[str]) -> str:
    """The first column that cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    for name in stored:
        try:
            with parquet.ParquetFile(file.path) as opened:
                opened.read_row_group(group, [name])
        except (pa.ArrowException, OSError):
            return f", {name}"
    return ""


def _coded(column: Any, unit: str | None) -> Any:
    """A column whose values are told apart; times are rounded down first, if a unit is given."""
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        return from_arrow(column)  # which is refused by its name
    if not column.null_count and not hasattr(column, "dictionary"):
        values = from_arrow(column)
        if values.dtype.kind == "M":
            return coded(in_spans(values, unit) if unit else values)
        if values.dtype.kind in "biu":
            return coded(values)
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    values, codes = from_arrow(column.dictionary), column.indices
    if codes.null_count:
        codes = codes.fill_null(len(values))
        values = np.array([*values.tolist(), None], object)
    return occurring(values, np.asarray(codes).astype(np.intp))


def _group_of(file: FolderFile, read: int) -> int:
    """The row group of the last of the rows that were read."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(file.path) as opened:
        metadata = opened.metadata
        last = np.cumsum([metadata.row_group(g).num_rows for g in range(opened.num_row_groups)])
    return int(np.searchsorted(last, read))
