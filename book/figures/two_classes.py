"""The first picture of the chapter on two classes: `python -m book.figures.two_classes TARGET`.

The test digits of which naive Bayes is more than 99 % sure, a mark for each: once with as many
mistakes as it promised, and once with as many as it made. The digits are those of the chapter.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import expit

from book.play.maps import sets
from calib_utils.plots import BLUE, ORANGE
from tools.sources.plot_settings import DRAWING

COLUMNS = 20


def surest() -> tuple[float, int, int]:
    """Mistakes that are promised and made among the surest answers, and how many these are."""
    _, _, log_odds, of_test = sets()
    scores = expit(log_odds)
    sureness = np.maximum(scores, 1 - scores)
    chosen = sureness > 0.99
    wrong = (scores > 0.5) != of_test
    return float((1 - sureness[chosen]).sum()), int(wrong[chosen].sum()), int(chosen.sum())


def draw(ax: Axes, mistakes: int, n: int, title: str) -> None:
    """A mark for each answer: dots for right ones, then crosses for wrong ones."""
    row, column = np.divmod(np.arange(n), COLUMNS)
    right = n - mistakes
    ax.plot(column[:right], row[:right], "o", color=BLUE, markersize=3.4)
    ax.plot(column[right:], row[right:], "x", color=ORANGE, markersize=4, markeredgewidth=1.6)
    ax.set(title=title, xlim=(-0.8, COLUMNS - 0.2), ylim=(row[-1] + 0.8, -0.8), aspect="equal")
    ax.set_axis_off()


def main(target: Path) -> None:
    promised, made, n = surest()
    # What the chapter says about the picture.
    if not (promised < 1 and made > 15):
        raise SystemExit(f"methods-for-two-classes.md is no longer true: {promised=}, {made=}")

    plt.rcParams |= DRAWING
    fig, axes = plt.subplots(1, 2, figsize=(4.8, 2.4), layout="constrained")
    draw(axes[0], round(promised), n, f"Mistakes promised: {promised:.1f}")
    draw(axes[1], made, n, f"Mistakes made: {made}")
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
