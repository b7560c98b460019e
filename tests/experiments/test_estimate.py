"""The cost of runs, where an epoch of a network takes 4.2 seconds."""

import dataclasses

import pytest

from calib_utils.experiments import one_run, plan_grid
from calib_utils.experiments.estimate import estimate
from calib_utils.experiments.one_run import checkpoint_path
from calib_utils.training import train
from calib_utils.training.networks import build_model
from calib_utils.training.progress import progress_bars


@pytest.fixture
def four_seconds(monkeypatch):
    """An epoch takes 4.2 s; a network that fails, fails."""

    def seconds(run, device) -> float:
        if run.recipe.batch_size == 7:
            raise RuntimeError("out of memory")
        timed.append(run)
        return 4.2 * (1 + run.test_every_epoch)

    timed: list = []
    monkeypatch.setattr("calib_utils.experiments.estimate.time_run", seconds)
    return timed


def test_sentence_for_each_grid(tiny, tmp_path, four_seconds):
    runs = plan_grid("nll", "cpu", tiny) + plan_grid("weight-decay", "cpu", tiny)
    cost = estimate(runs, tmp_path, None, progress_bars(False))
    assert cost.seconds == pytest.approx(4 * 8 * 4.2 + 3 * 8.4)
    assert cost.sentences == [
        "nll: 1 run of 3 epochs, one epoch takes 8.4 s, less than a minute",
        "weight-decay: 4 runs of 8 epochs, one epoch takes 4.2 s, about 2 minutes",
    ]
    assert len(four_seconds) == 2  # another weight decay takes no longer


def test_what_is_done_is_not_counted(tiny, tmp_path, four_seconds):
    run = plan_grid("weight-decay", "cpu", tiny)[0]
    state = dataclasses.replace(run, recipe=dataclasses.replace(run.recipe, epochs=8))
    model = build_model("lenet5", 10)
    training, _, _ = one_run.load_images("digits", 150)
    train(model, training, state.recipe, checkpoint=checkpoint_path(run, tmp_path))
    cost = estimate([run], tmp_path, None, progress_bars(False))
    assert cost.seconds == 0
    assert "1 run of 8 epochs, 8 epochs are done, one epoch" in cost.sentences[0]


def test_a_network_that_fails_is_left_to_its_run(tiny, tmp_path, four_seconds):
    runs = plan_grid("weight-decay", "cpu", tiny)[:2]
    small = dataclasses.replace(runs[0].recipe, batch_size=7, epochs=9)
    runs[0] = dataclasses.replace(runs[0], recipe=small)
    (sentence,) = estimate(runs, tmp_path, None, progress_bars(False)).sentences
    assert sentence == (
        "weight-decay: 2 runs of 8 to 9 epochs, one epoch takes 4.2 s, less than a minute, "
        "without 1 whose epoch failed"
    )
