"""The picture of the first page: `python -m book.figures.overview TARGET`.

Three squares of a hundred marks: how many of a hundred answers that the ResNet-34 gives with a
confidence of about 90 % it promises to be right, how many are, and how many are among those
answers that it gives with this confidence once its temperature has been fitted on validation.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.special import softmax

from calib_utils.plots import BLUE, ORANGE
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import load_record
from tools.sources.plot_settings import DRAWING

NETWORK = "resnet34-cifar100"


def promised_and_kept(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Mean confidence and accuracy of the answers with a confidence above 85 up to 95 %."""
    confidences = probs.max(axis=1)
    chosen = (confidences > 0.85) & (confidences <= 0.95)
    correct = probs.argmax(axis=1) == labels
    return float(confidences[chosen].mean()), float(correct[chosen].mean())


def draw_hundred(ax: Axes, right: int, title: str) -> None:
    """A square of a hundred marks: dots for right answers, then crosses for wrong ones."""
    row, column = np.divmod(np.arange(100), 10)
    ax.plot(column[:right], row[:right], "o", color=BLUE, markersize=5.5)
    ax.plot(column[right:], row[right:], "x", color=ORANGE, markersize=5, markeredgewidth=2)
    ax.set_title(f"{title}\n{right} of 100", fontsize=12)
    ax.set(xlim=(-0.8, 9.8), ylim=(9.8, -0.8), aspect="equal")
    ax.set_axis_off()


def main(target: Path) -> None:
    validation, test = load_record(NETWORK, "validation"), load_record(NETWORK, "test")
    scaling = TemperatureScaling().fit(validation.logits, validation.labels)
    promised, kept = promised_and_kept(softmax(test.logits, axis=1), test.labels)
    _, repaired = promised_and_kept(scaling.predict_proba(test.logits), test.labels)
    # What the page says about the picture.
    if not (kept < promised - 0.03 and abs(repaired - promised) < (promised - kept) / 2):
        raise SystemExit(f"book/intro.md is no longer true: {promised=}, {kept=}, {repaired=}")

    plt.rcParams |= DRAWING
    fig, axes = plt.subplots(1, 3, figsize=(5, 2.2), layout="constrained")
    draw_hundred(axes[0], round(100 * promised), "It says")
    draw_hundred(axes[1], round(100 * kept), "It is right")
    draw_hundred(axes[2], round(100 * repaired), "Repaired")
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
