"""The plan of the experiments: what was committed before the first runs, and what is no plan."""

import dataclasses
import hashlib
import itertools
import json

import pytest

from calib_utils.experiments import plan_grid, planned_comparisons
from calib_utils.experiments.grids import grid_names
from calib_utils.records import recipe
from calib_utils.records.recipe import Recipe
from calib_utils.training.networks import build_model
from tests.experiments.tiny import TINY

PROTOCOLS = ("cpu", "gpu", "full", "core", "ladder")
SUSPECTS = {
    "depth": [1, 3],
    "width": [12, 24, 48],
    "batch-norm": ["with", "without", "without-longer"],
    "weight-decay": [0.0, 5e-4, 5e-3],
    "training-time": [5, 10, 20, 40],
    "augmentation": ["none", "flips", "crops-and-flips"],
    "training-images": ["5000", "45000"],
}


def test_planned_comparisons_are_made_once_and_of_two_levels():
    """One of unknown levels or metrics would be an error."""
    for grid in (*grid_names(), "remedies", "ensembles", "language"):
        for protocol in PROTOCOLS:
            rows = planned_comparisons(grid, protocol)
            assert all(row.grid == grid and row.first != row.second for row in rows)
            assert len({row[:4] for row in rows}) == len(rows)
    primary = [row for g in ("remedies", "ensembles") for row in planned_comparisons(g, "core")]
    assert len(primary) == 8


def test_suspects_are_tried_on_all_images_with_three_seeds():
    """The plan that was committed before its first run, and one training that all share."""
    metrics, trainings, steps = [], {}, set()
    for grid, levels in SUSPECTS.items():
        runs = plan_grid(grid, "core")
        assert [run.value for run in runs[: len(levels)]] == levels
        assert {(run.value, run.seed) for run in runs} == set(itertools.product(levels, range(3)))
        assert {run.training_images for run in runs} == {45_000}
        metrics += [row.metric for row in planned_comparisons(grid, "core")]
        trainings[grid] = {run.training for run in runs}
        if grid == "training-images":
            steps = {round(run.recipe.share * run.recipe.epochs, 6) for run in runs}
    assert (metrics.count("ece"), metrics.count("error"), len(metrics)) == (8, 7, 15)
    assert steps == {10}
    assert len(set.intersection(*trainings.values())) == 3  # one for each seed


def test_names_of_checkpoints_stay():
    """A setting more or less, or a grid, makes no training anew that has been begun."""
    known = {
        ("nll-and-error", "cpu"): "cifar_resnet.c37a9bfb2b99",
        ("regularisation", "full"): "lenet5.ad3a173afeb8",
        ("ladder", "ladder"): "fast_resnet.ea1033bcd932",
    }
    for (grid, protocol), name in known.items():
        assert plan_grid(grid, protocol)[0].training == name
    names = [run.training for grid in SUSPECTS for run in plan_grid(grid, "core")]
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    assert digest == "9d8c9310e66863431d65136c0eb7921e29411173f38d6ce07eda90e1c32c1b00"


def test_a_setting_that_the_recipe_gained_later_leaves_checkpoints_their_names(tiny, monkeypatch):
    run = plan_grid("weight-decay", "cpu", tiny)[0]

    @dataclasses.dataclass(frozen=True)
    class Later(Recipe):
        warm_up: int = 0

    monkeypatch.setattr(recipe, "Recipe", Later)
    same = dataclasses.replace(run, recipe=Later(**vars(run.recipe)))
    other = dataclasses.replace(run, recipe=Later(**vars(run.recipe), warm_up=1))
    assert same.training == run.training != other.training


def test_training_says_all_that_decides_it(tiny):
    run = plan_grid("nll", "cpu", tiny)[0]
    recipe = dataclasses.replace(run.recipe, flip=True)
    decisive = [
        {"recipe": recipe},
        {"network": {"name": "fast_resnet"}},
        {"test_every_epoch": False},
        *({"seed": 9}, {"dataset": "cifar100"}, {"training_images": 9}),
    ]
    names = [dataclasses.replace(run, **change).training for change in decisive]
    assert len({run.training, *names}) == len(decisive) + 1
    for place in ("grid", "protocol", "name", "factor", "value", "level"):
        assert dataclasses.replace(run, **{place: "other"}).training == run.training


