"""The overconfidence of networks against their generalisation gap."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.records import ExperimentRecord
from calib_utils.records.grids import check_records


class GeneralizationPlot(NamedTuple):
    """What `generalization_plot` drew.

    Attributes:
        ax: the axes.
        dots: for each grid, shape (runs, 2), in percentage points: training accuracy minus test
            accuracy, and mean confidence minus test accuracy.

    Example:
        >>> from calib_utils.records import load_grid
        >>> drawn = generalization_plot(load_grid("nll-and-error", "cpu"))
        >>> drawn.dots["nll-and-error"].shape
        (5, 2)
    """

    ax: Axes
    dots: dict[str, np.ndarray]


def generalization_plot(
    records: Iterable[ExperimentRecord], ax: Axes | None = None
) -> GeneralizationPlot:
    """Overconfidence against the generalisation gap: a dot for each run, a marker for each grid.

    On the dashed line, the mean confidence on the test images equals the training accuracy.

    Args:
        records: of one grid or more.
        ax: where to draw; new axes by default.

    Raises:
        ValueError: if there is no record.

    Source: Carrell et al. 2022, "The calibration generalization gap", for the two distances.

    Example:
        >>> from calib_utils.records import load_grid
        >>> drawn = generalization_plot(load_grid("depth", "core") + load_grid("width", "core"))
        >>> sorted(drawn.dots)
        ['depth', 'width']
    """
    runs: dict[str, list[tuple[float, float]]] = {}
    for record in check_records(records, "records"):
        distances = 100 * record.generalization_gap, 100 * record.overconfidence
        runs.setdefault(record.grid, []).append(distances)
    if not runs:
        raise ValueError("records: expected at least one run, found none")
    dots = {grid: np.array(pairs) for grid, pairs in runs.items()}
    ax = axes_or_new(ax, (4.8, 4))
    signs = zip(cycle("osD^vPX"), cycle((BLUE, ORANGE, GREY, "black")), strict=False)
    for (grid, pairs), (marker, colour) in zip(dots.items(), signs, strict=False):
        ax.plot(
            *pairs.T, marker, color=colour, markerfacecolor="none", label=grid.replace("-", " ")
        )
    top = max(0.0, max(pairs.max() for pairs in dots.values()))
    ax.plot([0, top], [0, top], "--", color=GREY)
    ax.set(
        xlabel="Accuracy, training minus test (points)", ylabel="Overconfidence on test (points)"
    )
    ax.legend()
    return GeneralizationPlot(ax, dots)
