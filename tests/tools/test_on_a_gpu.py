"""What is trained on a GPU, without training it."""

import pytest

from calib_utils.experiments.grids import plan_grid
from tools.running import on_a_gpu


@pytest.fixture
def made(monkeypatch):
    """The runs that were made."""
    runs = []
    monkeypatch.setattr(on_a_gpu, "run_experiment", lambda run, *_, **__: runs.append(run))
    return runs


def test_run_seeds_trains_those_without_a_record(made, tmp_path, monkeypatch):
    plan = plan_grid("resnet34", "ladder")
    monkeypatch.setattr(on_a_gpu, "has_record", lambda run: run.name == plan[0].name)
    said = list(on_a_gpu.run_seeds(tmp_path, trial=False))
    assert made == plan[1:]
    assert said == [f"{plan[1].name}: 0 s"]


@pytest.mark.parametrize("complete", [False, True])
def test_run_seeds_tries_two_batches_whatever_is_there(made, tmp_path, monkeypatch, complete):
    named = {run.name for run in plan_grid("resnet34", "ladder")} if complete else set()
    monkeypatch.setattr(on_a_gpu, "has_record", lambda run: run.name in named)
    assert len(list(on_a_gpu.run_seeds(tmp_path, trial=True))) == 1
    (run,) = made
    recipe = run.recipe
    assert (recipe.epochs, recipe.share * run.training_images) == (1, 2 * recipe.batch_size)
