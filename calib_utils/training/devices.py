"""The device that a network is trained on, its fastest suitable arithmetic, and their names."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from calib_utils import __version__


def choose_device(name: torch.device | str | None = None) -> torch.device:
    """The device called ``name``; by default the GPU if there is one, otherwise the CPU.

    Raises:
        ValueError: if it is neither "cpu" nor "cuda", or there is no GPU.

    Example:
        >>> choose_device("cpu")
        device(type='cpu')
    """
    device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device: expected 'cpu' or 'cuda', found {str(device)!r}")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: torch finds no CUDA GPU on this machine; use 'cpu'")
    return device


def arithmetic(device: torch.device) -> torch.dtype:
    """The type to multiply in: bf16 if the device has it in hardware, otherwise float32."""
    if device.type == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        # Older versions of torch do not know, and get float32.
        known: Mapping[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
        fast = known.get("avx512_bf16", False) or known.get("amx_bf16", False)
    return torch.bfloat16 if fast else torch.float32


def environment(device: torch.device) -> dict[str, Any]:
    """The environment of a run besides its recipe: "versions", "hardware" and "date".

    Example:
        >>> sorted(environment(choose_device("cpu")))
        ['date', 'hardware', 'versions']
    """
    if device.type == "cuda":
        hardware = torch.cuda.get_device_name(device)
    else:
        threads = torch.get_num_threads()
        hardware = f"{processor_name()}, {threads} thread{'s' * (threads > 1)}"
    versions = {name: version(name) for name in ("numpy", "torch", "torchvision")}
    return {
        "versions": {"calib_utils": __version__, "python": platform.python_version()} | versions,
        "hardware": f"{hardware}, {str(arithmetic(device)).removeprefix('torch.')}",
        "date": date.today().isoformat(),
    }


def processor_name() -> str:
    """The name of the CPU, which the standard library gives on few systems."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
