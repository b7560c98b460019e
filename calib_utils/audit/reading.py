"""Where predictions come from: files and data frames, read a block of rows at a time."""

from __future__ import annotations

import atexit
import csv
import hashlib
import itertools
import math
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_utils.records.npz import explain_damage

__all__ = ["Source", "open_source"]

_CELLS = 2_000_000  # of a block: a few hundred megabytes as text
_SUFFIXES = ".csv, .parquet or .npz"
_WRITE_AGAIN = "write it again, with numpy.savez"
_EXTRA = "python -m pip install 'calib_utils[report]'"


class Source(NamedTuple):
    """Rows with named columns.

    Attributes:
        name: of the file, or what stands in its place.
        columns: their names.
        sha256: of the file's bytes; None for a data frame.
        blocks: of the columns that it is given, one array for each, shape (n,), a block of rows
            at a time.
    """

    name: str
    columns: list[str]
    sha256: str | None
    blocks: Callable[[Sequence[str]], Iterator[dict[str, np.ndarray]]]


def open_source(data: Any, standard_input: Any = None) -> Source:
    """Whatever holds predictions, as a `Source`.

    Args:
        data: the path of a file whose name ends in .csv, .parquet or .npz; "-" for CSV from the
            standard input; a dictionary of arrays; or a data frame that narwhals knows.
        standard_input: a binary stream in its place.

    Raises:
        FileNotFoundError: if there is no such file.
        ModuleNotFoundError: if a package is missing that the kind of data needs.
        ValueError: if it cannot be read, or has no columns.
    """
    if isinstance(data, (str, Path)):
        if str(data) == "-":
            return _standard_input(standard_input or sys.stdin.buffer)
        return _file(Path(data))
    if isinstance(data, Mapping):
        return _columns("a dictionary", {str(name): column for name, column in data.items()})
    return _frame(data)


def _file(path: Path) -> Source:
    if path.is_dir():
        raise ValueError(f"{path}: expected a file, found a folder; give a {_SUFFIXES}")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; give one with a head and rows")
    readers = {".csv": _csv, ".tsv": _csv, ".parquet": _parquet, ".npz": _npz}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: expected a {_SUFFIXES}, found {path.suffix or 'no suffix'}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return readers[path.suffix.lower()](path)._replace(name=path.name, sha256=digest)


