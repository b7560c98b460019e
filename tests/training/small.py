"""Small images, a small network, and runs that are stopped."""

import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from calib_utils.training import Recipe, train
from calib_utils.training.checkpoints import read_facts
from calib_utils.training.data import ImageSet
from calib_utils.training.networks import lenet5

# In which another Python imports the tests.
PATHS = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join(PATHS),
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
}
SHORT = Recipe(epochs=3, batch_size=24, learning_rate=0.05, milestones=(1,))


def random_images(n: int = 64, seed: int = 0) -> ImageSet:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
    return ImageSet(images, rng.integers(0, 10, n), (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return lenet5(10)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def train_and_stop(model, data, recipe, file, epochs, **options) -> None:
    """Train until Ctrl-C at the end of the epoch after ``epochs``."""
    done: list[nn.Module] = []

    def interrupt(trained: nn.Module) -> dict[str, float]:
        if len(done) == epochs:
            raise KeyboardInterrupt
        done.append(trained)
        return {}

    options |= {"checkpoint": file, "after_epoch": interrupt, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        train(model, data, recipe, **options)
    assert len(read_facts(file)["history"]) == epochs


def kill_when_done(process: subprocess.Popen, checkpoint: Path, epochs: int) -> None:
    """Kill -9 when a checkpoint, which is whole whenever it is read, has so many epochs."""
    try:
        while not checkpoint.exists() or len(read_facts(checkpoint)["history"]) < epochs:
            assert process.poll() is None, "the run ended by itself"
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()


def without_times(history: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{k: v for k, v in entry.items() if k != "seconds"} for entry in history]
