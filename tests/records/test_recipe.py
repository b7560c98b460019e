"""The settings of a training, and the schedules of torch that they stand for."""

import dataclasses

import pytest
import torch
from torch import nn

from calib_utils.records import recipe
from calib_utils.records.recipe import Recipe, completed_recipe, recipe_settings

# A later default would say of older records what was not so.
COMPLETE = {
    "epochs": 30,
    "batch_size": 128,
    "learning_rate": 0.1,
    "milestones": [10, 20],
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "crop_padding": 4,
    "flip": True,
    "optimizer": "sgd",
    "share": 1.0,
    "schedule": "steps",
}


def test_recipe_has_the_defaults_under_which_older_records_were_made():
    assert recipe_settings(Recipe()) == completed_recipe({}) == COMPLETE


@pytest.mark.parametrize(
    ("schedule", "arguments"),
    [
        ("steps", {"gamma": 0.1, "milestones": [4, 8]}),
        # It ends with its last step; ours with the one that would come next.
        ("one-cycle", {"max_lr": 0.4, "total_steps": 11, "pct_start": 3 / 11}),
    ],
)
def test_learning_rate_at_is_that_of_torch(schedule, arguments):
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.4)
    if schedule == "steps":
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, **arguments)
    else:
        straight = {"anneal_strategy": "linear", "cycle_momentum": False}
        straight |= {"div_factor": 1e9, "final_div_factor": 1e9}
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, **arguments, **straight)
    ours = Recipe(epochs=10, learning_rate=0.4, milestones=(4, 8), schedule=schedule)
    for epoch in range(10):
        expected = scheduler.get_last_lr()[0]
        assert ours.learning_rate_at(epoch) == pytest.approx(expected, abs=1e-8), epoch
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("milestones", (10, -1)),
        ("milestones", (0, 0)),  # of one epoch, divided by 3: all of it at a hundredth
        ("momentum", 1),
        ("momentum", -0.1),
        ("weight_decay", -1e-4),
        ("crop_padding", -1),
        ("optimizer", "adam"),
        ("share", 0),
        ("share", 1.5),
        ("schedule", "cosine"),
    ],
)
def test_recipe_refuses_a_bad_setting(name, value):
    with pytest.raises(ValueError, match=f"{name}: expected .*, found "):
        Recipe(**{name: value})


def test_completed_recipe_gives_a_later_setting_its_default(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Later(Recipe):
        warm_up: int = 0

    monkeypatch.setattr(recipe, "Recipe", Later)
    assert completed_recipe(COMPLETE) == COMPLETE | {"warm_up": 0}


def test_completed_recipe_leaves_out_a_former_setting_where_it_changed_nothing():
    former = {"reward_steps": 0, "mixup_alpha": 0.0, "kl_price": 0.5, "ema_decay": 0.9}
    assert completed_recipe(COMPLETE | former) == COMPLETE | {"kl_price": 0.5, "ema_decay": 0.9}
