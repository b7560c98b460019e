"""The plan of the experiments: the runs of a grid, as ``grids.toml`` describes them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from calib_utils.records import Experiment, Recipe
from calib_utils.records.recipe import completed_recipe

__all__ = ["Comparison", "Run", "grid_names", "plan_grid", "planned_comparisons"]

_FILE = Path(__file__).with_name("grids.toml")
_ENTRIES = {
    *("networks", "factor", "values", "levels", "seeds", "recipe", "training_images"),
    *("test_every_epoch", "comparisons"),
}


@dataclass(frozen=True, kw_only=True)
class Run(Experiment):
    """An experiment that is planned.

    Attributes:
        recipe: see `training.Recipe`.
        test_every_epoch: whether the history has error, NLL, ECE, bins and correctness on the
            test images, and the temperature.
    """

    recipe: Recipe
    test_every_epoch: bool

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what the run ends with, and where its record belongs, as JSON."""
        plan = {k: v for k, v in asdict(self).items() if k != "test_every_epoch"}
        recipe = plan["recipe"]
        return plan | {"recipe": recipe | {"milestones": list(recipe["milestones"])}}

    @property
    def training(self) -> str:
        """A name for what is trained; runs of several grids that train the same share it."""
        places = {"grid", "protocol", "name", "factor", "value", "level"}
        what = {k: v for k, v in self.settings.items() if k not in places}
        # What a later version adds to the recipe leaves the names of older runs as they were.
        defaults = completed_recipe({})
        what["recipe"] = {k: v for k, v in what["recipe"].items() if v != defaults[k]}
        text = json.dumps([what, self.test_every_epoch], sort_keys=True)
        return f"{self.network['name']}.{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def grid_names(file: Path | str | None = None) -> list[str]:
    """The names of the grids in ``file``; by default, of the course's."""
    return list(_read(file)["grids"])


def plan_grid(grid: str, protocol: str = "cpu", file: Path | str | None = None) -> list[Run]:
    """The runs of a grid, the first seed of each value before the second.

    Args:
        grid: its name.
        protocol: "cpu" or "gpu": on how many images the networks learn, and for how long.
        file: of the grids, in the form of the course's ``grids.toml``, the default.

    Raises:
        ValueError: if there is no such grid or protocol, or an entry of it makes no sense.
    """
    plans = _read(file)
    for name, value in (("grid", grid), ("protocol", protocol)):
        if value not in plans[f"{name}s"]:
            known = ", ".join(plans[f"{name}s"])
            raise ValueError(f"{name}: there is no {name} {value!r}; choose one of {known}")
    common = plans["protocols"][protocol]
    entries = {"seeds": plans["seeds"]} | _entries(plans, grid, protocol)
    if unknown := entries.keys() - _ENTRIES - plans["protocols"].keys():
        raise ValueError(f"grid: {grid!r} has unknown entries {sorted(unknown)}")
    settings = common["recipe"] | entries.get("recipe", {})
    factor = entries.get("factor", "")
    of_recipe = {field.name for field in fields(Recipe)}
    runs = []
    for seed, network, (value, level) in product(
        entries["seeds"], entries["networks"], _levels(entries)
    ):
        place = f".{factor}-{str(value).lower()}" if factor else ""
        runs.append(
            Run(
                grid=grid,
                protocol=protocol,
                name=f"{network['name']}{place}.seed-{seed}",
                network=network | {k: v for k, v in level.items() if k not in of_recipe},
                factor=factor,
                value=value,
                level=level,
                seed=seed,
                dataset=common["dataset"],
                training_images=entries.get("training_images", common["training_images"]),
                recipe=_recipe(settings | {k: v for k, v in level.items() if k in of_recipe}),
                test_every_epoch=entries.get("test_every_epoch", False),
            )
        )
    if len({run.name for run in runs}) < len(runs):
        raise ValueError(f"grid: {grid!r} has two runs of one name: {[run.name for run in runs]}")
    return runs


class Comparison(NamedTuple):
    """What was to be compared in a grid, written down before its runs.

    Attributes:
        first: a value of the factor.
        second: another one.
        metric: "error" or "ece".
        expected: what the metric is said to be at the second one: "higher" or "lower".
    """

    first: Any
    second: Any
    metric: str
    expected: str


def planned_comparisons(
    grid: str, protocol: str = "cpu", file: Path | str | None = None
) -> list[Comparison]:
    """The comparisons of a grid, as ``grids.toml`` fixes them; none for a grid without any."""
    return [Comparison(*row) for row in _entries(_read(file), grid, protocol)["comparisons"]]


def _entries(plans: dict[str, Any], grid: str, protocol: str) -> dict[str, Any]:
    entries: dict[str, Any] = plans["grids"][grid]
    return {"comparisons": []} | entries | entries.get(protocol, {})


def _levels(entries: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Each value of the factor, and the settings that it stands for."""
    if not entries.get("factor"):
        return [(None, {})]
    if "levels" in entries:
        return list(entries["levels"].items())
    return [(value, {entries["factor"]: value}) for value in entries["values"]]


def _recipe(settings: dict[str, Any]) -> Recipe:
    if unknown := settings.keys() - {field.name for field in fields(Recipe)}:
        raise ValueError(f"recipe: there are no settings {sorted(unknown)}")
    return Recipe(**settings | {"milestones": tuple(settings["milestones"])})


def _read(file: Path | str | None) -> dict[str, Any]:
    with Path(file or _FILE).open("rb") as opened:
        return tomllib.load(opened)
