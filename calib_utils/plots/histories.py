"""Measures of a training after each epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from calib_utils.plots._axes import check_axes
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.predictions.checks import check_number, check_several

_STYLES = ((BLUE, "-"), (ORANGE, "--"), (GREY, ":"))


def history_panels(
    history: Sequence[Mapping[str, Any]],
    panels: Sequence[Sequence[str]],
    *,
    marks: Sequence[float] = (),
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Numbers of a training against the epoch, in a panel for each group of them.

    Args:
        history: an entry for each epoch, as `calib_utils.training.train` returns it.
        panels: for each panel, one to three keys of the entries. The first is its title.
        marks: positions of vertical lines, such as 10.5 for an event after epoch 10.
        axes: where to draw, one for each panel; new axes, one below the other, by default.

    Returns:
        The axes of the panels.

    Raises:
        ValueError: if the history is empty, or an entry lacks a key.

    Example:
        >>> from calib_utils.records import load_grid
        >>> history = load_grid("depth", "core")[0].history
        >>> loss, accuracy = history_panels(history, [["train_loss"], ["train_accuracy"]])
        >>> loss.get_title()
        'Train loss'
    """
    if not isinstance(history, Sequence) or not history:
        found = "none" if isinstance(history, Sequence) else repr(history)
        raise ValueError(f"history: expected an entry for each epoch, found {found}")
    if not (isinstance(panels, Sequence) and panels and all(map(_is_panel, panels))):
        raise ValueError(f"panels: expected one to three keys for each panel, found {panels!r}")
    if axes is not None:
        axes = [check_axes(ax, "axes") for ax in check_several(axes, "axes")]
        if len(axes) != len(panels):
            raise ValueError(f"axes: expected {len(panels)}, one for each panel, found {len(axes)}")
    for mark in check_several(marks, "marks"):
        check_number(mark, "marks")
    keys = {key for panel in panels for key in panel}
    for number, entry in enumerate(history):
        if not isinstance(entry, Mapping):
            raise ValueError(f"history: expected a dictionary in entry {number}, found {entry!r}")
        if missing := sorted(keys - entry.keys()):
            raise ValueError(
                f"history: entry {number} lacks {', '.join(missing)}; it has {', '.join(entry)}"
            )
    if axes is None:
        size = (4.8, 2.1 * len(panels))
        grid = plt.subplots(
            len(panels), figsize=size, sharex=True, squeeze=False, layout="constrained"
        )[1]
        axes = list(grid[:, 0])
    epochs = np.arange(1, len(history) + 1)
    for ax, panel in zip(axes, panels, strict=True):
        for key, (colour, line) in zip(panel, _STYLES, strict=False):
            values = [entry[key] for entry in history]
            ax.plot(epochs, values, line, color=colour, linewidth=1.2, label=_name(key))
        for mark in marks:
            ax.axvline(mark, linestyle=":", linewidth=1, color=GREY)
        ax.set_title(_name(panel[0]))
        if len(panel) > 1:
            ax.legend(fontsize="small")
        spec = ax.get_subplotspec()
        if spec is None or spec.is_last_row():
            ax.set_xlabel("Epoch")
    return list(axes)


def _is_panel(panel: Any) -> bool:
    several = isinstance(panel, Sequence) and not isinstance(panel, str)
    return several and 1 <= len(panel) <= len(_STYLES)


def _name(key: str) -> str:
    words = [word.upper() if word in ("nll", "ece") else word for word in key.split("_")]
    words[0] = words[0][:1].upper() + words[0][1:]
    return " ".join(words)
