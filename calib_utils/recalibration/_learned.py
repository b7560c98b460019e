"""Checks of arguments, and of fitted parameters that come from a file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["check_array", "check_steps"]


def check_array(
    value: Any,
    name: str,
    shape: tuple[int | None, ...],
    low: float = -math.inf,
    high: float = math.inf,
) -> None:
    """Raise a ValueError unless ``value`` is an array of finite numbers from ``low`` to ``high``.

    Args:
        value: the array to check.
        name: its name in the error.
        shape: its shape; None if any length of 1 or more will do.
        low: see above.
        high: see above.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        raise ValueError(f"{name}: expected an array of numbers, found {type(value).__name__}")
    fits = value.ndim == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(value.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name}: expected shape {shape}, found {value.shape}")
    if not (np.isfinite(value).all() and value.min() >= low and value.max() <= high):
        raise ValueError(
            f"{name}: expected finite numbers from {low:g} to {high:g}, found "
            f"{value.min():g} to {value.max():g}"
        )


def check_steps(thresholds: Any, name: str, probs: Any, n_more: int) -> None:
    """Raise a ValueError unless ``thresholds`` rise and there are ``n_more`` more ``probs``."""
    check_array(probs, "probabilities_", (None,), 0, 1)
    if len(probs) - n_more or not (isinstance(thresholds, np.ndarray) and thresholds.size == 0):
        check_array(thresholds, name, (len(probs) - n_more,))
        if (thresholds[1:] < thresholds[:-1]).any():
            raise ValueError(f"{name}: expected rising numbers, found some that fall")
