"""How a network is trained: the settings of a run, as it uses them and as its record keeps them."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

# What `Recipe` had in its first version: a record that has all of these was made with it.
FIRST_SETTINGS = {
    *("epochs", "batch_size", "learning_rate", "milestones", "momentum", "weight_decay"),
    *("crop_padding", "flip"),
}

# What `Recipe` had for a while, and what it was where it changed nothing.
_FORMER = {
    **{"label_smoothing": 0.0, "mixup_alpha": 0.0, "focal_gamma": 0.0, "ema_decay": 0.0},
    **{"warmup_epochs": 0, "early_stopping": False, "reward_steps": 0, "kl_price": 0.0},
}

# The share of a one-cycle training in which its learning rate grows.
_RISE = 0.2


@dataclass(frozen=True)
class Recipe:
    """How a network is trained: by SGD, with a learning rate that follows a schedule.

    Attributes:
        epochs: passes over the training images.
        batch_size: images in a step of the optimiser.
        learning_rate: at the start; of "one-cycle", the highest.
        milestones: epochs, counted from 1, after which the learning rate is divided by ten; unused
            by "one-cycle".
        momentum: of SGD.
        weight_decay: on all parameters.
        crop_padding: pixels of black border added before a random crop; 0 for no crop.
        flip: whether half of the images are mirrored.
        optimizer: "sgd", the only one; some records of the course have "adamw".
        share: of the training data, its first part, that the network is trained on; above 0.
        schedule: of the learning rate: "steps"; or "one-cycle", where it grows from 0 for the first
            fifth of the training and then falls to 0 again, both linearly (Smith and Topin 2017).

    Raises:
        ValueError: if a setting makes no sense.

    Example:
        >>> recipe = Recipe(epochs=30, learning_rate=0.1, milestones=(10, 20))
        >>> [round(recipe.learning_rate_at(epoch), 4) for epoch in (0, 10, 20)]
        [0.1, 0.01, 0.001]
        >>> recipe = Recipe(epochs=10, learning_rate=0.1, schedule="one-cycle")
        >>> [round(recipe.learning_rate_at(epoch), 4) for epoch in (0, 1, 2, 6, 10)]
        [0.0, 0.05, 0.1, 0.05, 0.0]
    """

    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 0.1
    milestones: tuple[int, ...] = (10, 20)
    momentum: float = 0.9
    weight_decay: float = 5e-4
    crop_padding: int = 4
    flip: bool = True
    optimizer: str = "sgd"
    share: float = 1.0
    schedule: str = "steps"

    def __post_init__(self) -> None:
        rules = {
            "epochs": (self.epochs >= 1, "at least 1"),
            "batch_size": (self.batch_size >= 1, "at least 1"),
            "learning_rate": (0 < self.learning_rate < math.inf, "a number above 0"),
            # After "epoch 0" all of the training would have a tenth of the learning rate.
            "milestones": (min(self.milestones, default=1) >= 1, "epochs from 1, or none: ()"),
            "momentum": (0 <= self.momentum < 1, "at least 0 and below 1"),
            "weight_decay": (0 <= self.weight_decay < math.inf, "a number of at least 0"),
            "crop_padding": (self.crop_padding >= 0, "at least 0"),
            "optimizer": (self.optimizer == "sgd", "'sgd'"),
            "share": (0 < self.share <= 1, "above 0 and at most 1"),
            "schedule": (self.schedule in ("steps", "one-cycle"), "'steps' or 'one-cycle'"),
        }
        for name, (good, expected) in rules.items():
            if not good:
                raise ValueError(f"{name}: expected {expected}, found {getattr(self, name)}")

    def learning_rate_at(self, epoch: float) -> float:
        """The learning rate after ``epoch`` epochs; 2.5 is the middle of the third."""
        if self.schedule == "one-cycle":
            done = epoch / self.epochs
            return self.learning_rate * min(done / _RISE, (1 - done) / (1 - _RISE))
        return self.learning_rate * 0.1 ** sum(epoch >= m for m in self.milestones)


# For `load_digits`, chosen on its validation part: a mirrored digit is not a digit, and without
# crops LeNet-5 memorises the few training images and becomes overconfident.
DIGITS_RECIPE = Recipe(
    epochs=60,
    batch_size=32,
    learning_rate=0.02,
    milestones=(20, 40),
    crop_padding=0,
    flip=False,
)


def recipe_settings(recipe: Recipe) -> dict[str, Any]:
    """The settings as JSON has them, where the milestones are a list."""
    return asdict(recipe) | {"milestones": list(recipe.milestones)}


def completed_recipe(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a record as JSON, with the default of each one that it lacks.

    A setting that `Recipe` gained later gets the default under which older runs were made. Unknown
    settings are kept, and one that `Recipe` has lost is left out where it changed nothing.
    """
    kept = {k: v for k, v in settings.items() if k not in _FORMER or v != _FORMER[k]}
    return recipe_settings(Recipe()) | kept
