"""All that a report takes of the rows of one file or a folder, or of sums from SQL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np

from calib_audit.column_types import Coded, coded, in_spans, name_of, occurring
from calib_audit.columns import Columns, choose_columns
from calib_audit.exact_sums import ExactSums
from calib_audit.folder import Folder, FolderFile, is_folder, open_folder
from calib_audit.lots import MOST_DRAWN, SEED, Lots
from calib_audit.rows import Counts, Rows, RowsReader
from calib_audit.source import Source, from_arrow, open_source
from calib_audit.sql import are_sums, sums_in
from calib_audit.totals import Totals

_MOST_THREADS = 4  # more would wait for each other in Python
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


class Gathered(NamedTuple):
    """What was read.

    Attributes:
        name: of the data.
        columns: which were read.
        counts: of the rows that needed attention.
        totals: of the rows.
        facts: what tells these rows from others.
        refused: a sentence for each file of a folder that was left out.
        summed: whether the sums are all that is known.
    """

    name: str
    columns: Columns
    counts: Counts
    totals: Totals
    facts: dict[str, str]
    refused: Sequence[str] = ()
    summed: bool = False


def gather(
    data: Any,
    named: Mapping[str, Any],
    how: Mapping[str, Any],
    check: Callable[[Columns], None],
    *,
    skip_bad_files: bool,
) -> Gathered:
    """Read a file, a data frame or a folder.

    Args:
        data, skip_bad_files: as for a report.
        named: the columns, as for a report.
        how: fields of `How`: those that are known before the data.
        check: looks at the columns before anything is read.
    """
    if not is_folder(data):
        if skip_bad_files:
            raise ValueError(
                "skip_bad_files: expected with a folder of Parquet files, found it with one file; "
                "leave it out"
            )
        source = open_source(data)
        if are_sums(source):
            return _gather_sums(source, named, how, check)
        return gather_file(source, named, how, check)
    folder = open_folder(data, named, skip_bad_files)
    columns, files = folder.columns, folder.files
    check(columns)
    known = How(columns, **how)
    all_count = not (known.drop or skip_bad_files or columns.weight)
    known = known._replace(
        few=not all_count
        or columns.blocks is not None
        or sum(file.rows for file in files) <= MOST_DRAWN,
        heaviest=_heaviest((file.weights for file in files), columns),
    )
    name, counts, sums, refused = read_folder(folder, known, skip_bad_files=skip_bad_files)
    totals = Totals(sums)
    return Gathered(name, columns, counts, totals, {"SHA-256 of the sums": totals.digest}, refused)


def gather_file(
    source: Source,
    named: Mapping[str, Any],
    how: Mapping[str, Any],
    check: Callable[[Columns], None] = lambda columns: None,
) -> Gathered:
    """Read one source; its sums are those of a folder with one file."""
    columns = choose_columns(source.columns, source=source, **named)
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
    return Gathered(source.name, columns, reader.counts, Totals(sums), facts)


def _gather_sums(
    source: Source,
    named: Mapping[str, Any],
    how: Mapping[str, Any],
    check: Callable[[Columns], None],
) -> Gathered:
    """The sums that a database has made, which say themselves what they are of."""
    given = [name for name, value in named.items() if value]
    if given:
        raise ValueError(
            f"{given[0]}: expected in the command that prints the query, found it with the sums "
            "that the query gave; leave it out here"
        )
    columns, sums, counts = sums_in(source, how["drop"])
    counts.check(source.name, columns)
    if how["n_bins"] != sums.bins.shape[-1]:
        raise ValueError(f"n_bins: expected 15, which the sums have, found {how['n_bins']}")
    check(columns)
    totals = Totals(sums)
    facts = {"SHA-256 of the sums": totals.digest}
    return Gathered(source.name, columns, counts, totals, facts, summed=True)


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


def read_folder(
    folder: Folder,
    how: How,
    *,
    skip_bad_files: bool = False,
) -> tuple[str, Counts, ExactSums, list[str]]:
    """Read all files and add up their sums, which do not depend on the order.

    Args:
        folder: as it was opened.
        how: what is read.
        skip_bad_files: whether bad files are left out, and not an error.

    Returns:
        The folder's name with the number of its files, what was counted, the sums, and a sentence
        for each file that was left out.

    Raises:
        KeyboardInterrupt: with how far it came, if it was interrupted.
        ValueError: for a bad file, or if there are no rows.
    """
    counts, sums, refused, done = Counts(), how.no_sums(), list(folder.refused), 0
    with _bar(sum(file.rows for file in folder.files)) as tell:
        try:
            for found in _in_threads(folder.files, how, tell):
                if found.problem and not skip_bad_files:
                    raise ValueError(
                        f"{found.problem} ({_progress(folder, done, counts)}; leave such files "
                        "out with skip_bad_files=True)"
                    )
                refused += [found.problem] if found.problem else []
                sums.merge(found.sums)
                counts.add(found.counts)
                done += 1
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_progress(folder, done, counts)) from None
    if counts.read == counts.dropped and refused:
        raise ValueError(f"{folder.name}: no rows are left; {refused[0]}")
    if counts.read > counts.dropped and not sums.n:
        raise ValueError(f"{how.columns.weight}: expected a weight above 0, found none")
    n = len(folder.files) + len(folder.refused) - len(refused)
    name = f"{folder.name} ({n:,} {'file' if n == 1 else 'files'})"
    counts.check(name, how.columns)
    return name, counts, sums, sorted(refused)


def _progress(folder: Folder, done: int, counts: Counts) -> str:
    return f"after {done:,} of {len(folder.files):,} files and {counts.read:,} rows"


def _in_threads(
    files: Sequence[FolderFile], how: How, tell: Callable[[int], Any]
) -> Iterator[FileSums]:
    """The sums of each file, in the order of the files."""
    stopped, one = Event(), Lock()

    def told(rows: int) -> None:
        if stopped.is_set():
            raise CancelledError
        with one:
            tell(rows)

    cores = min(_MOST_THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(cores) as pool:
        waiting: deque[Future[FileSums]] = deque()
        try:
            for file in files:
                waiting.append(pool.submit(sums_of_file, file, how, told))
                if len(waiting) > 2 * cores:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _bar(rows: int) -> Iterator[Callable[[int], Any]]:
    """A bar of rows, with their number a second and the time that is left, if anybody looks."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        yield lambda rows: None
        return
    with tqdm(total=rows, unit=" rows", unit_scale=True, disable=None, leave=False) as bar:
        yield bar.update


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


def sums_of_file(file: FolderFile, how: How, tell: Callable[[int], Any]) -> FileSums:
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
    named = {name: name_of(file.keys[name]) for name in columns.of_groups if name in file.keys}
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
                        for name, text in (file.keys | named).items()
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
