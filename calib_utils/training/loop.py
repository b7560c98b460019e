"""Train a network with the course's recipe, so that it can be stopped and resumed.

The images are kept on the device, and each batch is cropped, flipped and normalised there in a few
tensor operations. Everything random in an epoch comes from the seed and
the epoch's number, so a run that was killed and resumed ends at the same weights as one that was
not: exactly on a CPU with as many threads, and on a GPU up to the order of additions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from calib_utils.records.recipe import Recipe, recipe_settings
from calib_utils.training.batches import Batches, epoch_draws
from calib_utils.training.checkpoints import load_checkpoint, save_checkpoint
from calib_utils.training.data import ImageSet
from calib_utils.training.devices import arithmetic, choose_device, environment
from calib_utils.training.progress import plain_warnings, progress_bars


@plain_warnings()
def train(
    model: nn.Module,
    data: ImageSet,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Path | str | None = None,
    after_epoch: Callable[[nn.Module], dict[str, Any]] | None = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Train ``model`` in place.

    Args:
        model: takes images (n, 3, H, W) and returns logits (n, K).
        data: the training images.
        recipe: see `calib_utils.training.Recipe`.
        seed: of the order of the images, the crops and the flips; from 0 to :math:`2^{32} - 1`.
        device: where to train; the GPU if there is one, by default.
        checkpoint: a file that is rewritten after each epoch. If it exists already, the run
            continues from it, or ends at once if it was complete.
        after_epoch: called with the model in evaluation mode; its result joins the epoch's entry in
            the history.
        progress: whether to show a progress bar.

    Returns:
        For each epoch its "epoch" (from 1), "learning_rate" (at its start), "train_loss" and
        "train_accuracy" (over the augmented images during the epoch) and "seconds".

    Raises:
        ValueError: if the seed is out of range, the network has fewer outputs than the images
            have classes, or the checkpoint is damaged, or of a different recipe, seed or network.
        FloatingPointError: if the loss stops being a finite number.

    Example:
        >>> from calib_utils.training import load_digits
        >>> from calib_utils.training.networks import lenet5
        >>> images, _, _ = load_digits()
        >>> recipe = Recipe(epochs=2, milestones=(1,), crop_padding=0, flip=False)
        >>> history = train(lenet5(10), images, recipe, device="cpu", progress=False)
        >>> [(entry["epoch"], round(entry["learning_rate"], 3)) for entry in history]
        [(1, 0.1), (2, 0.01)]
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected 0 to {2**32 - 1}, found {seed}")
    device = _place(model, device)
    optimizer = _optimizer(model, recipe)
    history: list[dict[str, Any]] = []
    if checkpoint and Path(checkpoint).exists():
        history = load_checkpoint(Path(checkpoint), model, optimizer, recipe, seed)

    batches = Batches(data, device, recipe.crop_padding)
    steps = math.ceil(len(data) / recipe.batch_size)
    # A bar within a bar would leave a line for each epoch wherever bars are text.
    with progress_bars(progress)(
        desc="training", initial=len(history) * steps, total=recipe.epochs * steps, unit="batch"
    ) as bar:
        for epoch in range(len(history), recipe.epochs):
            bar.set_description_str(f"epoch {epoch + 1} of {recipe.epochs}", refresh=False)
            entry = _train_epoch(model, batches, optimizer, recipe, seed, epoch, bar.update)
            model.eval()
            if after_epoch:
                entry |= after_epoch(model)
            history.append(entry)
            if checkpoint:
                facts = {"recipe": recipe_settings(recipe), "seed": seed, "history": history}
                facts["environment"] = environment(device)
                save_checkpoint(Path(checkpoint), model, optimizer, facts)
            bar.set_postfix(
                loss=f"{entry['train_loss']:.3f}", accuracy=f"{entry['train_accuracy']:.1%}"
            )
    model.eval()
    return history


@plain_warnings()
def predict_logits(
    model: nn.Module,
    data: ImageSet,
    *,
    device: torch.device | str | None = None,
    batch_size: int = 100,
) -> np.ndarray:
    """The logits of ``model`` for every image, computed in float32, shape (N, K).

    On a CPU, batches that fit its caches are the fastest: batches of 1,000 images took 2.7 times as
    long as batches of 100, mostly for allocating memory.

    Example:
        >>> from calib_utils.training import load_digits
        >>> from calib_utils.training.networks import lenet5
        >>> _, _, test = load_digits()
        >>> predict_logits(lenet5(10), test, device="cpu").shape
        (600, 10)
    """
    device = _place(model, device)
    model.eval()
    batches = Batches(data, device)
    with torch.inference_mode():
        logits = [model(x).float() for x in batches.inputs(batch_size)]
    return torch.cat(logits).cpu().numpy()


def _place(model: nn.Module, device: torch.device | str | None) -> torch.device:
    """Move ``model`` to the device, in the layout with the fastest convolutions."""
    chosen = choose_device(device)
    model.to(chosen)
    model.to(memory_format=torch.channels_last)
    return chosen


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        model.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        fused=True,
    )


def _train_epoch(
    model: nn.Module,
    batches: Batches,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    epoch: int,
    after_step: Callable[[], Any],
) -> dict[str, Any]:
    """One pass over the images; returns its entry in the history."""
    start = time.perf_counter()
    device, n = batches.labels.device, len(batches.labels)
    dtype = arithmetic(device)
    torch.manual_seed(1_000_003 * seed + epoch)  # for random layers, such as dropout
    order, draws = (x.to(device) for x in epoch_draws(n, recipe, seed, epoch))
    # Summed on the device, because reading a number back at each step would make a GPU wait.
    loss_sum = torch.zeros((), dtype=torch.float64, device=device)
    correct = torch.zeros((), dtype=torch.int64, device=device)
    model.train()
    for first in range(0, n, recipe.batch_size):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate_at(epoch + first / n)
        end = min(first + recipe.batch_size, n)
        step = slice(first, end)
        images = batches.augmented(order[step], draws[:, step])
        labels = batches.labels[order[step]]
        with torch.autocast(device.type, dtype, enabled=dtype == torch.bfloat16):
            logits = model(images)
        if logits.shape[1] < batches.n_classes:
            raise ValueError(
                f"model: expected at least {batches.n_classes} outputs, one for each class, "
                f"found {logits.shape[1]}"
            )
        loss = F.cross_entropy(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        loss_sum += loss.detach() * (end - first)
        correct += (logits.detach().argmax(dim=1) == labels).sum()
        after_step()
    entry = {
        "epoch": epoch + 1,
        "learning_rate": recipe.learning_rate_at(epoch),
        "train_loss": loss_sum.item() / n,
        "train_accuracy": correct.item() / n,
        "seconds": time.perf_counter() - start,
    }
    if not math.isfinite(entry["train_loss"]):
        raise FloatingPointError(
            f"the training loss is {entry['train_loss']} in epoch {epoch + 1}: "
            "try a lower learning rate"
        )
    return entry
