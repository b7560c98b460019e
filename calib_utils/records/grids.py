"""The records of a grid: how its runs differ, and what they have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from calib_utils.predictions.checks import check_several
from calib_utils.records.experiments import ExperimentRecord, list_experiments, load_experiment
from calib_utils.records.names import training_set_name


def load_grid(grid: str, protocol: str, folder: Path | str | None = None) -> list[ExperimentRecord]:
    """Read the records of all runs of a grid, in the order of their names.

    Raises:
        ValueError: if there is none, or if a file is damaged.

    Example:
        >>> records = load_grid("width", "core")
        >>> sorted({record.value for record in records})
        [12, 24, 48]
    """
    names = list_experiments(grid, protocol, folder)
    if not names:
        raise ValueError(
            f"grid: there are no records of {grid!r} in the protocol {protocol!r}; make them with "
            f"python -m calib_utils.experiments --grid {grid} --protocol {protocol}"
        )
    return [load_experiment(grid, protocol, name, folder) for name in names]


def by_level(records: Iterable[ExperimentRecord]) -> dict[Any, list[ExperimentRecord]]:
    """The records of a grid by the value of its factor, from the lowest value up.

    Args:
        records: of one grid and protocol.

    Returns:
        For each value of the factor, its records by seed.

    Raises:
        ValueError: if there is no run, or they differ in more than factor and seed.

    Example:
        >>> levels = by_level(load_grid("width", "core"))
        >>> list(levels), [run.seed for run in levels[12]]
        ([12, 24, 48], [0, 1, 2])
    """
    runs = check_records(records, "records")
    records = sorted(runs, key=lambda r: (r.value, r.seed))
    if not records:
        raise ValueError("records: expected at least one run, found none")
    varied = dict.fromkeys(_varied(records))
    protocols = {
        (r.grid, r.network["name"], r.dataset, r.training_images, str(sorted(recipe.items())))
        for r, recipe in ((r, r.recipe | varied) for r in records)
    }
    if len(protocols) > 1:
        raise ValueError(f"records: expected runs of one protocol, found {sorted(protocols)}")
    levels: dict[Any, list[ExperimentRecord]] = {}
    for record in records:
        levels.setdefault(record.value, []).append(record)
    return levels


def check_records(records: Any, name: str) -> list[ExperimentRecord]:
    """Records of experiments as a list.

    Raises:
        ValueError: if something else is among them.
    """
    return check_several(records, name, ExperimentRecord, "records of experiments")


def describe_protocol(records: Iterable[ExperimentRecord]) -> str:
    """One line for below a figure: what all runs of a grid have in common.

    Args:
        records: of one grid and protocol.

    Raises:
        ValueError: if the runs differ in more than factor and seed.

    Example:
        >>> describe_protocol(load_grid("nll-and-error", "cpu")).partition(";")[0]
        'nll-and-error: 5 runs, seeds 0, 1, 2, 3, 4'
    """
    runs = [record for level in by_level(records).values() for record in level]
    first, recipe, seeds = runs[0], runs[0].recipe, sorted({r.seed for r in runs})
    varied = _varied(runs)
    drops = " and ".join(map(str, recipe["milestones"]))
    settings = {
        "epochs": f"{recipe['epochs']} epochs",
        "batch_size": f"batches of {recipe['batch_size']}",
        "learning_rate": f"learning rate {recipe['learning_rate']:g}",
        "milestones": f"divided by ten after epochs {drops}" if drops else "",
    }
    common = [text for name, text in settings.items() if text and name not in varied]
    decay = "" if "weight_decay" in varied else f"weight decay {recipe['weight_decay']:g}; "
    return (
        f"{first.grid}: {len(runs)} run{'s' * (len(runs) > 1)}, "
        f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}; "
        f"{training_set_name(first.dataset, first.training_images)}, "
        f"{', '.join(common)}; {decay}"
        f"{', '.join(sorted({r.hardware for r in runs}))}; "
        f"{', '.join(sorted({r.date for r in runs}))}"
    )


def _varied(records: Iterable[ExperimentRecord]) -> set[str]:
    """The settings that differ between the levels of a grid; a level may leave some unset."""
    return {name for record in records for name in (record.factor, *record.level)}