@pytest.mark.parametrize("grid", [*SUSPECTS, "regularisation", "ladder"])
def test_plan_grid_changes_only_the_level(grid):
    runs = plan_grid(grid, "core")
    varied, rest = {name for run in runs for name in run.level}, []
    for run in runs:
        made = run.network | dataclasses.asdict(run.recipe)
        assert run.level.items() <= made.items()
        if run.factor in made and not isinstance(run.value, str):
            assert run.level == {run.factor: run.value}
        rest.append({k: v for k, v in made.items() if k not in varied})
    assert rest == len(runs) * rest[:1]


def test_every_network_can_be_built():
    runs = [run for grid in grid_names() for p in PROTOCOLS for run in plan_grid(grid, p)]
    networks = {json.dumps(run.network) for run in runs}
    for network in networks:
        build_model(**json.loads(network), n_classes=100)
    assert len(networks) >= 10


def test_plan_grid_has_the_first_seed_of_all_first(tiny):
    names = [run.name for run in plan_grid("weight-decay", "cpu", tiny)]
    assert names == [f"lenet5.weight_decay-{v}.seed-{s}" for s in (0, 1) for v in (0.0, 0.01)]


def test_protocol_overrides_grid_and_recipe(tiny):
    (run,) = plan_grid("nll", "cpu", tiny)
    assert (run.seed, run.recipe.epochs, run.recipe.batch_size) == (2, 3, 32)
    assert (run.name, run.factor, run.value) == ("lenet5.seed-2", "", None)


@pytest.mark.parametrize(
    "row",
    [
        '[8, 9, "ece", "higher"]',
        '[8, 14, "loss", "higher"]',
        '[8, 14, "ece", "up"]',
        '[8, 14, "ece"]',
        '[8, 14, "ece", "higher", "lenet5"]',
    ],
)
def test_planned_comparisons_refuse_what_cannot_be_made(row, tmp_path):
    plan = f"""
seeds = [0]
[protocols.cpu]
dataset = "digits"
training_images = 150
recipe = {{ epochs = 1, milestones = [] }}
[grids.mine]
network = {{ name = "cifar_resnet" }}
factor = "depth"
values = [8, 14]
comparisons = [{row}]
"""
    (tmp_path / "my.toml").write_text(plan)
    with pytest.raises(ValueError, match="grid: 'mine' has the comparison"):
        planned_comparisons("mine", "cpu", tmp_path / "my.toml")


@pytest.mark.parametrize(
    ("change", "grid", "message"),
    [
        (("", ""), "height", "grid: there is no grid 'height'; choose one of weight-decay, nll, "),
        (("test_every_epoch", "test_always"), "nll", r"grid: 'nll' has unknown.*test_always"),
        (("batch_size", "batch"), "nll", r"recipe: there are no settings \['batch'\]"),
        (("epochs = 3", "epochs = 0"), "nll", "epochs: expected at least 1, found 0"),
        (("0.0, 1e-2", "0.1, 0.1"), "weight-decay", "grid: 'weight-decay' has two runs of one"),
        (('dataset = "digits"', ""), "nll", "protocol: 'cpu' lacks dataset; it has training"),
        (("values = [0.0, 1e-2]", ""), "weight-decay", "grid: 'weight-decay' lacks values"),
        (('factor = "weight_decay"', ""), "weight-decay", "has values, and lacks their factor"),
        (("name =", "depth ="), "weight-decay", "its network lacks name; it has depth"),
        (("milestones = [5]", ""), "nll", "recipe: it lacks milestones; it has epochs, batch"),
        (("protocols.", "profiles."), "nll", "file: .*grids.toml lacks protocols; it has seed"),
        (
            ("test_every_epoch = true", 'made_by = "x.py"'),
            "nll",
            "networks of 'nll' were trained by x.py, and this module trains them no more",
        ),
    ],
)
def test_plan_grid_refuses_a_bad_plan(tmp_path, change, grid, message):
    file = tmp_path / "grids.toml"
    file.write_text(TINY.replace(*change))
    with pytest.raises(ValueError, match=message):
        plan_grid(grid, "cpu", file)
