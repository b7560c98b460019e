"""Test error and ECE against the factor of a grid of experiments."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from calib_utils.metrics import baseline_calibration_error
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.records import ExperimentRecord, by_level
from calib_utils.records.grids import check_records
from calib_utils.records.names import factor_name, level_name

_STYLES = {"error": ("Test error", BLUE, "-"), "ece": ("ECE", ORANGE, "--")}
# Of the seeds, from the lowest.
_MARKERS = "osD^v"


class FactorPlot(NamedTuple):
    """What `factor_panels` drew into one of its panels.

    Attributes:
        ax: the axes.
        levels: the values of the factor, from left to right.
        dots: by level, the metric of each seed, in percent.

    Example:
        >>> from calib_utils.records import load_grid
        >>> error, _ = factor_panels(load_grid("width", "core"))
        >>> error.levels, len(error.dots[12])
        ([12, 24, 48], 3)
    """

    ax: Axes
    levels: list[Any]
    dots: dict[Any, list[float]]


def _panel(records: list[ExperimentRecord], metric: str, ax: Axes) -> FactorPlot:
    """A metric against the factor of a grid: a dot for each seed, a line through the means."""
    groups = by_level(records)
    label, colour, line = _STYLES[metric]
    levels, places = list(groups), range(len(groups))
    signs = _signs(records)
    dots = {key: [100 * getattr(r, metric) for r in runs] for key, runs in groups.items()}
    look: dict[str, Any] = {"color": colour, "markersize": 4.5}
    ax.plot(places, [np.mean(of_level) for of_level in dots.values()], line, color=colour)
    for place, key in zip(places, groups, strict=True):
        for run, dot in zip(groups[key], dots[key], strict=True):
            ax.plot(place, dot, signs[run.seed], **look)
    ax.plot([], [], line, marker=_MARKERS[0], label=label, **look)  # for a legend
    if metric == "ece":
        baselines = [_baseline(runs) for runs in groups.values()]
        ax.plot(places, baselines, line, color=GREY, linewidth=1.2, label="baseline")
    ax.set_xticks(range(len(levels)), [level_name(level) for level in levels])
    ax.set_xlabel(factor_name(records[0].factor).capitalize())
    ax.margins(x=0.1)
    ax.set_ylabel(f"{label} (%)")
    return FactorPlot(ax, levels, dots)


def _signs(records: list[ExperimentRecord]) -> dict[int, str]:
    """The marker of each seed."""
    return dict(zip(sorted({run.seed for run in records}), cycle(_MARKERS), strict=False))


def _baseline(runs: list[ExperimentRecord]) -> float:
    return 100 * float(np.mean([baseline_calibration_error(run.confidences).mean for run in runs]))


def factor_panels(records: Iterable[ExperimentRecord]) -> tuple[FactorPlot, FactorPlot]:
    """The test error of a grid, and below it the ECE, against the factor.

    There is a dot for each seed and a line through the means. The values of the factor are equally
    spaced. Each seed has its own sign, which the legend names. Below the ECE a grey line shows its
    baseline, the mean ECE of calibrated networks with the same confidences
    (`calib_utils.metrics.baseline_calibration_error`).

    Args:
        records: of one grid and protocol.

    Raises:
        ValueError: if there is no run, or they have different protocols.

    Source: Guo et al. 2017, figure 2.

    Example:
        >>> from calib_utils.records import load_grid
        >>> error, ece = factor_panels(load_grid("width", "core"))
        >>> error.ax.get_ylabel(), ece.ax.get_ylabel()
        ('Test error (%)', 'ECE (%)')
    """
    records = check_records(records, "records")
    by_level(records)  # refused before anything is drawn
    fig, axes = plt.subplots(2, figsize=(4.8, 4.8), sharex=True, layout="constrained")
    error, ece = (_panel(records, metric, ax) for metric, ax in zip(_STYLES, axes, strict=True))
    error.ax.set_xlabel("")
    ece.ax.set_ylim(bottom=0)
    if len(signs := _signs(records)) > 1:
        seeds = [
            Line2D([], [], linestyle="none", color=GREY, marker=sign, label=f"Seed {seed}")
            for seed, sign in signs.items()
        ]
        fig.legend(handles=seeds, loc="outside upper center", ncols=len(seeds), fontsize="small")
    return error, ece
