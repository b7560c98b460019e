"""The plan of the experiments: the runs of a grid, as ``grids.toml`` describes them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from calib_utils.records import Experiment, Recipe
from calib_utils.records.recipe import completed_recipe

__all__ = ["Run", "grid_names", "plan_grid"]

_FILE = Path(__file__).with_name("grids.toml")
_OF_PROTOCOL = {"dataset", "training_images", "recipe"}
_OF_GRID = {"networks", "factor", "values", "seeds", "recipe", "test_every_epoch"}


@dataclass(frozen=True)
class Run(Experiment):
    """An experiment that is planned.

    Attributes:
        recipe: see `training.Recipe`.
        test_every_epoch: whether the history has error, NLL and ECE on the test images.
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
        places = {"grid", "protocol", "name", "factor", "value"}
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
        ValueError: if there is no such grid or protocol, or an entry of it is missing or makes
            no sense.
    """
    common, entries = _entries(_read(file), grid, protocol)
    settings = common["recipe"] | entries.get("recipe", {})
    factor = entries.get("factor", "")
    runs = []
    for seed, network, value in product(
        entries["seeds"], entries["networks"], entries["values"] if factor else [None]
    ):
        own = {factor: value} if factor else {}
        of_recipe = factor in {field.name for field in fields(Recipe)}
        level = f".{factor}-{str(value).lower()}" if factor else ""
        runs.append(
            Run(
                grid=grid,
                protocol=protocol,
                name=f"{network['name']}{level}.seed-{seed}",
                network=network | ({} if of_recipe else own),
                factor=factor,
                value=value,
                seed=seed,
                dataset=common["dataset"],
                training_images=common["training_images"],
                recipe=_recipe(settings | (own if of_recipe else {})),
                test_every_epoch=entries.get("test_every_epoch", False),
            )
        )
    if len({run.name for run in runs}) < len(runs):
        raise ValueError(f"grid: {grid!r} has two runs of one name: {[run.name for run in runs]}")
    return runs


def _entries(
    plans: dict[str, Any], grid: str, protocol: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the protocol says, and what the grid says under it; both complete."""
    for name, value in (("grid", grid), ("protocol", protocol)):
        if value not in plans[f"{name}s"]:
            known = ", ".join(plans[f"{name}s"])
            raise ValueError(f"{name}: there is no {name} {value!r}; choose one of {known}")
    common, entries = plans["protocols"][protocol], plans["grids"][grid]
    if "seeds" in plans:
        entries = {"seeds": plans["seeds"]} | entries
    entries = entries | entries.get(protocol, {})
    _require(f"protocol: {protocol!r}", common, _OF_PROTOCOL)
    factor = {"values"} if entries.get("factor") else set()
    _require(f"grid: {grid!r}", entries, {"networks", "seeds"} | factor)
    if unknown := entries.keys() - _OF_GRID - plans["protocols"].keys():
        raise ValueError(f"grid: {grid!r} has unknown entries {sorted(unknown)}")
    if "values" in entries and not factor:
        raise ValueError(f"grid: {grid!r} has values, and lacks the factor that takes them")
    for network in entries["networks"]:
        _require(f"grid: {grid!r}: a network", network, {"name"})
    return common, entries


def _require(what: str, entries: dict[str, Any], needed: set[str]) -> None:
    if missing := needed - entries.keys():
        raise ValueError(
            f"{what} lacks {', '.join(sorted(missing))}; it has {', '.join(entries) or 'no entry'}"
        )


def _recipe(settings: dict[str, Any]) -> Recipe:
    _require("recipe: it", settings, {"epochs", "milestones"})
    if unknown := settings.keys() - {field.name for field in fields(Recipe)}:
        raise ValueError(f"recipe: there are no settings {sorted(unknown)}")
    return Recipe(**settings | {"milestones": tuple(settings["milestones"])})


def _read(file: Path | str | None) -> dict[str, Any]:
    with Path(file or _FILE).open("rb") as opened:
        plans = tomllib.load(opened)
    _require(f"file: {file or _FILE.name}", plans, {"grids", "protocols"})
    return plans
