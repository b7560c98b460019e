"""Make the runs of grids, one after the other or shared among processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from calib_utils.experiments.grids import Run
from calib_utils.experiments.one_run import has_record, run_experiment
from calib_utils.training.progress import progress_bars


def run_grid(
    runs: Sequence[Run],
    folder: Path | str,
    records: Path | str | None = None,
    *,
    jobs: int = 1,
    device: str | None = None,
    progress: bool = True,
) -> dict[str, str]:
    """Make the records of ``runs`` that do not exist yet.

    If the first run of a grid fails, everything stops with its error, because the others would
    probably fail for the same reason. A later run that fails does not stop the others. Runs that
    train the same network train it once.

    Args:
        runs: from `grids.plan_grid`.
        folder: for the checkpoints, from which a run that was stopped continues.
        records: for the records; the course's own by default.
        jobs: runs at a time on this machine, by joblib. They take turns with its GPUs. If one of
            the processes is killed, for example for lack of memory, the remaining runs are made one
            at a time.
        device: "cpu" or "cuda"; the GPUs if there are any, by default.
        progress: whether to show a bar for the grid, and one for the run if there is one at a
            time.

    Returns:
        For each run that failed, its grid and name, as "grid/name", and the error.

    Raises:
        ValueError: if a record exists that was made with different settings.
        Exception: the error of a grid's first run, with a note that names the run.
    """
    folder = Path(folder).absolute()
    records = Path(records).absolute() if records else None
    missing = [run for run in runs if not has_record(run, records)]
    first = {run.training: run for run in reversed(missing)}
    repeats = [run for run in missing if run is not first[run.training]]
    trained = [run for run in missing if run is first[run.training]]
    first_of_grid = {run.grid: run.name for run in reversed(runs)}
    alone = jobs == 1

    def attempt(place: int, run: Run) -> Any:
        decisive = run.name == first_of_grid[run.grid]
        return delayed(_attempt)(run, folder, records, device, place, progress and alone, decisive)

    failed = {}
    with (
        _workers(),
        progress_bars(progress)(
            desc="runs", initial=len(runs) - len(missing), total=len(runs), unit="run"
        ) as bar,
    ):
        # Two runs must not train one network at the same time, so the second waits for the first.
        for some in (trained, repeats):
            if alone and some:
                bar.set_postfix_str(some[0].name)
            tasks = {f"{run.grid}/{run.name}": attempt(n, run) for n, run in enumerate(some)}
            names = [run.name for run in some[1:]] if alone else []
            for done, (key, problem) in enumerate(_as_they_end(tasks, jobs)):
                if problem:
                    failed[key] = problem
                bar.set_postfix_str(names[done] if done < len(names) else key)
                bar.update()
    return failed


def _attempt(
    run: Run,
    folder: Path,
    records: Path | None,
    device: str | None,
    place: int,
    progress: bool,
    decisive: bool,
) -> tuple[str, str]:
    """Make one record; returns "grid/name", and the error if there was one.

    Raises:
        Exception: if the error does not concern this run alone.
    """
    if device != "cpu" and torch.cuda.device_count() > 1:
        torch.cuda.set_device(place % torch.cuda.device_count())
    key = f"{run.grid}/{run.name}"
    try:
        run_experiment(run, folder, records, device=device, progress=progress)
    except Exception as error:
        if decisive:
            error.add_note(f"{key} failed, the first run of its grid: the other runs are not made")
            raise
        return key, f"{type(error).__name__}: {error}"
    return key, ""


def _as_they_end(tasks: dict[str, Any], jobs: int) -> Iterator[tuple[str, str]]:
    """The result of `_attempt` for each of ``tasks``, with its key."""
    left = dict(tasks)
    try:
        for key, problem in _parallel(left.values(), jobs):
            del left[key]
            yield key, problem
    except BrokenExecutor:  # a process was killed, in an unknown run
        for key, task in left.items():
            try:
                yield from _parallel([task], 2)  # in its own process
            except BrokenExecutor:
                yield key, "its process was killed, perhaps for lack of memory"


def _parallel(tasks: Iterable[Any], jobs: int) -> Iterator[tuple[str, str]]:
    return iter(Parallel(jobs, return_as="generator_unordered", batch_size=1)(list(tasks)))


@contextmanager
def _workers() -> Iterator[None]:
    """Processes of this machine, none of which goes on alone."""
    try:
        with parallel_config(backend="loky"):
            yield
    except BaseException:
        get_reusable_executor().shutdown(wait=False, kill_workers=True)
        raise
