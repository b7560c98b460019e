"""The first picture of the chapter on two classes: `python -m book.figures.two_classes TARGET`.

The test digits for which naive Bayes is more than 99 % sure, a mark for each: once with as many
errors as it predicts, and once with as many as it makes. The digits are those of the chapter.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.special import expit

from book.play.maps import sets
from calib_utils.plots import BLUE, ORANGE
from tools.sources.plot_settings import save

COLUMNS = 20


def surest() -> tuple[float, int, int]:
    """Errors predicted and made among the surest predictions, and how many these are."""
    _, _, log_odds, y_test = sets()
    scores = expit(log_odds)
    confidences = np.maximum(scores, 1 - scores)
    chosen = confidences > 0.99
    errors = (scores > 0.5) != y_test
    return float((1 - confidences[chosen]).sum()), int(errors[chosen].sum()), int(chosen.sum())


def draw(ax: Axes, errors: int, n: int, title: str) -> None:
    """A mark for each prediction: dots for correct ones, then crosses for errors."""
    row, column = np.divmod(np.arange(n), COLUMNS)
    correct = n - errors
    ax.plot(column[:correct], row[:correct], "o", color=BLUE, markersize=3.4)
    ax.plot(column[correct:], row[correct:], "x", color=ORANGE, markersize=4, markeredgewidth=1.6)
    ax.set(title=title, xlim=(-0.8, COLUMNS - 0.2), ylim=(row[-1] + 0.8, -0.8), aspect="equal")
    ax.set_axis_off()


def figure() -> Figure:
    predicted, made, n = surest()
    # What the chapter says about the picture.
    if not (predicted < 1 and made > 15):
        raise SystemExit(f"methods-for-two-classes.md is no longer true: {predicted=}, {made=}")

    fig, axes = plt.subplots(1, 2, figsize=(4.8, 2.4), layout="constrained")
    draw(axes[0], round(predicted), n, f"Errors predicted: {predicted:.1f}")
    draw(axes[1], made, n, f"Errors made: {made}")
    return fig


if __name__ == "__main__":
    save(figure)
