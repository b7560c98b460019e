"""Checks of single numbers: counts, shares and sizes."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

__all__ = [
    "check_count",
    "check_flag",
    "check_n_bins",
    "check_number",
    "check_seed",
    "check_share",
    "check_whole",
]

_MOST = (
    1_000_000  # bins, draws or steps; a larger number is a typing error that would exhaust memory
)


def check_n_bins(n_bins: Any) -> int:
    """The number of bins as an int.

    Raises:
        ValueError: unless it is an integer from 1 to a million.
    """
    return check_count(n_bins, "n_bins", "15 is usual")


def check_count(value: Any, name: str, advice: str, most: int = _MOST) -> int:
    """A number of bins, draws or steps as an int.

    Raises:
        ValueError: unless it is an integer from 1 to ``most``, a million by default.
    """
    if not _is_whole(value) or not 1 <= value <= most:
        raise ValueError(f"{name}: expected an integer from 1 to {most}, found {value!r}; {advice}")
    return int(value)


def check_seed(value: Any) -> int:
    """A seed as an int.

    Raises:
        ValueError: unless it is an integer of 0 or more.
    """
    if not _is_whole(value) or value < 0:
        raise ValueError(f"seed: expected an integer of 0 or more, found {value!r}; try 0")
    return int(value)


def check_whole(value: Any, name: str) -> None:
    """Raise a ValueError unless ``value`` is an integer."""
    if not _is_whole(value):
        raise ValueError(f"{name}: expected an integer, found {value!r}")


def check_flag(value: Any, name: str) -> None:
    """Raise a ValueError unless ``value`` is True or False: any text would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}: expected True or False, found {value!r}")


def check_share(value: Any, name: str, usual: float) -> None:
    """Raise a ValueError unless ``value`` is a number above 0 and below 1."""
    if not _is_real(value) or not 0 < value < 1:
        raise ValueError(
            f"{name}: expected a number between 0 and 1, found {value!r}; try {usual:g}"
        )


def check_number(
    value: Any, name: str, low: float = -math.inf, *, above: bool = False, advice: str = ""
) -> None:
    """Raise a ValueError unless ``value`` is a finite number of at least, or above, ``low``."""
    if _is_real(value) and math.isfinite(value) and (value > low if above else value >= low):
        return
    bound = "" if low == -math.inf else f" {'above' if above else 'of at least'} {low:g}"
    raise ValueError(f"{name}: expected a finite number{bound}, found {value!r}{advice}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
