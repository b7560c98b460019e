"""The cost of the runs of grids, estimated by timing one epoch of each network."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from calib_utils.experiments.grids import Run
from calib_utils.experiments.one_run import epochs_done, time_run
from calib_utils.training.timing import duration

__all__ = ["Cost", "estimate"]


@dataclass(frozen=True)
class Cost:
    """The cost of some runs, if they are made one after the other.

    Attributes:
        seconds: in all.
        sentences: one for each grid.
    """

    seconds: float
    sentences: list[str]


def estimate(
    runs: Sequence[Run], folder: Path | str, device: str | None, tqdm: Callable[..., Any]
) -> Cost:
    """Time one epoch for each network of ``runs`` on this machine, and multiply.

    A network whose epoch fails is left out; its runs will show the error.

    Args:
        runs: all of different trainings.
        folder: of the checkpoints, because epochs that are done are not counted.
        device: "cpu" or "cuda"; the GPU if there is one, by default.
        tqdm: shows how many networks have been timed.
    """
    networks = {_costs_the_same(run): run for run in runs}
    seconds = {
        key: _seconds_an_epoch(run, device)
        for key, run in tqdm(networks.items(), "timing an epoch of each network", leave=False)
    }
    total, sentences = 0.0, []
    for grid, members in groupby(sorted(runs, key=lambda run: run.grid), lambda run: run.grid):
        some = list(members)
        times = {run.name: seconds[_costs_the_same(run)] for run in some}
        known = [time for time in times.values() if time is not None]
        done = {run.name: epochs_done(run, folder) for run in some}
        needed = sum((run.recipe.epochs - done[run.name]) * (times[run.name] or 0) for run in some)
        total += needed
        epochs = _span([float(run.recipe.epochs) for run in some], "{:.0f}")
        parts = [f"{len(some)} run{'s' * (len(some) > 1)} of {epochs} epochs"]
        if any(done.values()):
            parts.append(f"{sum(done.values())} epochs are done")
        if known:
            parts += [f"one epoch takes {_span(known, '{:.1f}')} s", duration(needed)]
        if len(known) < len(some):
            parts.append(f"without {len(some) - len(known)} whose epoch failed")
        sentences.append(f"{grid}: {', '.join(parts)}")
    return Cost(total, sentences)


def _seconds_an_epoch(run: Run, device: str | None) -> float | None:
    try:
        return time_run(run, device)
    except Exception:
        return None


def _costs_the_same(run: Run) -> str:
    what = [run.network, run.recipe.batch_size, run.dataset, run.training_images, run.recipe.share]
    return json.dumps([*what, run.test_every_epoch], sort_keys=True)


def _span(values: Sequence[float], form: str) -> str:
    first, last = (form.format(value) for value in (min(values), max(values)))
    return first if first == last else f"{first} to {last}"
