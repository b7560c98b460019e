"""The benchmark of training, on a few made-up images."""

import numpy as np
import pytest
import torch

from benchmarks import training as benchmark
from calib_utils.training import Recipe
from calib_utils.training.data import ImageSet


def made_up(n):
    rng = np.random.default_rng(n)
    return ImageSet(rng.integers(256, size=(n, 32, 32, 3), dtype=np.uint8), np.arange(n) % 100)


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
