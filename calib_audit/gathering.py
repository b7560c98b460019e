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

from calib_audit.class_columns import columns_of
from calib_audit.columns import Columns
from calib_audit.exact_sums import ExactSums
from calib_audit.file_sums import FileSums, How, sums_of, sums_of_file
from calib_audit.files import open_source
from calib_audit.folder import Folder, FolderFile, is_folder, open_folder
from calib_audit.lots import MOST_DRAWN, SEED
from calib_audit.rows import Counts
from calib_audit.source import Source
from calib_audit.sql import are_sums, sums_in
from calib_audit.totals import Totals

__all__ = ["Gathered", "gather", "gather_file", "read_folder"]

_MOST_THREADS = 4  # more would wait for each other in Python


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
    totals = Totals(sums, SEED)
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
    return Gathered(source.name, columns, reader.counts, Totals(sums, SEED), facts)


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
    if how["n_bins"] != sums.bins.shape[-1]:
        raise ValueError(f"n_bins: expected 15, which the sums have, found {how['n_bins']}")
    check(columns)
    totals = Totals(sums, SEED)
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
