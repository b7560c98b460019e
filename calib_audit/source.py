"""Rows with named columns, read a block at a time: arrays, data frames, CSV, Parquet and NPZ."""

from __future__ import annotations

import atexit
import csv
import hashlib
import math
import re
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_audit.column_types import WRITE_NUMBERS, is_number
from calib_audit.formatting import printable
from calib_utils.predictions.arrays import is_tensor, plain_array
from calib_utils.predictions.checks import check_rows
from calib_utils.records.npz import explain_damage

EXTRA = "which is not installed: pip install jinja2 matplotlib narwhals pyarrow tqdm"
_BFLOAT16 = "bfloat16", "torch.bfloat16"
_SCORES = ("prob", "probs", "logit", "logits", "score", "scores")  # names of arrays of predictions
_CELLS = 2_000_000  # in a block: a few hundred megabytes as text
_BYTES = 1 << 22  # of text that is read at once, which also limits the length of a row
_LONGEST = 100_000  # bytes of a cell
_TOO_LONG = "that is too long for a table; is a quotation mark left open?"
_BUFFER = 1 << 20  # bytes of a compressed column
_WITH_COMMA = r"^\s*([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\s*$"
_WITH_POINT = r"^\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_WRITE_AGAIN = "write it again, with numpy.savez"
_SUFFIXES = ".csv, .parquet or .npz"

Block = dict[str, np.ndarray]
Blocks = Callable[[Sequence[str]], Iterator[Block]]


class Source(NamedTuple):
    """Rows with named columns.

    Attributes:
        name: of the file, or a description of another source.
        columns: their names.
        sha256: of the file's bytes; None for a data frame.
        blocks: a function that takes names of columns and yields a block of rows at a time, with
            one array of shape (n,) for each column.
        bfloat16: the columns whose numbers came in this type, which NumPy does not have.
        words: whether all cells are text, so that a word such as "NA" stands for a missing label.
    """

    name: str
    columns: list[str]
    sha256: str | None
    blocks: Blocks
    bfloat16: frozenset[str] = frozenset()
    words: bool = False


def rows_of_block(width: int) -> int:
    """The number of rows in a block, if each row has ``width`` cells."""
    return max(1, _CELLS // max(1, width))


def with_checked_names(source: Source) -> Source:
    """The source with printable names, all of them different.

    Raises:
        ValueError: if there are no columns, or two of the same name.
    """
    head = [printable(name) for name in source.columns]
    if not head:
        raise ValueError(f"{source.name}: there are no columns; give a label and a score at least")
    twice = sorted(name for name, times in Counter(head).items() if times > 1)
    if twice:
        raise ValueError(
            f"{source.name}: expected a name for each column, found {twice[0]!r} twice"
        )
    if head == source.columns:
        return source
    given = dict(zip(head, source.columns, strict=True))

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        for block in source.blocks([given[name] for name in names]):
            yield {name: block[given[name]] for name in names}

    narrow = frozenset(map(printable, source.bfloat16))
    return source._replace(columns=head, blocks=blocks, bfloat16=narrow)


def source_of_arrays(
    name: str,
    shapes: Mapping[str, tuple[int, ...]],
    read: Callable[[Sequence[str], int, int], Iterator[Block]],
    bfloat16: Container[str] = (),
) -> Source:
    """Arrays as columns; an array of shape (N, K) becomes K columns, name_0 and so on.

    Arrays of other shapes are ignored, except those named as predictions, and arrays that nobody
    asks for may have any length.

    Args:
        name: of the source.
        shapes: of each array.
        read: takes names of arrays, their number of rows, and the number of rows in a block.
        bfloat16: names of arrays whose numbers came in this type.
    """
    flat: dict[str, tuple[str, int | None]] = {}
    for key, shape in shapes.items():
        if len(shape) == 2:
            flat |= {f"{_singular(key)}_{k}": (key, k) for k in range(shape[1])}
        elif len(shape) == 1:
            flat[key] = key, None
        elif len(shape) > 2 and key.lower() in _SCORES:
            raise ValueError(
                f"{key}: expected shape (N,) or (N, K), found {shape}; of an ensemble "
                "(member, N, K) give the mean of the members' probabilities, and of other shapes "
                "a row for each label"
            )

    def blocks(names: Sequence[str]) -> Iterator[Block]:
        wanted = list(dict.fromkeys(flat[each][0] for each in names))
        lengths = {key: shapes[key][0] for key in wanted}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{name}: expected columns of one length, found {lengths}")
        step = rows_of_block(sum(_width(shapes[key]) for key in wanted))
        for arrays in read(wanted, lengths[wanted[0]], step):
            places = ((each, *flat[each]) for each in names)
            yield {each: arrays[key] if k is None else arrays[key][:, k] for each, key, k in places}

    narrow = frozenset(each for each, (key, _) in flat.items() if key in bfloat16)
    return Source(name, list(flat), None, blocks, narrow)


def source_of_dictionary(given: Mapping[str, Any]) -> Source:
    """Arrays, lists, tensors or columns of a frame, by name.

    Raises:
        ValueError: if one of them is none of these, or is indexed in another order.
    """
    arrays: dict[str, np.ndarray] = {}
    narrow = {key for key, one in given.items() if str(getattr(one, "dtype", "")) in _BFLOAT16}
    indexed = [key for key, column in given.items() if hasattr(column, "iloc")]
    for key in indexed[1:]:
        check_rows(given[indexed[0]], given[key], key, indexed[0])
    for key, column in given.items():
        try:
            if is_tensor(column) or key in narrow:
                column = plain_array(column, key)
            if isinstance(column, np.ma.MaskedArray):
                hidden, column = np.ma.getmaskarray(column), column.data.astype(object)
                column[hidden] = None
            arrays[key] = np.asarray(column)
            if arrays[key].dtype.kind == "T":  # texts of any length, which nothing else casts
                arrays[key] = arrays[key].astype(object)
        except (ValueError, TypeError, RuntimeError) as error:
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}") from error
        if arrays[key].shape == () and arrays[key].dtype == object:  # such as a generator
            raise ValueError(f"{key}: expected an array, found {type(column).__name__}")

    def read(wanted: Sequence[str], n: int, step: int) -> Iterator[Block]:
        for start in range(0, n, step):
            yield {key: arrays[key][start : start + step] for key in wanted}

    shapes = {key: one.shape for key, one in arrays.items()}
    return source_of_arrays("a dictionary", shapes, read, narrow)


