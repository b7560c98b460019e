"""The first picture of the chapter on overconfidence: `python -m book.figures.four_factors TARGET`.

The ECE of each network of the four grids in which one thing was changed at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from calib_utils.metrics import baseline_calibration_error
from calib_utils.plots import factor_plot
from calib_utils.records import load_grid
from tools.sources.plot_settings import DRAWING

GRIDS = ("depth", "width", "batch-norm", "weight-decay")


def main(target: Path) -> None:
    plt.rcParams |= DRAWING
    fig, axes = plt.subplots(2, 2, figsize=(4.8, 4.6), sharey=True, layout="constrained")
    means: dict[str, list[float]] = {}
    baselines: list[float] = []
    for ax, grid in zip(axes.flat, GRIDS, strict=True):
        runs = load_grid(grid, "cpu")
        drawn = factor_plot(runs, ax=ax)
        baselines += [baseline_calibration_error(run.confidences).mean for run in runs]
        means[grid] = [float(np.mean(eces)) for eces in drawn.dots.values()]
        if not ax.get_subplotspec().is_first_col():
            ax.set_ylabel("")
    axes[0, 0].set_ylim(bottom=0)
    axes[1, 1].tick_params(axis="x", rotation=90)
    # What the page says about the picture.
    depth, width, norm, decay = means.values()
    if not (
        np.argmax(depth) == 2
        and np.argmin(width) < 2 < np.argmax(width)
        and norm[1] > norm[0]
        and norm[3] > norm[2]
        and np.argmin(decay) == 3
        and round(max(baselines), 2) == 0.01
    ):
        raise SystemExit(f"why-networks-are-overconfident.md is no longer true: {means=}")
    target.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
