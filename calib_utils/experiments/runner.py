"""Make the runs of grids, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calib_utils.experiments.grids import Run
from calib_utils.experiments.one_run import has_record, run_experiment
from calib_utils.training.progress import progress_bars


def run_grid(
    runs: Sequence[Run],
    folder: Path | str,
    records: Path | str | None = None,
    *,
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
        device: "cpu" or "cuda"; the GPU if there is one, by default.
        progress: whether to show a bar for the grid, and one for the run.

    Returns:
        For each run that failed, its grid and name, as "grid/name", and the error.

    Raises:
        ValueError: if a record exists that was made with different settings.
        Exception: the error of a grid's first run, with a note that names the run.
    """
    missing = [run for run in runs if not has_record(run, records)]
    first_of_grid = {run.grid: run.name for run in reversed(runs)}
    failed = {}
    with progress_bars(progress)(
        desc="runs", initial=len(runs) - len(missing), total=len(runs), unit="run"
    ) as bar:
        for run in missing:
            bar.set_postfix_str(run.name)
            key = f"{run.grid}/{run.name}"
            try:
                run_experiment(run, folder, records, device=device, progress=progress)
            except Exception as error:
                if run.name == first_of_grid[run.grid]:
                    error.add_note(
                        f"{key} failed, the first run of its grid: the other runs are not made"
                    )
                    raise
                failed[key] = f"{type(error).__name__}: {error}"
            bar.update()
    return failed
