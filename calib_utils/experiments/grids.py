"""The plan of the experiments: the runs of a grid, as ``grids.toml`` describes them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from calib_utils.records.experiments import Experiment
from calib_utils.records.names import METRICS
from calib_utils.records.recipe import Recipe, completed_recipe, recipe_settings

_FILE = Path(__file__).with_name("grids.toml")
_OF_PROTOCOL = {"dataset", "training_images", "recipe"}
_OF_GRID = {
    *("comparisons", "dataset", "factor", "forecasts", "levels", "made_by", "network", "recipe"),
    *("seeds", "test_every_epoch", "training_images", "values"),
}


@dataclass(frozen=True, kw_only=True)
class Run(Experiment):
    """An experiment that is planned.

    Attributes:
        recipe: see `calib_utils.training.Recipe`.
        test_every_epoch: whether the history has error, NLL, ECE, bins and correctness on the
            test images, and the temperature.

    Example:
        >>> run = plan_grid("depth", "core")[0]
        >>> run.network["blocks"], run.recipe.epochs, run.training_images
        (1, 10, 45000)
    """

    recipe: Recipe
    test_every_epoch: bool

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that determines the result of the run and the place of its record, as JSON."""
        plan = {k: v for k, v in asdict(self).items() if k != "test_every_epoch"}
        return plan | {"recipe": recipe_settings(self.recipe)}

    @property
    def training(self) -> str:
        """A name for what is trained; runs of several grids that train the same share it."""
        places = {"grid", "protocol", "name", "factor", "value", "level"}
        what = {k: v for k, v in self.settings.items() if k not in places}
        # Settings that a later version adds to the recipe do not change the names of older runs.
        defaults = completed_recipe({})
        what["recipe"] = {k: v for k, v in what["recipe"].items() if v != defaults[k]}
        text = json.dumps([what, self.test_every_epoch], sort_keys=True)
        return f"{self.network['name']}.{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def grid_names(file: Path | str | None = None) -> list[str]:
    """The names of the grids in ``file`` that can be trained; by default, of the course's.

    Example:
        >>> grid_names()[:4]
        ['depth', 'width', 'batch-norm', 'weight-decay']
    """
    return [name for name, entries in _read(file)["grids"].items() if "made_by" not in entries]


def plan_grid(grid: str, protocol: str = "cpu", file: Path | str | None = None) -> list[Run]:
    """The runs of a grid, the first seed of each value before the second.

    Args:
        grid: its name.
        protocol: such as "core": on how many images the networks learn, and for how long.
        file: of the grids, in the form of the course's ``grids.toml``, the default.

    Raises:
        ValueError: if there is no such grid or protocol, an entry of it is missing or unknown, or
            its networks are no longer trained by this module.

    Example:
        >>> runs = plan_grid("depth", protocol="core")
        >>> len(runs), runs[0].name
        (6, 'fast_resnet.blocks-1.seed-0')
    """
    common, entries = _entries(_read(file), grid, protocol)
    if "made_by" in entries:
        raise ValueError(
            f"grid: the networks of {grid!r} were trained by {entries['made_by']}, and this module "
            "trains them no more; their records can be read"
        )
    settings = common["recipe"] | entries.get("recipe", {})
    factor = entries.get("factor", "")
    of_recipe = {field.name for field in fields(Recipe)}
    runs = []
    network = entries["network"]
    for seed, (value, level) in product(entries["seeds"], _levels(entries)):
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
                dataset=entries.get("dataset", common["dataset"]),
                training_images=entries.get("training_images", common["training_images"]),
                recipe=_recipe(settings | {k: v for k, v in level.items() if k in of_recipe}),
                test_every_epoch=entries.get("test_every_epoch", False),
            )
        )
    if len({run.name for run in runs}) < len(runs):
        raise ValueError(f"grid: {grid!r} has two runs of one name: {[run.name for run in runs]}")
    return runs


class Comparison(NamedTuple):
    """A comparison in a grid, in the form that `calib_utils.comparing.judge` takes.

    Attributes:
        grid: its name.
        first: a value of the factor; or, in a grid that compares forecasts of its networks, such as
            an average or the predictions at one epoch, the name of such a forecast.
        second: a different one.
        metric: such as "error" or "ece", see `calib_utils.comparing.compare`.
        expected: the claim about the metric at the second one: "higher" or "lower".

    Example:
        >>> planned_comparisons("regularisation")[0].metric
        'ece'
    """

    grid: str
    first: Any
    second: Any
    metric: str
    expected: str


def planned_comparisons(
    grid: str, protocol: str = "cpu", file: Path | str | None = None
) -> list[Comparison]:
    """The comparisons of a grid, as ``grids.toml`` fixes them; none for a grid without any.

    Raises:
        ValueError: as in `plan_grid`; and for a row with an unknown metric, expectation or value.

    Example:
        >>> [(one.first, one.second) for one in planned_comparisons("regularisation")]
        [('with', 'without'), ('with', 'without')]
    """
    _, entries = _entries(_read(file), grid, protocol)
    values = entries.get("forecasts") or [value for value, _ in _levels(entries)]
    rows = entries.get("comparisons", [])
    for row in rows:
        if not (
            len(row) == 4
            and all(value in values for value in row[:2])
            and row[2] in METRICS
            and row[3] in ("higher", "lower")
        ):
            raise ValueError(
                f"grid: {grid!r} has the comparison {row}; expected two of the values {values}, "
                f"one of {', '.join(METRICS)}, and 'higher' or 'lower'"
            )
    return [Comparison(grid, *row) for row in rows]


def _entries(
    plans: dict[str, Any], grid: str, protocol: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The entries of the protocol, and of the grid under it; both complete."""
    for name, value in (("grid", grid), ("protocol", protocol)):
        if value not in plans[f"{name}s"]:
            known = ", ".join(plans[f"{name}s"])
            raise ValueError(f"{name}: there is no {name} {value!r}; choose one of {known}")
    common, entries = plans["protocols"][protocol], plans["grids"][grid]
    entries = {k: plans[k] for k in ("seeds",) if k in plans} | entries | entries.get(protocol, {})
    _require(f"protocol: {protocol!r}", common, _OF_PROTOCOL)
    values = {"levels" if "levels" in entries else "values"}
    varies = bool(entries.get("factor"))
    _require(f"grid: {grid!r}", entries, {"network", "seeds"} | (values if varies else set()))
    if unknown := entries.keys() - _OF_GRID - plans["protocols"].keys():
        raise ValueError(f"grid: {grid!r} has unknown entries {sorted(unknown)}")
    if values <= entries.keys() and not varies:
        raise ValueError(f"grid: {grid!r} has {values.pop()}, and lacks their factor")
    _require(f"grid: {grid!r}: its network", entries["network"], {"name"})
    return common, entries


def _require(what: str, entries: dict[str, Any], needed: set[str]) -> None:
    if missing := needed - entries.keys():
        raise ValueError(
            f"{what} lacks {', '.join(sorted(missing))}; it has {', '.join(entries) or 'no entry'}"
        )


def _levels(entries: dict[str, Any]) -> list[tuple[Any, dict[str, Any]]]:
    """Each value of the factor, and its settings."""
    if not entries.get("factor"):
        return [(None, {})]
    if "levels" in entries:
        return list(entries["levels"].items())
    return [(value, {entries["factor"]: value}) for value in entries["values"]]


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
