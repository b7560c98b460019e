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
_ENTRIES = {"networks", "factor", "values", "seeds", "recipe", "test_every_epoch"}


@dataclass(frozen=True)
class Run(Experiment):
    """An experiment that is planned.

    Attributes:
        recipe: see `calib_utils.records.Recipe`.
        test_every_epoch: whether the history has error, NLL and ECE on the test images.

    Example:
        >>> run = plan_grid("depth")[0]
        >>> run.network["depth"], run.recipe.epochs, run.training_images
        (8, 24, 8000)
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
    """The names of the grids in ``file``; by default, of the course's.

    Example:
        >>> grid_names()
        ['depth', 'width', 'batch-norm', 'weight-decay', 'nll']
    """
    return list(_read(file)["grids"])


def plan_grid(grid: str, protocol: str = "cpu", file: Path | str | None = None) -> list[Run]:
    """The runs of a grid, the first seed of each value before the second.

    Args:
        grid: its name.
        protocol: "cpu" or "gpu": on how many images the networks learn, and for how long.
        file: of the grids, in the form of the course's ``grids.toml``, the default.

    Raises:
        ValueError: if there is no such grid or protocol, or an entry of it makes no sense.

    Example:
        >>> runs = plan_grid("depth", protocol="cpu")
        >>> len(runs), runs[0].name
        (15, 'cifar_resnet.depth-8.seed-0')
    """
    plans = _read(file)
    for name, value in (("grid", grid), ("protocol", protocol)):
        if value not in plans[f"{name}s"]:
            known = ", ".join(plans[f"{name}s"])
            raise ValueError(f"{name}: there is no {name} {value!r}; choose one of {known}")
    common, entries = plans["protocols"][protocol], plans["grids"][grid]
    entries = {"seeds": plans["seeds"]} | entries | entries.get(protocol, {})
    if unknown := entries.keys() - _ENTRIES - plans["protocols"].keys():
        raise ValueError(f"grid: {grid!r} has unknown entries {sorted(unknown)}")
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


def _recipe(settings: dict[str, Any]) -> Recipe:
    if unknown := settings.keys() - {field.name for field in fields(Recipe)}:
        raise ValueError(f"recipe: there are no settings {sorted(unknown)}")
    return Recipe(**settings | {"milestones": tuple(settings["milestones"])})


def _read(file: Path | str | None) -> dict[str, Any]:
    with Path(file or _FILE).open("rb") as opened:
        return tomllib.load(opened)
