"""The reliability diagram without bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from calib_utils.metrics import SmoothReliability, smooth_reliability
from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.predictions import taken, unweighted

__all__ = ["SmoothReliabilityDiagram", "smooth_reliability_diagram"]

_DENSITY = 0.2  # height of the peak of the density


class SmoothReliabilityDiagram(NamedTuple):
    """What `smooth_reliability_diagram` drew.

    Attributes:
        ax: the axes.
        curve: the numbers, on a grid of confidences.
        seen: (1025,), at which of them the curve is drawn.

    Example:
        >>> drawn = smooth_reliability_diagram([0.8] * 10, labels=[1] * 6 + [0] * 4)
        >>> drawn.ax.get_title()
        'Smooth reliability diagram'
    """

    ax: Axes
    curve: SmoothReliability
    seen: np.ndarray


def smooth_reliability_diagram(
    probs: Any, labels: Any = None, *, ax: Axes | None = None
) -> SmoothReliabilityDiagram:
    """Accuracy as a smooth curve over the confidence: a reliability diagram without bins.

    The curve of a calibrated network is on the diagonal, up to noise; below it, in the hatched
    area, the network is overconfident. The grey area at the bottom is the density of the
    confidences: where it is low, the curve rests on few samples. The curve is drawn where the
    kernel reaches at least one sample.

    Args:
        probs: probabilities, shape (N, K), or (N,) for those of the positive class. Then
            the curve is the frequency of the positive class.
        labels: classes, shape (N,); omitted if ``probs`` are ``Predictions``.
        ax: where to draw; new axes by default.

    Returns:
        The axes and the numbers in them.

    Raises:
        ValueError: if ``probs`` or ``labels`` are not valid.

    Source: Błasiok, Nakkiran 2023, "Smooth ECE: Principled reliability diagrams via kernel
    smoothing".

    Example:
        >>> drawn = smooth_reliability_diagram([[0.8, 0.2]] * 10, labels=[0] * 6 + [1] * 4)
        >>> round(drawn.curve.error, 4)
        0.2
        >>> drawn.ax.figure.savefig("smooth.svg")  # doctest: +SKIP
    """
    predictions = unweighted(taken(probs, labels))
    curve = smooth_reliability(predictions)
    # The effective number of samples, from the sum of the squared weights of a Gaussian kernel.
    reached = len(predictions) * curve.density * curve.width * 2 * np.sqrt(np.pi)
    seen = (reached >= 1) & ~np.isnan(curve.accuracy)
    accuracy = np.where(seen, curve.accuracy, np.nan)
    binary = predictions.kind == "binary"

    ax = axes_or_new(ax, (4.6, 4.6))
    ax.fill_between(
        curve.confidence,
        _DENSITY * curve.density / curve.density.max(),
        color=GREY,
        alpha=0.3,
        linewidth=0,
        label="Density of the " + ("probabilities" if binary else "confidences"),
    )
    ax.fill_between(
        curve.confidence,
        accuracy,
        curve.confidence,
        facecolor="none",
        edgecolor=ORANGE,
        hatch="\\" * 3,
        linewidth=0,
        label=f"Gap, smECE = {100 * curve.error:.2f} %",
    )
    name = "Positives" if binary else "Accuracy"
    ax.plot(curve.confidence, accuracy, color=BLUE, linewidth=2, label=name)
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2, label="Perfect calibration")
    ax.set(
        xlim=(0, 1),
        ylim=(0, 1),
        xlabel="Predicted probability" if binary else "Confidence",
        ylabel="Frequency of the positive class" if binary else "Accuracy",
        title="Smooth reliability diagram",
    )
    ax.set_aspect("equal")
    ax.legend(loc="upper left", fontsize="small", framealpha=0.95)
    return SmoothReliabilityDiagram(ax, curve, seen)
