"""The confidence histogram."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from calib_utils.metrics import ReliabilityBins
from calib_utils.metrics.bins import bins_of
from calib_utils.plots._axes import axes_or_new
from calib_utils.plots.diagrams import BLUE, GREY, ORANGE
from calib_utils.predictions.gate import taken


class ConfidenceHistogram(NamedTuple):
    """What `confidence_histogram` drew.

    Attributes:
        ax: the axes of the histogram.
        bins: the edges of the bars, and the number of samples in each.
        share: the height of the bars: the share of the samples in each bin, 0 to 1.
        mean_confidence: the place of the dashed line.
        accuracy: the place of the solid line.

    Example:
        >>> drawn = confidence_histogram([[0.8, 0.2]] * 10, labels=[0] * 6 + [1] * 4)
        >>> round(drawn.mean_confidence, 2), round(drawn.accuracy, 2)
        (0.8, 0.6)
    """

    ax: Axes
    bins: ReliabilityBins
    share: np.ndarray
    mean_confidence: float
    accuracy: float


def confidence_histogram(
    probs: Any, labels: Any = None, *, n_bins: int = 20, ax: Axes | None = None
) -> ConfidenceHistogram:
    """Share of the samples at each confidence, with lines at mean confidence and accuracy.

    The distance between the two lines is the network's overall overconfidence.

    Args:
        probs: probabilities, shape (N, K), or (N,) for those of the positive class. Then
            the solid line is the frequency of the positive class.
        labels: classes, shape (N,); omitted if ``probs`` are ``Predictions``.
        n_bins: number of bars, of equal width.
        ax: where to draw; new axes by default.

    Returns:
        The axes and the numbers in them.

    Raises:
        ValueError: if ``probs``, ``labels`` or ``n_bins`` are not valid.

    Source: Guo et al. 2017, figure 1.

    Example:
        >>> drawn = confidence_histogram([[0.8, 0.2]] * 10, labels=[0] * 6 + [1] * 4, n_bins=5)
        >>> drawn.share.tolist()
        [0.0, 0.0, 0.0, 1.0, 0.0]
    """
    predictions = taken(probs, labels)
    bins = bins_of(predictions, n_bins, "uniform")
    n = bins.counts.sum()
    share = bins.counts / n
    mean_confidence = float(np.nansum(bins.counts * bins.confidence) / n)
    accuracy = float(np.nansum(bins.counts * bins.accuracy) / n)
    binary = predictions.kind == "binary"

    ax = axes_or_new(ax, (4.6, 3.6))
    ax.bar(
        bins.edges[:-1],
        share,
        np.diff(bins.edges),
        align="edge",
        color=BLUE,
        edgecolor="white",
        linewidth=0.8,
    )
    ax.axvline(
        accuracy,
        color=GREY,
        linewidth=2,
        label=f"{'Positives' if binary else 'Accuracy'} {100 * accuracy:.1f} %",
    )
    ax.axvline(
        mean_confidence,
        color=ORANGE,
        linewidth=2,
        linestyle="--",
        label=f"Mean confidence {100 * mean_confidence:.1f} %",
    )
    ax.set(
        xlim=(0, 1),
        xlabel="Predicted probability" if binary else "Confidence",
        ylabel="Share of samples",
    )
    # Room for the legend above the bars, whatever their shape.
    ax.set_ylim(0, 1.45 * share.max())
    ax.legend(loc="upper left", fontsize="small", framealpha=0.95)
    return ConfidenceHistogram(ax, bins, share, mean_confidence, accuracy)
