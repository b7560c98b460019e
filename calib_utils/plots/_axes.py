"""The axes on which a plot is drawn."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes


def axes_or_new(ax: Any, size: tuple[float, float]) -> Axes:
    """``ax`` or, if it is None, new axes on a figure of ``size`` in inches.

    Raises:
        ValueError: as `check_axes` does.
    """
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else check_axes(ax)


def check_axes(ax: Any, name: str = "ax") -> Axes:
    """Return ``ax``, or raise a ValueError if it is not one pair of axes."""
    if not isinstance(ax, Axes):
        raise ValueError(
            f"{name}: expected axes of Matplotlib, found {type(ax).__name__}; "
            "make them with fig, ax = plt.subplots()"
        )
    return ax
