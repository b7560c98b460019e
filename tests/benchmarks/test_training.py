"""The benchmark of training, on a few made-up images."""

import json
from collections import OrderedDict

import numpy as np
import pytest
import torch

from benchmarks import training as benchmark
from calib_utils.training import Recipe
from calib_utils.training.data import ImageSet


def made_up(n):
    rng = np.random.default_rng(n)
    return ImageSet(rng.integers(256, size=(n, 32, 32, 3), dtype=np.uint8), np.arange(n) % 100)


def small_network(*_, **__):
    """In the place of ResNet-34, where its size does not matter."""
    pool = torch.nn.AdaptiveAvgPool2d(1)
    layers = {"pool": pool, "flatten": torch.nn.Flatten(), "fc": torch.nn.Linear(3, 100)}
    return torch.nn.Sequential(OrderedDict(layers))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the benchmark for three epochs on 4 of 12 images; gives the file that it writes."""
    monkeypatch.setattr(benchmark, "load_splits", lambda _: (made_up(12), made_up(2), made_up(5)))
    monkeypatch.setattr(benchmark, "build_model", small_network)
    monkeypatch.setattr(benchmark.models, "resnet34", small_network)
    monkeypatch.setattr(benchmark, "choose_device", lambda: torch.device("cpu"))
    path = tmp_path / "results/training.json"

    def run(*arguments):
        fixed = ["--epochs", "3", "--images", "4", "--workers", "0", "--results", str(path)]
        benchmark.main([*fixed, *arguments])
        return json.loads(path.read_text())

    run.path = path
    return run


def test_both_train_the_same_network():
    script = benchmark.Script(made_up(4), Recipe(), workers=0, device=torch.device("cpu"))
    ours = benchmark.build_model("resnet34", image_size=224)
    ours.load_state_dict(script.model.state_dict())
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        torch.testing.assert_close(
            ours.eval()(images), script.model.eval()(images), rtol=1e-3, atol=1e-3
        )


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
@pytest.mark.parametrize("epochs", [9, 30])
def test_both_train_at_the_same_learning_rates(monkeypatch, epochs):
    recipe = Recipe(epochs=epochs, milestones=(epochs // 3, 2 * epochs // 3))
    script = benchmark.Script(made_up(4), recipe, workers=0, device=torch.device("cpu"))
    monkeypatch.setattr(script, "loader", [])
    rates = []
    for _ in range(epochs):
        rates.append(script.optimiser.param_groups[0]["lr"])
        script.epoch()
    third = epochs // 3
    assert rates == pytest.approx([0.1] * third + [0.01] * third + [0.001] * third)
    assert rates == pytest.approx([recipe.learning_rate_at(epoch) for epoch in range(epochs)])


def test_a_run_keeps_what_was_measured_on_the_other_device(run):
    run.path.parent.mkdir()
    run.path.write_text(json.dumps({"cuda": "a card's", "cpu": "older"}))
    results = run("--seeds", "2")
    assert results["cuda"] == "a card's"
    found = results["cpu"]
    assert (found["epochs"], found["milestones"]) == (3, [1, 2])
    assert (found["training_images"], found["test_images"]) == (4, 5)
    assert [row["name"] for row in found["rows"]] == ["the script", "calib_utils"]
    for row in found["rows"]:
        assert [len(seconds) for seconds in row["seconds"]] == [3, 3]
        assert min(min(seconds) for seconds in row["seconds"]) > 0
        assert len(row["test_accuracies"]) == 2
    assert [file.name for file in run.path.parent.iterdir()] == ["training.json"]


def test_a_run_that_is_stopped_keeps_the_finished_seeds(run, monkeypatch):
    train = benchmark.train

    def stopped(*arguments, seed, **options):
        if seed == 1:
            raise KeyboardInterrupt
        return train(*arguments, seed=seed, **options)

    monkeypatch.setattr(benchmark, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        run("--seeds", "3")
    for row in json.loads(run.path.read_text())["cpu"]["rows"]:
        assert len(row["seconds"]) == len(row["test_accuracies"]) == 1


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--epochs", "2", "at least 3"),
        ("--images", "13", "1 to 12"),
        ("--seeds", "0", "at least 1"),
    ],
)
def test_bad_options(run, capsys, option, value, expected):
    with pytest.raises(SystemExit):
        run(option, value)
    assert f"{option}: expected {expected}" in capsys.readouterr().err
