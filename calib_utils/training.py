"""Train a network with the course's recipe, so that it can be stopped and resumed.

The images live on the device, and each batch is cropped, flipped and normalised there
in a few tensor operations. All that is random in an epoch comes from the seed and the
epoch's number, so a run that was killed ends at the weights of one that was not.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import nn

    from calib_utils.data import ImageSet

__all__ = ["Recipe", "predict_logits", "train"]


@dataclass(frozen=True)
class Recipe:
    """How a network is trained: SGD with momentum, and a learning rate that drops in steps.

    Attributes:
        epochs: passes over the training images.
        batch_size: images in a step of the optimiser.
        learning_rate: at the start.
        milestones: epochs after which the learning rate is divided by ten.
        momentum: of SGD.
        weight_decay: of SGD, on all parameters.
        crop_padding: pixels of black border added before a random crop; 0 for no crop.
        flip: whether half of the images are mirrored.
    """

    epochs: int = 30
    batch_size: int = 128
    learning_rate: float = 0.1
    milestones: tuple[int, ...] = (10, 20)
    momentum: float = 0.9
    weight_decay: float = 5e-4
    crop_padding: int = 4
    flip: bool = True

    def learning_rate_at(self, epoch: int) -> float:
        """The learning rate in ``epoch``, counted from 0."""
        return self.learning_rate * 0.1 ** sum(epoch >= m for m in self.milestones)


def default_device() -> torch.device:
    """The GPU if there is one, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _autocast(device: torch.device) -> AbstractContextManager[Any]:
    """bf16 arithmetic where the device computes it in hardware, else float32."""
    import torch

    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        capabilities = torch.cpu.get_capabilities()
        fast = capabilities.get("avx512_bf16", False) or capabilities.get("amx_bf16", False)
    return torch.autocast(device.type, dtype=torch.bfloat16) if fast else nullcontext()


class _Batches:
    """An image set on the device, ready to be cut into normalised batches."""

    def __init__(self, data: ImageSet, device: torch.device, padding: int = 0):
        import torch

        images = torch.from_numpy(np.ascontiguousarray(data.images))
        self.height, self.width = images.shape[1:3]
        if padding:
            images = torch.nn.functional.pad(images, (0, 0, padding, padding, padding, padding))
        self.images = images.to(device)
        self.labels = torch.from_numpy(data.labels).to(device)
        self.mean = 255 * torch.tensor(data.mean, device=device)
        self.std = 255 * torch.tensor(data.std, device=device)
        self.rows = torch.arange(self.height, device=device)[:, None]
        self.columns = torch.arange(self.width, device=device)

    def normalised(self, pixels: torch.Tensor) -> torch.Tensor:
        """uint8 (n, H, W, 3) to float32 (n, 3, H, W), which is channels-last in memory."""
        return ((pixels - self.mean) / self.std).permute(0, 3, 1, 2)

    def augmented(self, index: torch.Tensor, draws: torch.Tensor) -> torch.Tensor:
        """The images at ``index``, cropped at ``draws[0]``, ``draws[1]``, mirrored by ``draws[2]``."""
        import torch

        top, left, mirrored = draws[:, :, None, None]
        columns = torch.where(mirrored.bool(), self.width - 1 - self.columns, self.columns)
        return self.normalised(self.images[index[:, None, None], top + self.rows, left + columns])


def _epoch_draws(n: int, recipe: Recipe, seed: int, epoch: int) -> tuple[torch.Tensor, ...]:
    """The order of the images in an epoch, and the crop and flip of each."""
    import torch

    generator = torch.Generator().manual_seed(1_000_003 * seed + epoch)
    order = torch.randperm(n, generator=generator)
    places = 2 * recipe.crop_padding + 1
    crops = torch.randint(places, (2, n), generator=generator)
    flips = torch.randint(2, (1, n), generator=generator) * recipe.flip
    return order, torch.cat([crops, flips])


