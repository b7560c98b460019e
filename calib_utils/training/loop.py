"""Train a network with the course's recipe, so that it can be stopped and resumed.

The images live on the device, and each batch is cropped, flipped and normalised there
in a few tensor operations. All that is random in an epoch comes from the seed and the
epoch's number, so a run that was killed ends at the weights of one that was not: bit for
bit on a CPU with as many threads; on a GPU up to the order in which it adds. Several
processes, started by torchrun, train one network together: see
`calib_utils.training.distributed`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from calib_utils.records import Recipe
from calib_utils.training.checkpoints import load_checkpoint, save_checkpoint
from calib_utils.training.data import ImageSet
from calib_utils.training.devices import arithmetic, choose_device, environment
from calib_utils.training.distributed import (
    add_up,
    from_first,
    rank,
    replicate,
    share,
    world_size,
)
from calib_utils.training.progress import plain_warnings, progress_bars

__all__ = ["predict_logits", "train"]


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
        model: takes images (n, 3, H, W), gives logits (n, K).
        data: the training images.
        recipe: see `calib_utils.records.Recipe`.
        seed: of the order of the images, the crops and the flips; from 0 to 2^32 - 1.
        device: where to train; the GPU if there is one, by default.
        checkpoint: a file that is rewritten after each epoch. If it is there already, the
            run goes on from it, or ends at once if it was complete.
        after_epoch: called with the model in evaluation mode, in the first process only;
            what it returns joins the epoch's entry in the history.
        progress: whether to show progress bars.

    Returns:
        For each epoch its "epoch" (from 1), "learning_rate", "train_loss" and "train_accuracy"
        (over the augmented images, as they were met) and "seconds".

    Raises:
        ValueError: if the seed is out of range, the network has fewer outputs than the images
            have classes, a batch has fewer images than there are processes, or the checkpoint
            is damaged, of another recipe, seed or network, or not there for all processes.
        FloatingPointError: if the loss stops being a finite number.

    Example:
        >>> from calib_utils.training import lenet5, load_digits
        >>> images, _, _ = load_digits()
        >>> recipe = Recipe(epochs=2, milestones=(1,), crop_padding=0, flip=False)
        >>> history = train(lenet5(10), images, recipe, device="cpu", progress=False)
        >>> [(entry["epoch"], round(entry["learning_rate"], 3)) for entry in history]
        [(1, 0.1), (2, 0.01)]
    """
    if not 0 <= seed < 2**32:
        raise ValueError(f"seed: expected 0 to {2**32 - 1}, found {seed}")
    smallest = len(data) % recipe.batch_size or recipe.batch_size
    if smallest < world_size():
        raise ValueError(
            f"batch_size: {len(data)} images leave a batch of {smallest} for {world_size()} "
            "processes; choose another batch size, or fewer processes"
        )
    device = _place(model, device)
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    history: list[dict[str, Any]] = []
    if checkpoint and Path(checkpoint).exists():
        history = load_checkpoint(Path(checkpoint), model, optimizer, recipe, seed)
    if len(history) != from_first(len(history)):
        raise ValueError(f"checkpoint: not every process finds {checkpoint}; share its folder")

    first, replica = rank() == 0, replicate(model)
    batches = _Batches(data, device, recipe.crop_padding)
    tqdm = progress_bars(progress and first)
    with tqdm(desc="training", initial=len(history), total=recipe.epochs, unit="epoch") as bar:
        for epoch in range(len(history), recipe.epochs):
            entry = _train_epoch(replica, batches, optimizer, recipe, seed, epoch, tqdm)
            if after_epoch and first:
                model.eval()
                entry |= after_epoch(model)
            history.append(from_first(entry))
            if checkpoint and first:
                facts = {"recipe": asdict(recipe), "seed": seed, "history": history}
                facts["environment"] = environment(device)
                save_checkpoint(Path(checkpoint), model, optimizer, facts)
            bar.set_postfix(
                loss=f"{entry['train_loss']:.3f}", accuracy=f"{entry['train_accuracy']:.1%}"
            )
            bar.update()
    model.eval()
    return history


@plain_warnings()
def predict_logits(
    model: nn.Module,
    data: ImageSet,
    *,
    device: torch.device | str | None = None,
    batch_size: int = 1_000,
) -> np.ndarray:
    """The logits of ``model`` for every image, computed in float32, shape (N, K).

    Example:
        >>> from calib_utils.training import lenet5, load_digits
        >>> _, _, test = load_digits()
        >>> predict_logits(lenet5(10), test, device="cpu").shape
        (600, 10)
    """
    device = _place(model, device)
    model.eval()
    batches = _Batches(data, device)
    with torch.inference_mode():
        logits = [
            model(batches.normalised(pixels)).float() for pixels in batches.images.split(batch_size)
        ]
    return torch.cat(logits).cpu().numpy()


