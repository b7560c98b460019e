"""The first picture of the chapter on one's own model: `python -m book.figures.own_model TARGET`.

The interval of the trees' calibration error from more and more rows, and of all rows after
recalibration, against a tolerance. The trees and the draws of rows are those of the chapter.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict

from calib_audit import report
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.recalibration import TemperatureScaling
from tools.sources.plot_settings import save

TOLERANCE = 0.02
# Colour and mark of each outcome.
LOOK = {"within": (BLUE, "s"), "beyond": (ORANGE, "D"), "undecided": (GREY, "o")}


def scores() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each image, from a model that has not seen it: as it is, recalibrated; and the label."""
    images, digits = load_digits(return_X_y=True)
    labels = (digits >= 5).astype(int)
    trees = HistGradientBoostingClassifier(max_iter=300, random_state=0)
    probs = cross_val_predict(trees, images[:, :32], labels, cv=5, method="predict_proba")[:, 1]
    scaling = TemperatureScaling(inputs="probs")
    return probs, cross_val_predict(scaling, probs, labels, cv=5, method="predict_proba"), labels


def figure() -> Figure:
    probs, recalibrated, labels = scores()
    order = np.random.default_rng(0).permutation(len(labels))
    n = len(labels)
    names, ends, outcomes = [], [], []
    for name, values, rows in [
        ("100 rows", probs, order[:100]),
        ("300 rows", probs, order[:300]),
        (f"all {n:,}", probs, order),
        ("recalibrated", recalibrated, order),
    ]:
        found = report(
            {"score": values[rows], "label": labels[rows]}, tolerance=TOLERANCE, cross_fit=0
        )
        names.append(name)
        ends.append([100 * end for end in found.measures.error])
        outcomes.append(found.verdict.outcome)
    # What the chapter says about the picture.
    if (
        outcomes != ["undecided", "undecided", "beyond", "undecided"]
        or np.round(ends[:3]).tolist() != [[0, 13], [1, 9], [4, 7]]
        or np.round(ends[3], 1).tolist() != [0, 2.5]
    ):
        raise SystemExit(f"your-own-model.md is no longer true: {outcomes=}, {ends=}")

    fig, ax = plt.subplots(figsize=(4.8, 2.5), layout="constrained")
    for place, (low, high) in enumerate(ends):
        colour, mark = LOOK[outcomes[place]]
        ax.plot([low, high], [place, place], mark, ls="-", color=colour, linewidth=2.5)
        ax.annotate(outcomes[place], (high, place), (8, 0), textcoords="offset points", va="center")
    ax.axvline(100 * TOLERANCE, ls="--", color="black")
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="Calibration error (points)", xlim=(-0.3, 17.5), ylim=(3.6, -0.6))
    ax.set_xticks(range(0, 16, 5))
    return fig


if __name__ == "__main__":
    save(figure)
