"""Differences between groups of runs, with their intervals and the verdicts on claims."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill
from typing import Any, Protocol, runtime_checkable

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.predictions.checks import check_several
from calib_utils.records.names import metric_name

# Colour, and whether the marker is filled.
_STYLES = {
    "holds": (BLUE, True),
    "does not hold": (ORANGE, True),
    "undecided": (GREY, False),
    "no difference": (GREY, True),
}
_SIGNS = {"lower": "<", "higher": ">"}


@runtime_checkable
class _Verdict(Protocol):
    """The type of `calib_utils.comparing.Verdict`, which the plots cannot import."""

    @property
    def change(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def claimed(self) -> str: ...
    @property
    def difference(self) -> Any: ...
    @property
    def outcome(self) -> str: ...


def verdict_plot(verdicts: Iterable[_Verdict]) -> dict[str, Axes]:
    """A panel for each metric, a row for each pair of levels, in each the 95 % interval.

    The marker points to the side where the claim puts the difference. It is blue if the claim
    holds, orange if it does not, hollow and grey if the runs do not decide, and grey if they are
    the same; the verdict is written next to it.

    Args:
        verdicts: from `calib_utils.comparing.judge`. Metrics that are not percentages, such as the
            NLL, are left out.

    Returns:
        For each metric its axes, whose differences are in points.

    Raises:
        ValueError: if there is no verdict on a metric in percent.

    Example:
        >>> from calib_utils.records import load_grid
        >>> from calib_utils.comparing import judge
        >>> claims = [("width", 12, 48, "error", "lower"), ("width", 12, 48, "ece", "higher")]
        >>> axes = verdict_plot(judge(load_grid("width", "core"), claims))
        >>> [ax.get_title() for ax in axes.values()]
        ['Test error', 'ECE']
    """
    verdicts = check_several(verdicts, "verdicts", _Verdict, "what judge gives")
    shown = [one for one in verdicts if not one.metric.startswith("nll")]
    if not shown:
        raise ValueError("verdicts: expected at least one on an error or an ECE, found none")
    changes = list(dict.fromkeys(one.change for one in shown))
    metrics = list(dict.fromkeys(one.metric for one in shown))
    fig, grid = plt.subplots(
        len(metrics),
        figsize=(4.8, (0.6 + 0.48 * len(changes)) * len(metrics) + 0.3),
        sharey=True,
        squeeze=False,
        layout="constrained",
        gridspec_kw={"hspace": 0.06},  # a title is closer to its own panel
    )
    axes = dict(zip(metrics, grid[:, 0], strict=True))
    for one in shown:
        _row(axes[one.metric], changes.index(one.change), one)
    for metric, ax in axes.items():
        ax.axvline(0, linewidth=1, color=GREY, zorder=0)
        name = metric_name(metric)
        ax.set_title(name[:1].upper() + name[1:])
        ax.margins(x=0.2)
        ax.tick_params(axis="y", labelsize="small")
    names = [fill(change, 30) for change in changes]
    grid[0, 0].set_yticks(range(len(changes)), names)
    grid[0, 0].set_ylim(len(changes) - 0.5, -0.8)
    grid[-1, 0].set_xlabel("Difference (points)")
    signs = [
        Line2D([], [], linestyle="", marker=sign, color=GREY, label=f"claimed: {claimed}")
        for claimed, sign in _SIGNS.items()
    ]
    fig.legend(handles=signs, loc="outside lower right", ncols=2, fontsize="small")
    return axes


def _row(ax: Axes, place: int, one: _Verdict) -> None:
    colour, filled = _STYLES[one.outcome]
    low, high = (100 * end for end in one.difference.interval())
    middle = 100 * one.difference.mean
    ax.plot([low, high], [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
    ax.plot(
        *(middle, place, _SIGNS[one.claimed]),
        color=colour,
        markerfacecolor=colour if filled else "white",
        markersize=7,
    )
    ax.annotate(
        one.outcome,
        *((middle, place), (0, 6)),
        textcoords="offset points",
        ha="center",
        fontsize="small",
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
