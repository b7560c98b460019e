"""An estimate of how long a training will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from calib_utils.records.recipe import Recipe
from calib_utils.training.data import ImageSet
from calib_utils.training.loop import train


def time_epoch(
    model: nn.Module,
    data: ImageSet,
    recipe: Recipe,
    *,
    device: torch.device | str | None = None,
    after_epoch: Callable[[nn.Module], dict[str, Any]] | None = None,
) -> float:
    """The seconds that one epoch takes, measured by training a copy of ``model``.

    The model does not change. The first batch is not counted, because a GPU needs time to start.

    Args:
        model: as in `train`.
        data: the training images.
        recipe: of the training, except for its learning rate: a tiny one takes as long, and keeps
            the loss bounded.
        device: where to train; the GPU if there is one, by default.
        after_epoch: as in `train`; its time is counted.

    Raises:
        ValueError: as in `train`.

    Example:
        >>> from calib_utils.training import Recipe, load_digits
        >>> from calib_utils.training.networks import lenet5
        >>> images, _, _ = load_digits()
        >>> seconds = time_epoch(lenet5(10), images, Recipe(), device="cpu")
        >>> 0 < seconds < 60
        True
    """
    once = replace(recipe, epochs=1, milestones=(), learning_rate=1e-6)
    batch = data.subset(slice(recipe.batch_size))
    train(deepcopy(model), batch, once, device=device, progress=False)
    start = time.perf_counter()
    train(deepcopy(model), data, once, device=device, after_epoch=after_epoch, progress=False)
    return time.perf_counter() - start
