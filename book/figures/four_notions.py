"""Which notion of calibration implies which: `python -m book.figures.four_notions TARGET`."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from calib_utils.plots import BLUE, GREY
from tools.sources.plot_settings import save

PLACES = {
    "full": (0.5, 0.88),
    "top-label": (0.2, 0.5),
    "class-wise": (0.8, 0.5),
    "confidence": (0.2, 0.12),
}
IMPLIED = [("full", "top-label"), ("full", "class-wise"), ("top-label", "confidence")]
BOX = {"boxstyle": "round,pad=0.5", "facecolor": "white", "edgecolor": BLUE}


def figure() -> Figure:
    fig, ax = plt.subplots(figsize=(4.8, 2.6), layout="constrained")
    for one, other in IMPLIED:
        arrow = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.5, "shrinkB": 21}
        ax.annotate("", PLACES[other], PLACES[one], arrowprops=arrow)
    for name, place in PLACES.items():
        ax.text(*place, name, ha="center", va="center", bbox=BOX)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_axis_off()
    return fig


if __name__ == "__main__":
    save(figure)
