"""The picture of the first page: `python -m book.figures.overview TARGET`.

Three squares of a hundred marks: how many of a hundred predictions the ResNet-34 expects to be
correct, by its mean confidence, how many are, and how many it expects once its temperature has been
fitted on validation.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import softmax

from book.resnet34 import resnet34
from calib_utils.metrics import accuracy
from calib_utils.plots import BLUE, ORANGE
from tools.sources.plot_settings import save


def draw_hundred(ax: Axes, right: int, title: str) -> None:
    """A square of a hundred marks: dots for correct predictions, then crosses for errors."""
    row, column = np.divmod(np.arange(100), 10)
    ax.plot(column[:right], row[:right], "o", color=BLUE, markersize=5.5)
    ax.plot(column[right:], row[right:], "x", color=ORANGE, markersize=5, markeredgewidth=2)
    ax.set_title(f"{title}\n{right} of 100", fontsize=12)
    ax.set(xlim=(-0.8, 9.8), ylim=(9.8, -0.8), aspect="equal")
    ax.set_axis_off()


def figure() -> Figure:
    _, test, scaling = resnet34()
    expected = float(softmax(test.logits, axis=1).max(axis=1).mean())
    actual = accuracy(test.logits, test.labels, inputs="logits")
    recalibrated = float(scaling.predict_proba(test.logits).max(axis=1).mean())
    # What the page says about the picture.
    if not (actual < expected - 0.08 and abs(recalibrated - actual) < 0.015):
        raise SystemExit(
            f"book/intro.md is no longer true: {expected=}, {actual=}, {recalibrated=}"
        )

    fig, axes = plt.subplots(1, 3, figsize=(5, 2.2), layout="constrained")
    draw_hundred(axes[0], round(100 * expected), "Expected")
    draw_hundred(axes[1], round(100 * actual), "Actual")
    draw_hundred(axes[2], round(100 * recalibrated), "Recalibrated")
    return fig


if __name__ == "__main__":
    save(figure)
