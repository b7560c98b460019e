"""Save the state of a training run, so that it can continue after it was stopped.

A checkpoint is one safetensors file (no pickles). It has the weights, the state of the optimiser
and, as JSON, the recipe, the seed, the history and the environment of the run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import nn

from calib_utils._files import replacing
from calib_utils.records.recipe import Recipe, completed_recipe, recipe_settings


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    facts: dict[str, Any],
) -> None:
    """Write the state of a run completely or not at all, replacing an older one.

    Args:
        path: of the file.
        model: the network.
        optimizer: its momentum is saved.
        facts: see `read_facts`.

    Raises:
        OSError: if the file cannot be written, as on a full disk.
    """
    tensors = {f"model/{name}": x.contiguous() for name, x in model.state_dict().items()}
    for number, parameter in enumerate(model.parameters()):
        kept = optimizer.state[parameter].get("momentum_buffer")
        if kept is not None:  # without momentum it is None
            tensors[f"momentum/{number}"] = kept.contiguous()
    try:
        with replacing(path) as part:
            save_file(tensors, part, {"facts": json.dumps(facts)})
    except SafetensorError as error:
        raise OSError(f"checkpoint: {path} cannot be written ({error})") from error


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    recipe: Recipe,
    seed: int,
) -> list[dict[str, Any]]:
    """Restore ``model`` and ``optimizer`` to the state of a run; return its history.

    Raises:
        ValueError: if the file is damaged, or has a different recipe, seed or network.
    """
    tensors, facts = _read(path)  # on the CPU; the copies below go to the model's device
    wanted = {"recipe": recipe_settings(recipe), "seed": seed}
    found = {"recipe": completed_recipe(facts["recipe"]), "seed": facts["seed"]}
    if found != wanted:
        raise ValueError(
            f"checkpoint: {path} was made with {found}, this run asks for {wanted}; "
            "name a different file, or delete this one"
        )
    weights = {
        name.removeprefix("model/"): x for name, x in tensors.items() if name.startswith("model/")
    }
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(
            f"checkpoint: {path} is of a different network; name a different file, or delete this "
            "one"
        ) from error
    parameters = list(model.parameters())
    for name in tensors.keys() - {f"model/{weight}" for weight in weights}:
        parameter = parameters[int(name.removeprefix("momentum/"))]
        # In the parameter's own memory layout, which the fused optimiser expects.
        optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(
            tensors[name]
        )
    return facts["history"]


def read_facts(path: Path) -> dict[str, Any]:
    """The "recipe", "seed", "history" and "environment" of a checkpoint.

    Raises:
        ValueError: if the file is damaged.
    """
    return _read(path)[1]


def _read(path: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    try:
        # Opened once: `safe_open` opens it for its facts and again for its tensors, and those may
        # be of the next epoch when another process is training.
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return load(data), json.loads(header["__metadata__"]["facts"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(
            f"checkpoint: {path} is damaged ({error}); delete it to start that run again"
        ) from error
