"""Two processes that train one network together, against one that trains it alone."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from calib_utils.experiments import list_experiments, load_experiment, plan_grid
from calib_utils.experiments.runner import run_grid
from calib_utils.training import Recipe, distributed, loop, train
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.networks import build_model
from tests.training.test_loop import ENVIRONMENT, random_images

# 51 images in batches of 24 leave a last one of 3, of which two processes get 1 and 2.
RECIPE = Recipe(epochs=2, batch_size=24, learning_rate=0.01, milestones=(1,))
NETWORKS = ("lenet5", "cifar_resnet")  # the second is batch-normalised
# Of the first network: the partners of mixed images may be another process's.
REMEDIES = Recipe(**vars(RECIPE) | {"mixup_alpha": 0.4, "label_smoothing": 0.1, "ema_decay": 0.5})
RUN = """
import json, sys
from pathlib import Path
import torch
from tests.training.test_distributed import NETWORKS, make_grid, run
from calib_utils.training import loop
from calib_utils.training.distributed import process_group, rank

loop.arithmetic = lambda device: torch.float32
folder = Path(sys.argv[1])
with process_group():
    results = {name: run(name, folder) for name in NETWORKS}
    results["remedies"] = run("remedies", folder)
    make_grid(folder)
    (folder / f"{rank()}.json").write_text(json.dumps(results))
"""

GRID = """
seeds = [0, 1]
[protocols.cpu]
dataset = "digits"
training_images = 150
recipe = { epochs = 2, milestones = [1], batch_size = 32, learning_rate = 0.01 }
[grids.tiny]
network = { name = "lenet5" }
test_every_epoch = true
"""


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    """The two processes have none, either: they would share one, which NCCL refuses."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def make_grid(folder: Path) -> None:
    file = folder / f"grids-{distributed.rank()}.toml"
    file.write_text(GRID)
    runs = plan_grid("tiny", "cpu", file)
    assert run_grid(runs, folder / "runs", folder / "runs", progress=False) == {}


def network(name: str, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    name = "lenet5" if name == "remedies" else name
    return build_model(name, 10, **({"depth": 8, "width": 4} if name == "cifar_resnet" else {}))


def run(name: str, folder: Path) -> dict:
    """Train; returns the history, and all that the network holds at the end."""
    model = network(name, seed=distributed.rank())  # the first process's weights are everyone's
    history = train(
        model,
        random_images(51),
        REMEDIES if name == "remedies" else RECIPE,
        seed=3,
        device="cpu",
        checkpoint=folder / f"{name}.safetensors",
        validation=random_images(20, seed=1) if name == "remedies" else None,
        after_epoch=lambda model: {"bias": next(model.parameters())[0].sum().item()},
        progress=False,
    )
    return {"history": history, "state": {k: x.tolist() for k, x in model.state_dict().items()}}


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory) -> Path:
    """The folder where two processes on the CPU left what they ended with."""
    folder = tmp_path_factory.mktemp("two")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    script = ["--nproc-per-node=2", "--no-python", sys.executable, "-c", RUN, str(folder)]
    subprocess.run(
        [*torchrun, *script],
        cwd=folder,
        env=ENVIRONMENT | {"OMP_NUM_THREADS": "1"},
        check=True,
    )
    return folder


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [("lenet5", 1e-6), ("remedies", 1e-6), ("cifar_resnet", 2e-4)],
)
def test_two_processes_end_like_one(two_processes, tmp_path, monkeypatch, name, tolerance):
    """Up to the order of float32 sums.

    Weights were found to differ by 1e-8, or 4e-5 after statistics over single pixels, whose
    rounding each step amplifies; and by 2e-3 where shares of 1 and 2 images weighed the same.
    """
    monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)
    results = [json.loads((two_processes / f"{n}.json").read_text())[name] for n in (0, 1)]
    assert results[0] == results[1]
    found, alone = results[0], run(name, tmp_path)
    for ours, expected in zip(found["history"], alone["history"], strict=True):
        assert ours.keys() == expected.keys()
        assert ours["train_loss"] == pytest.approx(expected["train_loss"], abs=tolerance)
        assert ours["train_accuracy"] == pytest.approx(expected["train_accuracy"])
        assert ours["bias"] == pytest.approx(expected["bias"], abs=100 * tolerance)
    for key, x in found["state"].items():
        expected = torch.tensor(alone["state"][key])
        torch.testing.assert_close(
            torch.tensor(x), expected, rtol=tolerance, atol=tolerance, msg=key
        )


def test_only_the_first_process_writes(two_processes):
    checkpoints = {f"{name}.safetensors" for name in (*NETWORKS, "remedies")}
    assert {path.name for path in two_processes.glob("*.safetensors")} == checkpoints
    made = read_facts(two_processes / "lenet5.safetensors")
    assert made["environment"]["hardware"].startswith("2 processes, each ")
    results = json.loads((two_processes / "1.json").read_text())
    assert made["history"] == results["lenet5"]["history"]


def test_grid_shares_each_run(two_processes, tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "arithmetic", lambda device: torch.float32)
    make_grid(tmp_path)
    names = list_experiments("tiny", "cpu", tmp_path / "runs")
    assert names == ["lenet5.seed-0", "lenet5.seed-1"]
    assert list_experiments("tiny", "cpu", two_processes / "runs") == names
    for name in names:
        found, alone = (
            load_experiment("tiny", "cpu", name, folder / "runs")
            for folder in (two_processes, tmp_path)
        )
        assert found.hardware.startswith("2 processes, each ")
        assert found.recipe == alone.recipe
        assert found.nll == pytest.approx(alone.nll, abs=1e-5)
        assert found.error == pytest.approx(alone.error)
        np.testing.assert_allclose(found.confidences, alone.confidences, atol=1e-5)


def test_shares_of_all_processes_are_the_batch(monkeypatch):
    for processes in (1, 2, 3, 8):
        monkeypatch.setattr(distributed, "world_size", lambda n=processes: n)
        found = []
        for number in range(processes):
            monkeypatch.setattr(distributed, "rank", lambda n=number: n)
            part = distributed.share(48, 71)
            assert part.stop - part.start in (23 // processes, 23 // processes + 1)
            found += range(48, 71)[part.start - 48 : part.stop - 48]
        assert found == list(range(48, 71))


def test_more_processes_than_images_in_the_last_batch(monkeypatch):
    monkeypatch.setattr(distributed.distributed, "get_world_size", lambda: 4)
    monkeypatch.setattr(distributed.distributed, "is_initialized", lambda: True)
    with pytest.raises(ValueError, match="batch_size: 75 images leave a batch of 3 for 4 proc"):
        train(network("lenet5"), random_images(75), RECIPE)


def test_alone_nothing_is_joined_or_changed():
    model = network("cifar_resnet")
    with distributed.process_group():
        assert (distributed.rank(), distributed.world_size()) == (0, 1)
        assert distributed.share(3, 9) == slice(3, 9)
        assert distributed.replicate(model) is model
        assert distributed.from_first("x") == "x"
