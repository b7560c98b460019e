"""The sums of a folder of files, which are read here or on a cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any

from calib_utils.audit.exact_sums import ExactSums
from calib_utils.audit.file_sums import FileSums, How, sums_of_file
from calib_utils.audit.folder import Folder, FolderFile
from calib_utils.audit.rows import Counts

__all__ = ["as_they_end", "read_folder"]

_LOCAL_WORKERS = 2
# Has Dask's workers return memory to the system all the time and ask for it anew: twice the work.
_GIVES_BACK = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
_MOST_THREADS = 4  # more would wait for each other in Python


def read_folder(
    folder: Folder,
    how: How,
    *,
    scheduler: str | None = None,
    skip_bad_files: bool = False,
    progress: bool = False,
) -> tuple[str, Counts, ExactSums, list[str]]:
    """Read all files and add up their sums, which do not depend on the order.

    Args:
        folder: as it was opened.
        how: what is read.
        scheduler: the address of a Dask scheduler, or "local"; None to read the files here, as many
            at a time as there are cores. Workers need the files at the same paths.
        skip_bad_files: whether bad files are left out, and not an error.
        progress: whether a bar is shown, if anybody looks.

    Returns:
        The folder's name with the number of its files, what was counted, the sums, and a sentence
        for each file that was left out.

    Raises:
        KeyboardInterrupt: with how far it came, if it was interrupted.
        ModuleNotFoundError: if Dask is not installed.
        ValueError: for a bad file, or if there are no rows.
    """
    counts, sums, refused, done = Counts(), how.no_sums(), list(folder.refused), 0
    with _bar(sum(file.rows for file in folder.files), progress) as tell:
        try:
            for found in as_they_end(folder.files, how, scheduler, tell):
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


def as_they_end(
    files: Sequence[FolderFile], how: How, scheduler: str | None, tell: Callable[[int], Any]
) -> Iterator[FileSums]:
    """The sums of each file, as soon as they are known; for the arguments see `read_folder`."""
    if scheduler is None:
        yield from _in_threads(files, how, tell)
        return
    try:
        from distributed import KilledWorker, as_completed
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "scheduler: needs Dask, which is not installed: pip install distributed; without it "
            "the files are read here"
        ) from error
    with _client(scheduler) as client:
        futures = {client.submit(sums_of_file, file, how, pure=False): file for file in files}
        for future in as_completed(futures):
            try:
                found = future.result()
            except KilledWorker as error:
                raise ValueError(
                    f"{futures[future].name}: each worker that read this file was killed, as for "
                    "want of memory; give them more, or write smaller files"
                ) from error
            future.release()
            tell(futures[future].rows)
            yield found


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
def _client(scheduler: str) -> Iterator[Any]:
    import dask
    from distributed import Client, LocalCluster

    if scheduler != "local":
        try:
            client = Client(scheduler)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"scheduler: expected 'local' or the address of a Dask scheduler that runs, found "
                f"{scheduler!r} ({error})"
            ) from error
        with client:
            yield client
        return
    with (
        dask.config.set({_GIVES_BACK: None}),
        LocalCluster(
            n_workers=_LOCAL_WORKERS, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _bar(rows: int, shown: bool) -> Iterator[Callable[[int], Any]]:
    """A bar of rows, with their number a second and the time that is left."""
    if not shown:
        yield lambda rows: None
        return
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        yield lambda rows: None
        return
    with tqdm(total=rows, unit=" rows", unit_scale=True, disable=None, leave=False) as bar:
        yield bar.update