def _place(model: nn.Module, device: torch.device | str | None) -> torch.device:
    """Move ``model`` to the device, in the layout that convolutions are fastest in."""
    chosen = choose_device(device)
    model.to(chosen)
    model.to(memory_format=torch.channels_last)
    return chosen


class _Batches:
    """An image set on the device, ready to be cut into normalised batches."""

    def __init__(self, data: ImageSet, device: torch.device, padding: int = 0):

        images = torch.from_numpy(np.ascontiguousarray(data.images))
        self.height, self.width = images.shape[1:3]
        if padding:
            images = torch.nn.functional.pad(images, (0, 0, padding, padding, padding, padding))
        self.images = images.to(device)
        self.labels = torch.from_numpy(data.labels).to(device)
        self.n_classes = int(data.labels.max()) + 1
        self.mean = 255 * torch.tensor(data.mean, device=device)
        self.std = 255 * torch.tensor(data.std, device=device)
        self.rows = torch.arange(self.height, device=device)[:, None]
        self.columns = torch.arange(self.width, device=device)

    def normalised(self, pixels: torch.Tensor) -> torch.Tensor:
        """uint8 (n, H, W, 3) to float32 (n, 3, H, W), which is channels-last in memory."""
        return ((pixels - self.mean) / self.std).permute(0, 3, 1, 2)

    def augmented(self, index: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """The images at ``index``, cropped and mirrored; ``draws`` has top, left, mirrored."""
        top, left, mirrored = draws[:, :, None, None]
        columns = torch.where(mirrored.bool(), self.width - 1 - self.columns, self.columns)
        return self.normalised(self.images[index[:, None, None], top + self.rows, left + columns])


def _epoch_draws(n: int, recipe: Recipe, seed: int, epoch: int) -> tuple[torch.Tensor, ...]:
    """The order of the images in an epoch, and the crop and flip of each place in it."""
    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(n, generator=generator)
    places = 2 * recipe.crop_padding + 1
    crops = torch.randint(places, (2, n), generator=generator)
    flips = torch.randint(2, (1, n), generator=generator) * recipe.flip
    return order, torch.cat([crops, flips])


def _train_epoch(
    model: nn.Module,
    batches: _Batches,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    epoch: int,
    tqdm: Callable[..., Any],
) -> dict[str, Any]:
    """One pass over the images; returns its entry in the history."""
    start = time.perf_counter()
    device, n = batches.images.device, len(batches.labels)
    dtype = arithmetic(device)
    for group in optimizer.param_groups:
        group["lr"] = recipe.learning_rate_at(epoch)
    torch.manual_seed(1_000_003 * seed + epoch)  # for layers that draw, such as dropout
    order, draws = (x.to(device) for x in _epoch_draws(n, recipe, seed, epoch))
    # Summed on the device: reading a number back at each step would make a GPU wait.
    loss_sum = torch.zeros((), dtype=torch.float64, device=device)
    correct = torch.zeros((), dtype=torch.int64, device=device)
    model.train()
    steps = range(0, n, recipe.batch_size)
    for first in tqdm(steps, f"epoch {epoch + 1}", leave=False):
        end = min(first + recipe.batch_size, n)
        step = share(first, end)
        images, labels = batches.augmented(order[step], draws[:, step]), batches.labels[order[step]]
        with torch.autocast(device.type, dtype, enabled=dtype == torch.bfloat16):
            logits = model(images)
        if logits.shape[1] < batches.n_classes:
            raise ValueError(
                f"model: expected at least {batches.n_classes} outputs, one for each class, "
                f"found {logits.shape[1]}"
            )
        loss = torch.nn.functional.cross_entropy(logits.float(), labels)
        optimizer.zero_grad(set_to_none=True)
        # Over the batch, the mean of the processes' gradients is then the gradient of the mean.
        (loss * (world_size() * len(labels) / (end - first))).backward()
        optimizer.step()
        loss_sum += loss.detach() * len(labels)
        correct += (logits.detach().argmax(dim=1) == labels).sum()
    entry = {
        "epoch": epoch + 1,
        "learning_rate": recipe.learning_rate_at(epoch),
        "train_loss": add_up(loss_sum).item() / n,
        "train_accuracy": add_up(correct).item() / n,
        "seconds": time.perf_counter() - start,
    }
    if not math.isfinite(entry["train_loss"]):
        raise FloatingPointError(
            f"the training loss is {entry['train_loss']} in epoch {epoch + 1}: "
            "try a lower learning rate"
        )
    return entry
