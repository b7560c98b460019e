"""The decision curve."""

from __future__ import annotations

from typing import Any, NamedTuple

from matplotlib.axes import Axes

from calib_utils.metrics import DecisionCurve, decision_curve
from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE

__all__ = ["DecisionCurvePlot", "decision_curve_plot"]


class DecisionCurvePlot(NamedTuple):
    """What `decision_curve_plot` drew.

    Attributes:
        ax: the axes.
        curve: the numbers in them.

    Example:
        >>> drawn = decision_curve_plot([0.8] * 10, [1] * 6 + [0] * 4, thresholds=[0.5, 0.75])
        >>> drawn.curve.net_benefit.round(4).tolist()
        [0.2, -0.6]
    """

    ax: Axes
    curve: DecisionCurve


def decision_curve_plot(
    probs: Any,
    labels: Any = None,
    thresholds: Any = None,
    *,
    name: str = "Model",
    ax: Axes | None = None,
) -> DecisionCurvePlot:
    """The net benefit of acting on probabilities, on all samples, and on none.

    The model is useful at the thresholds where its line is the highest.

    Args:
        probs: (N,), of the positive class; or (N, K), as for `calib_utils.metrics.decision_curve`.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        thresholds: (M,), rising, above 0 and below 1; 0.01, 0.02, ..., 0.99 by default.
        name: of the model in the legend.
        ax: where to draw; new axes by default.

    Raises:
        ValueError: for bad input.

    Source: Vickers and Elkin 2006, figure 1.

    Example:
        >>> drawn = decision_curve_plot([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1], name="A network")
        >>> [line.get_label() for line in drawn.ax.lines]
        ['A network', 'All', 'None']
    """
    if not isinstance(name, str) or not name or name.startswith("_"):
        raise ValueError(
            f"name: expected text, found {name!r}; Matplotlib shows no empty one in a legend, and "
            "none that begins with _"
        )
    curve = decision_curve(probs, labels, thresholds)
    ax = axes_or_new(ax, (4.6, 3.6))
    ax.plot(curve.thresholds, curve.net_benefit, color=BLUE, label=name)
    ax.plot(curve.thresholds, curve.treat_all, "--", color=ORANGE, label="All")
    ax.axhline(0, color=GREY, linestyle=":", label="None")
    # The line of acting on all samples falls without bound.
    most = max(curve.net_benefit.max(), curve.treat_all.max(), 0.01)
    ax.set(xlabel="Threshold probability", ylabel="Net benefit", ylim=(-0.25 * most, 1.1 * most))
    ax.legend(fontsize="small")
    return DecisionCurvePlot(ax, curve)
