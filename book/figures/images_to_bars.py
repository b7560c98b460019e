"""Three moments of the first picture: `python -m book.figures.images_to_bars TARGET`.

`book/play/images_to_bars.py` computes them, and moves from one to the next as a reader scrolls.
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from book.play.images_to_bars import N_BINS, Frame, check, frames, piles
from calib_utils.plots import BLUE, ORANGE
from calib_utils.plots.diagrams import draw_bins
from tools.finishing.interactive import FEW, percent
from tools.sources.plot_settings import save

COLUMNS = 6


def draw_piles(ax: Axes) -> None:
    """The dots of each bin, in rows from the bottom: first the correct ones, then the wrong."""
    for m, (right, wrong) in enumerate(piles()):
        row, column = np.divmod(np.arange(len(right) + len(wrong)), COLUMNS)
        x = (m + (column + 0.8) / (COLUMNS + 0.6)) / N_BINS
        n = len(right)
        looks: list[tuple[slice, dict[str, Any]]] = [
            (slice(None, n), {"color": BLUE}),
            (slice(n, None), {"markerfacecolor": "none", "markeredgecolor": ORANGE}),
        ]
        for where, look in looks:
            ax.plot(x[where], row[where], "o", markersize=1.4, markeredgewidth=0.5, **look)
    ax.set(ylabel="Predictions", yticks=[], xlim=(0, 1), ylim=(-1, None))


def draw_bars(ax: Axes, one: Frame) -> None:
    draw_bins(ax, one.bins, one.bins.counts < FEW)
    ax.set(yticks=[0, 0.5, 1])


def figure() -> Figure:
    first, *_, last = frames()
    check(first, last)
    fig, axes = plt.subplots(
        1, 3, figsize=(4.8, 2.5), layout="constrained", width_ratios=[1.2, 1, 1]
    )
    draw_piles(axes[0])
    draw_bars(axes[1], first)
    draw_bars(axes[2], last)
    axes[1].set_ylabel("Accuracy")
    titles = (
        "Predictions\nfall into bins",
        f"As trained:\nmean gap {percent(first.gap)}",
        f"At T = {last.temperature:.2f}:\nmean gap {percent(last.gap)}",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, pad=10)
        ax.set(xlabel="Confidence", xticks=[0, 0.5, 1])
        ax.spines[["top", "right"]].set_visible(False)
    return fig


if __name__ == "__main__":
    save(figure)
