"""CSV and Parquet through PyArrow, a block of rows at a time and only the columns asked for."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils.audit.column_types import is_number
from calib_utils.audit.source import EXTRA, Block, Source, rows_of_block

__all__ = ["csv_source", "from_arrow", "parquet_source"]

_BYTES = 1 << 22  # of text that is read at once, which also limits the length of a row
_LONGEST = 100_000  # bytes of a cell
_TOO_LONG = "that is too long for a table; is a quotation mark left open?"
_BUFFER = 1 << 20  # bytes of a compressed column


def csv_source(path: Path) -> Source:
    """All cells are read as text, because the first rows may mislead about their type."""
    try:
        import pyarrow as pa
        import pyarrow.compute as compute
        import pyarrow.csv as arrow_csv
    except ModuleNotFoundError as error:
        raise _without_arrow(path, "CSV") from error
    head, delimiter, has_rows = _read_head(path)

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        if not has_rows:
            return
        refused: list[Any] = []

        def refuse(row: Any) -> str:
            refused.append(row)
            return "error"

        read = arrow_csv.ReadOptions(
            column_names=head,
            skip_rows=1,
            block_size=_BYTES,
            use_threads=False,  # with threads, no error knows its row
        )
        parse = arrow_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=refuse
        )
        convert = arrow_csv.ConvertOptions(
            include_columns=list(names), column_types=dict.fromkeys(names, pa.string())
        )
        try:
            for batch in arrow_csv.open_csv(path, read, parse, convert):
                for name, length in zip(names, map(compute.binary_length, batch), strict=True):
                    if len(length) and compute.max(length).as_py() > _LONGEST:
                        raise ValueError(f"{path}: {name}: found a cell {_TOO_LONG}")
                read_cells = _with_points if delimiter in ";\t" else lambda cells: cells
                yield {name: from_arrow(read_cells(batch.column(name))) for name in names}
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path}: {_explained(str(error), refused)}") from error

    return Source(str(path), head, None, blocks)


def _with_points(cells: Any) -> Any:
    """Numbers with a decimal comma, as files with semicolons or tabs have them, with a point."""
    import pyarrow.compute as compute

    if compute.any(compute.match_substring(cells, ".")).as_py():
        return cells  # here a comma is not a decimal comma
    return compute.replace_substring_regex(
        cells, pattern=r"^\s*([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\s*$", replacement=r"\1.\2"
    )


def _read_head(path: Path) -> tuple[list[str], str, bool]:
    """The names in the first line, their delimiter, and whether more lines follow."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first, more = file.readline(), file.read(1)
        delimiter = max(",;\t", key=first.count)
        head = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {_explained('invalid UTF8')}") from error
    except csv.Error as error:
        raise ValueError(f"{path}: {_explained(str(error))}") from error
    if not head:
        raise ValueError(f"{path}: the first line is empty; give the names of the columns there")
    if all(map(is_number, head)):
        raise ValueError(
            f"{path}: expected the names of the columns in the first line, found numbers "
            f"({first.strip()[:40]}); write a line such as label,score above them"
        )
    return head, delimiter, bool(more)


def _explained(message: str, refused: Sequence[Any] = ()) -> str:
    """PyArrow's error about a CSV file, in plain words."""
    if refused:
        row = refused[0]
        return (
            f"expected {row.expected_columns} cells as in the head, found {row.actual_columns} in "
            f"row {row.number - 1:,}, {row.text[:60]!r}; quote text that has a comma"
        )
    if "invalid UTF8" in message:
        found = re.search(r"Row #(\d+)", message)
        where = f" in row {int(found[1]) - 1:,}" if found else ""
        return f"expected UTF-8, found other bytes{where}; save the file as UTF-8"
    if "straddl" in message:
        return f"found a row {_TOO_LONG}"
    return f"the file is not valid CSV ({message})"


def parquet_source(path: Path) -> Source:
    """Only one block of a row group is in memory at a time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise _without_arrow(path, "Parquet") from error

    def opened() -> Any:
        return parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        try:
            for batch in opened().iter_batches(rows_of_block(len(names)), columns=list(names)):
                yield {name: from_arrow(batch.column(name)) for name in names}
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path}: the file is damaged ({error}); write it again") from error

    try:
        return Source(str(path), opened().schema_arrow.names, None, blocks)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path}: the file is not valid Parquet ({error})") from error


def _without_arrow(path: Path, kind: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"{path}: {kind} needs pyarrow, {EXTRA}; or give NPZ")


def from_arrow(column: Any) -> np.ndarray:
    """A column as a NumPy array."""
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if getattr(column.type, "tz", None) is not None:
        import pyarrow.compute as compute

        column = compute.local_timestamp(column)  # the clock that it shows
    return np.asarray(column.to_numpy(zero_copy_only=False))
