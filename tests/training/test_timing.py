"""How long a training will take."""

from dataclasses import replace
from types import SimpleNamespace

from torch import nn

from calib_utils.training.timing import time_epoch
from tests.training.small import SHORT, network, random_images, weights


def test_time_epoch_leaves_the_model_and_counts_one_epoch(monkeypatch):
    model, tested = network(), []
    before = weights(model)
    clock = SimpleNamespace(perf_counter=iter([10.0, 100.0]).__next__)
    monkeypatch.setattr("calib_utils.training.timing.time", clock)

    def after_epoch(trained: nn.Module) -> dict[str, float]:
        tested.append(trained)
        return {}

    recipe = replace(SHORT, learning_rate=1e30)  # a rate that fails can be timed, too
    assert time_epoch(model, random_images(), recipe, device="cpu", after_epoch=after_epoch) == 90
    assert len(tested) == 1
    assert tested[0] is not model
    assert weights(model).equal(before)
    assert model.training
