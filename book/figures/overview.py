"""The picture of the first page: `python -m book.figures.overview TARGET`.

Reliability diagrams of the ResNet-34 on the test images, as trained and at the temperature that was
fitted on validation. Where scripts run, a reader turns that knob instead.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.special import softmax

from book.resnet34 import resnet34
from calib_utils.metrics import reliability_bins, top_label
from calib_utils.plots.diagrams import draw_bins
from tools.finishing.interactive import FEW
from tools.sources.plot_settings import save

# What the first page and the README say of it, in per cent.
SURE, RIGHT = 85, 75


def figure() -> Figure:
    _, test, scaling = resnet34()
    titles = ["as trained, T = 1", f"at the fitted T = {scaling.temperature_:.2f}"]
    of_each = [
        top_label(softmax(test.logits, axis=1), test.labels),
        top_label(scaling.predict_proba(test.logits), test.labels),
    ]
    confidences, correct = of_each[0]
    found = round(100 * float(np.mean(confidences))), round(100 * float(np.mean(correct)))
    if found != (SURE, RIGHT):
        raise SystemExit(f"book/intro.md and README.md are no longer true: {found}")

    fig, axes = plt.subplots(1, 2, figsize=(6.2, 3.2), layout="constrained", sharey=True)
    for ax, title, predictions in zip(axes, titles, of_each, strict=True):
        bins = reliability_bins(*predictions)
        draw_bins(ax, bins, bins.counts < FEW)
        ax.set(title=title, xlabel="Confidence", aspect="equal")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("Accuracy")
    return fig


if __name__ == "__main__":
    save(figure)
