"""Where predictions come from: files, data frames and dictionaries of arrays."""

from __future__ import annotations

import atexit
import hashlib
import math
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_utils._arrays import dtype_name, is_tensor, to_numpy
from calib_utils._names import check_rows
from calib_utils.audit.arrow_files import csv_source, parquet_source
from calib_utils.audit.formatting import printable
from calib_utils.audit.source import (
    EXTRA,
    Block,
    Source,
    rows_of_block,
    source_of_arrays,
    with_checked_names,
)
from calib_utils.records.npz import explain_damage

__all__ = ["open_source"]

_WRITE_AGAIN = "write it again, with numpy.savez"
_SUFFIXES = ".csv, .parquet or .npz"


def open_source(data: Any) -> Source:
    """Predictions in any supported form, as a `Source`.

    Args:
        data: the path of a file whose name ends in .csv, .parquet or .npz; "-" for CSV from the
            standard input; a dictionary of arrays; or a data frame that narwhals supports.

    Raises:
        FileNotFoundError: if there is no such file.
        ModuleNotFoundError: if a package that the data needs is not installed.
        ValueError: if it cannot be read, or has no columns.
    """
    if str(data) == "-" and isinstance(data, str):
        source = _standard_input()
    elif isinstance(data, (str, Path)):
        source = _file(Path(data))
    elif isinstance(data, Mapping):
        source = _arrays({str(name): column for name, column in data.items()})
    else:
        source = _frame(data)
    return with_checked_names(source)


def _file(path: Path) -> Source:
    if path.is_dir():
        raise ValueError(f"{path}: expected a file, found a folder; give a {_SUFFIXES}")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; give one with a head and rows")
    readers = {".csv": csv_source, ".tsv": csv_source, ".parquet": parquet_source, ".npz": _npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ValueError(f"{path}: expected a {_SUFFIXES}, found {path.suffix or 'no suffix'}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return reader(path)._replace(name=printable(path.name), sha256=digest)


def _standard_input() -> Source:
    """CSV that can be read only once is copied to disk, not into memory."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # weights are read twice
    path = Path(folder.name) / "input.csv"
    with path.open("wb") as copy:
        while part := sys.stdin.buffer.read(1 << 20):
            copy.write(part)
    if path.stat().st_size == 0:
        raise ValueError("-: the standard input is empty; give CSV with a head and rows")
    return _file(path)._replace(name="standard input")


def _arrays(given: Mapping[str, Any]) -> Source:
    arrays: dict[str, np.ndarray] = {}
    narrow = {key for key, one in given.items() if is_tensor(one) and dtype_name(one) == "bfloat16"}
    indexed = [key for key, column in given.items() if hasattr(column, "iloc")]
    for key in indexed[1:]:
        check_rows(given[indexed[0]], given[key], key, indexed[0])
    for key, column in given.items():
        try:
            if is_tensor(column):
                column = to_numpy(column, key)
            if isinstance(column, np.ma.MaskedArray):
                hidden, column = np.ma.getmaskarray(column), column.data.astype(object)
                column[hidden] = None
            arrays[key] = np.asarray(column)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}") from error
        if arrays[key].shape == () and arrays[key].dtype == object:  # such as a generator
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}")

    def read(wanted: Sequence[str], n: int, step: int) -> Iterator[Block]:
        for start in range(0, n, step):
            yield {key: arrays[key][start : start + step] for key in wanted}

    shapes = {key: one.shape for key, one in arrays.items()}
    return source_of_arrays("a dictionary", shapes, read, narrow)


def _npz(path: Path) -> Source:
    """The arrays of one or two dimensions; others are not columns, and are not read."""
    with explain_damage(f"{path}: the file", _WRITE_AGAIN), zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
        members = {name[:-4]: _Member.of(file, name) for name in names}

    def read(wanted: Sequence[str], n: int, step: int) -> Iterator[Block]:
        with (
            explain_damage(f"{path}: the file", _WRITE_AGAIN),
            zipfile.ZipFile(path) as file,
            ExitStack() as opened,
        ):
            streams = {key: opened.enter_context(file.open(f"{key}.npy")) for key in wanted}
            readers = {key: members[key].blocks(streams[key], step) for key in wanted}
            for _ in range(0, n, step):
                yield {key: next(reader) for key, reader in readers.items()}

    return source_of_arrays(str(path), {key: one.shape for key, one in members.items()}, read)


class _Member(NamedTuple):
    """The header of a .npy file: where its array begins, and its shape and type."""

    start: int
    shape: tuple[int, ...]
    by_column: bool
    dtype: np.dtype

    @staticmethod
    def of(file: zipfile.ZipFile, name: str) -> _Member:
        with file.open(name) as stream:
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[np.lib.format.read_magic(stream)]
            shape, by_column, dtype = read(stream)
            member = _Member(stream.tell(), shape, by_column, dtype)
        size = member.start + math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size != file.getinfo(name).file_size:
            raise ValueError(f"{name} does not have the size that its header gives")
        return member

    def blocks(self, stream: Any, step: int) -> Iterator[np.ndarray]:
        """``step`` rows at a time; all at once if the array is stored by columns."""
        if self.dtype.hasobject:
            raise ValueError("it contains Python objects, which are not read")
        stream.read(self.start)
        n, width = self.shape[0], max(1, math.prod(self.shape[1:]))
        if self.by_column and width > 1:
            rows = stream.read(n * width * self.dtype.itemsize)
            whole = np.frombuffer(rows, self.dtype).reshape(self.shape, order="F")
            yield from (whole[start : start + step] for start in range(0, n, step))
            return
        for start in range(0, n, step):
            count = min(step, n - start)
            rows = stream.read(count * width * self.dtype.itemsize)
            yield np.frombuffer(rows, self.dtype).reshape(count, *self.shape[1:])


def _frame(frame: Any) -> Source:
    try:
        import narwhals
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"frame: a {type(frame).__name__} needs narwhals, {EXTRA}; or give a dictionary of "
            "arrays"
        ) from error
    try:
        known = narwhals.from_native(frame)
        rows = known.collect() if isinstance(known, narwhals.LazyFrame) else known
    except narwhals.exceptions.NarwhalsError as error:
        raise ValueError(f"frame: expected rows with named columns ({error})") from error
    except TypeError as error:
        raise ValueError(
            f"frame: expected a path, a data frame or a dictionary of arrays, found "
            f"{type(frame).__name__}"
        ) from error
    places = {str(name): place for place, name in enumerate(rows.columns)}  # pandas has any names

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        step = rows_of_block(len(names))
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            yield {name: _from_narwhals(part[:, places[name]]) for name in names}

    return Source("a data frame", [str(name) for name in rows.columns], None, blocks)


def _from_narwhals(column: Any) -> np.ndarray:
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)  # the clock that it shows
    return np.asarray(column.to_numpy())