def train(
    model: nn.Module,
    data: ImageSet,
    recipe: Recipe,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    checkpoint: Path | str | None = None,
    after_epoch: Callable[[nn.Module], dict[str, float]] | None = None,
    progress: bool = True,
) -> list[dict[str, float]]:
    """Train ``model`` in place.

    Args:
        model: takes images (n, 3, H, W), gives logits (n, K).
        data: the training images.
        recipe: see `Recipe`.
        seed: of the order of the images, the crops and the flips.
        device: where to train; the GPU if there is one, by default.
        checkpoint: a file that is rewritten after each epoch. If it is there already, the
            run goes on from it, or ends at once if it was complete.
        after_epoch: called with the model in evaluation mode; what it returns joins the
            epoch's entry in the history.
        progress: whether to show a progress bar.

    Returns:
        The history: for each epoch "epoch" (from 1), "learning_rate", "train_loss" and
        "train_accuracy" (over the augmented images, as they were met) and "seconds".

    Raises:
        ValueError: if the checkpoint is damaged or belongs to another recipe or seed.
        FloatingPointError: if the loss stops being a finite number.
    """
    import torch
    from tqdm.auto import tqdm

    device = torch.device(device) if device else default_device()
    model.to(device=device, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(
        model.parameters(),
        lr=recipe.learning_rate,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        fused=True,
    )
    history: list[dict[str, float]] = []
    if checkpoint and Path(checkpoint).exists():
        history = _load_checkpoint(Path(checkpoint), model, optimiser, recipe, seed)

    batches = _Batches(data, device, recipe.crop_padding)
    for epoch in range(len(history), recipe.epochs):
        start = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate_at(epoch)
        torch.manual_seed(1_000_003 * seed + epoch)  # for layers that draw, such as dropout
        order, draws = (x.to(device) for x in _epoch_draws(len(data), recipe, seed, epoch))
        loss_sum = torch.zeros((), dtype=torch.float64, device=device)
        correct = torch.zeros((), dtype=torch.int64, device=device)
        model.train()
        steps = range(0, len(data), recipe.batch_size)
        for first in tqdm(
            steps, f"epoch {epoch + 1}/{recipe.epochs}", disable=not progress, leave=False
        ):
            step = slice(first, first + recipe.batch_size)
            images, labels = (
                batches.augmented(order[step], draws[:, step]),
                batches.labels[order[step]],
            )
            with _autocast(device):
                logits = model(images)
            loss = torch.nn.functional.cross_entropy(logits.float(), labels)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            loss_sum += loss.detach() * len(labels)
            correct += (logits.detach().argmax(dim=1) == labels).sum()
        entry = {
            "epoch": epoch + 1,
            "learning_rate": recipe.learning_rate_at(epoch),
            "train_loss": loss_sum.item() / len(data),
            "train_accuracy": correct.item() / len(data),
            "seconds": time.perf_counter() - start,
        }
        if not np.isfinite(entry["train_loss"]):
            raise FloatingPointError(
                f"the training loss is {entry['train_loss']} in epoch {epoch + 1}: "
                "try a lower learning rate"
            )
        if after_epoch:
            model.eval()
            entry |= after_epoch(model)
        history.append(entry)
        if checkpoint:
            _save_checkpoint(Path(checkpoint), model, optimiser, recipe, seed, history)
    model.eval()
    return history


def predict_logits(
    model: nn.Module,
    data: ImageSet,
    *,
    device: torch.device | str | None = None,
    batch_size: int = 1_000,
) -> np.ndarray:
    """The logits of ``model`` for every image, in float32, shape (N, K)."""
    import torch

    device = torch.device(device) if device else default_device()
    model.to(device=device, memory_format=torch.channels_last).eval()
    batches = _Batches(data, device)
    with torch.inference_mode():
        logits = [
            model(batches.normalised(pixels)).float() for pixels in batches.images.split(batch_size)
        ]
    return torch.cat(logits).cpu().numpy()


def _save_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
    history: list[dict[str, float]],
) -> None:
    from safetensors.torch import save_file

    tensors = {f"model/{name}": x.contiguous() for name, x in model.state_dict().items()}
    for number, parameter in enumerate(model.parameters()):
        tensors[f"momentum/{number}"] = optimiser.state[parameter]["momentum_buffer"].contiguous()
    facts = {"recipe": asdict(recipe), "seed": seed, "history": history}
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    save_file(tensors, part, {"facts": json.dumps(facts)})
    os.replace(part, path)


def _load_checkpoint(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, recipe: Recipe, seed: int
) -> list[dict[str, float]]:
    import torch
    from safetensors import SafetensorError, safe_open

    device = str(next(model.parameters()).device)
    try:
        with safe_open(path, framework="pt", device=device) as file:
            facts = json.loads(file.metadata()["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"checkpoint: {path} is damaged ({error}); delete it to start anew"
        ) from error
    wanted = json.loads(json.dumps({"recipe": asdict(recipe), "seed": seed}))
    found = {name: facts[name] for name in wanted}
    if found != wanted:
        raise ValueError(
            f"checkpoint: {path} was made with {found}, this run asks for {wanted}; "
            "delete it or name another file"
        )
    model.load_state_dict({name[6:]: x for name, x in tensors.items() if name.startswith("model/")})
    for number, parameter in enumerate(model.parameters()):
        # In the parameter's own memory layout, which the fused optimiser takes for granted.
        momentum = torch.empty_like(parameter).copy_(tensors[f"momentum/{number}"])
        optimiser.state[parameter]["momentum_buffer"] = momentum
    return facts["history"]