def _standard_input(stream: Any) -> Source:
    """CSV that can be read once only is copied to the disk, not to the memory."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # weights are read twice
    path = Path(folder.name) / "input.csv"
    with path.open("wb") as copy:
        while part := stream.read(1 << 20):
            copy.write(part)
    if path.stat().st_size == 0:
        raise ValueError("-: the standard input is empty; give CSV with a head and rows")
    return _file(path)._replace(name="standard input")


def _csv(path: Path) -> Source:
    with _explained(path), path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        delimiter = max(",;\t", key=first.count)
        head = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    if not head:
        raise ValueError(f"{path}: the first line is empty; give the names of the columns there")
    if all(map(_is_number, head)):
        raise ValueError(
            f"{path}: expected the names of the columns in the first line, found numbers "
            f"({first.strip()[:40]}); write a line such as label,score above them"
        )
    _check_names(str(path), head)

    def blocks(names: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        places = [head.index(name) for name in names]
        step = max(1, _CELLS // len(head))
        with _explained(path), path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter)
            next(reader)
            rows = (row for row in reader if row)
            while block := list(itertools.islice(rows, step)):
                for row in block:
                    if len(row) != len(head):
                        raise ValueError(
                            f"{path}: expected {len(head)} cells as in the head, found {len(row)} "
                            f"in the row {','.join(row)[:60]!r}; quote text that has a comma"
                        )
                yield {
                    name: np.array([row[place] for row in block], object)
                    for name, place in zip(names, places, strict=True)
                }

    return Source(str(path), head, None, blocks)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path) -> Source:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{path}: Parquet needs pyarrow, which is not installed: {_EXTRA}; or give CSV"
        ) from error
    import pyarrow as pa

    with _explained(path):
        try:
            head = parquet.ParquetFile(path).schema_arrow.names
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path}: the file is no Parquet ({error})") from error

    def blocks(names: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        file = parquet.ParquetFile(path)
        step = max(1, _CELLS // max(1, len(names)))
        for batch in file.iter_batches(step, columns=list(names)):
            yield {name: _from_arrow(batch.column(name)) for name in names}

    _check_names(str(path), head)
    return Source(str(path), head, None, blocks)


def _from_arrow(column: Any) -> np.ndarray:
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    if getattr(column.type, "tz", None) is not None:
        import pyarrow.compute as compute

        column = compute.local_timestamp(column)  # the clock that it shows
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _npz(path: Path) -> Source:
    """The arrays of one or two dimensions; other ones are no columns, and are not read."""
    with explain_damage(f"{path}: the file", _WRITE_AGAIN), zipfile.ZipFile(path) as file:
        names = [name for name in file.namelist() if name.endswith(".npy")]
        members = {name[:-4]: _Member.of(file, name) for name in names}
    flat: dict[str, tuple[str, int | None]] = {}
    for key, member in members.items():
        if len(member.shape) == 2:
            flat |= {f"{_singular(key)}_{k}": (key, k) for k in range(member.shape[1])}
        elif len(member.shape) == 1:
            flat[key] = key, None
    _check_names(str(path), list(flat))

    def blocks(names: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        wanted = {flat[name][0]: members[flat[name][0]] for name in names}
        n = _one_length(str(path), {key: member.shape[0] for key, member in wanted.items()})
        step = max(1, _CELLS // sum(member.width for member in wanted.values()))
        with (
            explain_damage(f"{path}: the file", _WRITE_AGAIN),
            zipfile.ZipFile(path) as file,
            ExitStack() as opened,
        ):
            streams = {key: opened.enter_context(file.open(f"{key}.npy")) for key in wanted}
            readers = {key: member.blocks(streams[key], step) for key, member in wanted.items()}
            for _ in range(0, n, step):
                arrays = {key: next(reader) for key, reader in readers.items()}
                found = ((name, *flat[name]) for name in names)
                yield {
                    name: arrays[key] if k is None else arrays[key][:, k] for name, key, k in found
                }

    return Source(str(path), list(flat), None, blocks)


class _Member(NamedTuple):
    """What a .npy file says of its array."""

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
            raise ValueError(f"{name} is not as large as it says")
        return member

    @property
    def width(self) -> int:
        return max(1, math.prod(self.shape[1:]))

    def blocks(self, stream: Any, step: int) -> Iterator[np.ndarray]:
        """So many rows at a time; all at once where columns stand one after the other."""
        if self.dtype.hasobject:
            raise ValueError("it holds Python's objects, which are not read")
        stream.read(self.start)
        n = self.shape[0]
        if self.by_column and self.width > 1:
            rows = stream.read(n * self.width * self.dtype.itemsize)
            whole = np.frombuffer(rows, self.dtype).reshape(self.shape, order="F")
            yield from (whole[start : start + step] for start in range(0, n, step))
            return
        for start in range(0, n, step):
            count = min(step, n - start)
            rows = stream.read(count * self.width * self.dtype.itemsize)
            yield np.frombuffer(rows, self.dtype).reshape(count, *self.shape[1:])


def _columns(name: str, columns: Mapping[str, Any]) -> Source:
    """Arrays that are there; one of shape (N, K) becomes K columns, name_0 and so on.

    Those of other shapes are no columns, and those that nobody asks for may have any length.
    """
    flat: dict[str, np.ndarray] = {}
    for key, column in columns.items():
        try:
            if isinstance(column, np.ma.MaskedArray):
                hidden, column = np.ma.getmaskarray(column), column.data.astype(object)
                column[hidden] = None
            array = np.asarray(column)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}") from error
        if array.ndim == 2:
            flat |= {f"{_singular(key)}_{k}": array[:, k] for k in range(array.shape[1])}
        elif array.ndim == 1:
            flat[key] = array
    _check_names(name, list(flat))

    def blocks(names: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        n = _one_length(name, {each: len(flat[each]) for each in names})
        step = max(1, _CELLS // max(1, len(names)))
        for start in range(0, n, step):
            yield {each: flat[each][start : start + step] for each in names}

    return Source(name, list(flat), None, blocks)


def _one_length(name: str, lengths: dict[str, int]) -> int:
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name}: expected columns of one length, found {lengths}")
    return next(iter(lengths.values()))


def _singular(name: str) -> str:
    """As a class's column would be called, of an array that is called "probs" or "logits"."""
    return name[:-1] if name.lower() in ("probs", "logits", "scores") else name


def _frame(frame: Any) -> Source:
    try:
        import narwhals
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"frame: a {type(frame).__name__} needs narwhals, which is not installed: {_EXTRA}; or "
            "give a dictionary of arrays"
        ) from error
    frame = frame.collect() if hasattr(frame, "collect") else frame
    try:
        known = narwhals.from_native(frame, eager_only=True)
        columns = {str(column.name): _from_narwhals(column) for column in known.iter_columns()}
    except narwhals.exceptions.NarwhalsError as error:
        raise ValueError(f"frame: expected rows with named columns ({error})") from error
    except TypeError as error:
        raise ValueError(
            f"frame: expected a path, a data frame or a dictionary of arrays, found "
            f"{type(frame).__name__}"
        ) from error
    return _columns("a data frame", columns)


def _from_narwhals(column: Any) -> np.ndarray:
    if getattr(column.dtype, "time_zone", None) is not None:
        column = column.dt.replace_time_zone(None)  # the clock that it shows
    return np.asarray(column.to_numpy())


def _check_names(name: str, head: Sequence[str]) -> None:
    if not head:
        raise ValueError(f"{name}: there are no columns; give a label and a score at least")
    twice = sorted({column for column in head if head.count(column) > 1})
    if twice:
        raise ValueError(f"{name}: expected a name for each column, found {twice[0]!r} twice")


class _explained:
    """What goes wrong while a text is read, as a ValueError that names the file."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, UnicodeDecodeError):
            raise ValueError(
                f"{self.path}: expected UTF-8, found other bytes; save the file as UTF-8"
            ) from error
        if isinstance(error, csv.Error):
            raise ValueError(f"{self.path}: the file is no CSV ({error})") from error
