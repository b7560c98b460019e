"""Keep a training run on disk, so that it goes on after it was stopped.

A checkpoint is one safetensors file (no pickles) with the weights, the optimiser's momentum
and, as JSON, the recipe, the seed, the history and the environment of the run.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from calib_utils.records import Recipe
from calib_utils.records.recipe import completed_recipe

__all__ = ["load_checkpoint", "read_facts", "save_checkpoint"]


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    facts: dict[str, Any],
) -> None:
    """Write the state of a run, replacing an older one at once or not at all."""
    tensors = {f"model/{name}": x.contiguous() for name, x in model.state_dict().items()}
    for number, parameter in enumerate(model.parameters()):
        momentum = optimizer.state[parameter].get("momentum_buffer")
        if momentum is not None:  # there is none without momentum
            tensors[f"momentum/{number}"] = momentum.contiguous()
    path.parent.mkdir(parents=True, exist_ok=True)
    # Its own for each process: one that was left behind by a killed parent may write as well.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file(tensors, part, {"facts": json.dumps(facts)})
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, recipe: Recipe, seed: int
) -> list[dict[str, Any]]:
    """Put ``model`` and ``optimizer`` into the state of a run, and return its history.

    Raises:
        ValueError: if the file is damaged, or another recipe, seed or network made it.
    """
    tensors, facts = _read(path)  # on the CPU; the copies below go to the model's device
    wanted = json.loads(json.dumps({"recipe": asdict(recipe), "seed": seed}))
    found = {"recipe": completed_recipe(facts["recipe"]), "seed": facts["seed"]}
    if found != wanted:
        raise ValueError(
            f"checkpoint: {path} was made with {found}, this run asks for {wanted}; "
            "name another file, or delete this one"
        )
    weights = {name[6:]: x for name, x in tensors.items() if name.startswith("model/")}
    if _shapes(weights) != _shapes(model.state_dict()):
        raise ValueError(
            f"checkpoint: {path} is of another network; name another file, or delete this one"
        )
    model.load_state_dict(weights)
    for number, parameter in enumerate(model.parameters()):
        if f"momentum/{number}" in tensors:
            # In the parameter's own memory layout, which the fused optimizer takes for granted.
            momentum = torch.empty_like(parameter).copy_(tensors[f"momentum/{number}"])
            optimizer.state[parameter]["momentum_buffer"] = momentum
    return facts["history"]


def read_facts(path: Path) -> dict[str, Any]:
    """The "recipe", "seed", "history" and "environment" of a checkpoint.

    Raises:
        ValueError: if the file is damaged.
    """
    return _read(path)[1]


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            facts = json.loads(file.metadata()["facts"])
            if not {"recipe", "seed", "history"} <= facts.keys():
                raise ValueError("it does not say how it was made")
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except (SafetensorError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"checkpoint: {path} is damaged ({error}); delete it to start anew"
        ) from error


def _shapes(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(x.shape) for name, x in tensors.items()}