def source_of_frame(frame: Any) -> Source:
    """A data frame that narwhals supports.

    Raises:
        ModuleNotFoundError: if narwhals is not installed.
        ValueError: if it is none.
    """
    try:
        import narwhals
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"frame: a {type(frame).__name__} needs narwhals, {EXTRA}; or give a dictionary of "
            "arrays"
        ) from error
    frame = frame.read_all() if hasattr(frame, "read_all") else frame  # Arrow's reader of batches
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


def _singular(name: str) -> str:
    """The name of one class's column in an array named "probs" or "logits"."""
    return name[:-1] if name.lower() in _SCORES and name.lower().endswith("s") else name


def _width(shape: tuple[int, ...]) -> int:
    return shape[1] if len(shape) == 2 else 1


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
        source = source_of_dictionary({str(name): column for name, column in data.items()})
    else:
        source = source_of_frame(data)
    return with_checked_names(source)


def _file(path: Path) -> Source:
    if path.is_dir():
        raise ValueError(f"{path}: expected a file, found a folder; give a {_SUFFIXES}")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.stat().st_size == 0:
        raise ValueError(f"{path}: the file is empty; give one with a head and rows")
    readers = {".csv": _csv, ".tsv": _csv, ".parquet": parquet_source, ".npz": _npz}
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


def _csv(path: Path) -> Source:
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
        refused, marked = list[Any](), dict[str, str]()

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
                cells = {name: batch.column(name) for name in names}
                if delimiter in ";\t":
                    cells = _with_points(cells, marked, path)
                yield {name: from_arrow(column) for name, column in cells.items()}
        except pa.ArrowInvalid as error:
            raise ValueError(f"{path}: {_explained(str(error), refused)}") from error

    return Source(str(path), head, None, blocks, words=True)


def _with_points(cells: Mapping[str, Any], marked: dict[str, str], path: Path) -> dict[str, Any]:
    """Numbers with a decimal comma, as files with semicolons or tabs have them, with a point.

    Where any number has a point, one of the two marks parts thousands: then commas stay, and are
    refused where numbers are read.

    Args:
        cells: columns of text.
        marked: the column in which a number with a comma, or with a point, was first found.
        path: of the file, for messages.

    Raises:
        ValueError: for a point where commas of an earlier block were taken for decimal ones.
    """
    import pyarrow.compute as compute

    for name, column in cells.items():
        if "." not in marked:
            pointed = compute.match_substring_regex(column, _WITH_POINT)
            marked |= {".": name} if compute.any(pointed).as_py() else {}
    if "." in marked and "," in marked:
        raise ValueError(
            f"{path}: found numbers with a comma in {marked[',']!r}, and with a point in "
            f"{marked['.']!r}; {WRITE_NUMBERS}"
        )
    if "." in marked:
        return dict(cells)
    found = {
        name: compute.replace_substring_regex(column, _WITH_COMMA, r"\1.\2")
        for name, column in cells.items()
    }
    for name, column in found.items():
        if not column.equals(cells[name]):
            marked.setdefault(",", name)
    return found


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
        pickled = dtype.hasobject  # in any size, which matters to nobody who does not ask for it
        if min(shape, default=0) < 0 or (size != file.getinfo(name).file_size and not pickled):
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
