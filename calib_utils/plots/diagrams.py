"""The reliability diagram."""

from __future__ import annotations

from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from calib_utils.metrics import ReliabilityBins, baseline_calibration_error
from calib_utils.metrics.baseline import consistency_limits
from calib_utils.metrics.bins import bins_of, expected_gap
from calib_utils.metrics.intervals import share_ends
from calib_utils.plots._axes import check_axes
from calib_utils.predictions.checks import check_flag, check_number, check_share
from calib_utils.predictions.gate import taken, unweighted

# Okabe and Ito's palette.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#595959"


class ReliabilityDiagram(NamedTuple):
    """What `reliability_diagram` drew.

    Attributes:
        ax: the axes of the diagram.
        counts_ax: the strip above it, with the number of samples in each bin; put a title here.
        bins: the height of the bars (``accuracy``) and the other end of the gaps
            (``confidence``).
        ece: the first number in the box, 0 to 1.
        baseline: the second one, the mean ECE of calibrated networks with these confidences.
        few: for each bin, whether it has samples, but fewer than ``min_count``.

    Example:
        >>> drawn = reliability_diagram([[0.8, 0.2]] * 10, labels=[0] * 6 + [1] * 4, n_bins=5)
        >>> title = drawn.counts_ax.set_title("A network")
        >>> drawn.bins.counts.tolist()
        [0, 0, 0, 10, 0]
    """

    ax: Axes
    counts_ax: Axes
    bins: ReliabilityBins
    ece: float
    baseline: float
    few: np.ndarray


def reliability_diagram(
    probs: Any,
    labels: Any = None,
    *,
    n_bins: Any = 15,
    strategy: str = "uniform",
    min_count: int = 0,
    counts: bool = True,
    consistency: float | None = None,
    intervals: float | None = None,
    ax: Axes | None = None,
) -> ReliabilityDiagram:
    """Accuracy of each confidence bin, and its gap to the mean confidence of that bin.

    A bar is the accuracy of the samples in a bin. The hatched bar on it ends at their mean
    confidence, so the network is overconfident if it extends above the accuracy. The bars of a
    calibrated network end on the diagonal. The strip on top shows the number of samples in each
    bin. Below the ECE, the box gives its baseline, which calibrated networks with the same
    confidences get on as many samples (`calib_utils.metrics.baseline_calibration_error`).

    Args:
        probs: probabilities, shape (N, K), or (N,) for those of the positive class. Then
            the bars are the frequency of the positive class.
        labels: classes, shape (N,); omitted if ``probs`` are ``Predictions``.
        n_bins: number of bins, their edges, or "auto", as in
            `calib_utils.metrics.reliability_bins`.
        strategy: "uniform" for bins of equal width, "quantile" for bins of equal mass.
        min_count: bins with fewer samples are drawn pale, because their bars are mostly noise.
        counts: whether the bars of the strip are labelled with their numbers, unless a bin is too
            narrow for them; in one of several diagrams they would be too small to read.
        consistency: if given, such as 0.95, each bin gets a consistency bar, which contains the
            accuracy of a calibrated network with these confidences with this probability. Noise
            alone rarely explains a bar of accuracy that ends outside.
        intervals: if given, such as 0.95, each bin gets Wilson's interval of its own accuracy,
            which contains the accuracy in the population about this often, whatever it is. It
            counts samples as independent. A diagram shows these or consistency bars.
        ax: where to draw; new axes by default.

    Returns:
        The axes and the numbers in them.

    Raises:
        ValueError: if ``probs``, ``labels``, ``n_bins``, ``strategy``, ``min_count``,
            ``consistency`` or ``intervals`` are not valid.

    Source: Guo et al. 2017, figure 1; DeGroot and Fienberg 1983; for the consistency bars
    Bröcker and Smith 2007; for the intervals Wilson 1927.

    Example:
        >>> drawn = reliability_diagram([[0.8, 0.2]] * 10, labels=[0] * 6 + [1] * 4)
        >>> round(drawn.ece, 4)
        0.2
        >>> drawn.ax.figure.savefig("reliability.svg")  # doctest: +SKIP
    """
    if consistency is not None:
        check_share(consistency, "consistency", 0.95)
    if intervals is not None:
        check_share(intervals, "intervals", 0.95)
        if consistency is not None:
            raise ValueError(
                "intervals: expected None where there are consistency bars, found "
                f"{intervals:g}; draw two diagrams"
            )
    check_number(min_count, "min_count", 0)
    check_flag(counts, "counts")
    predictions = unweighted(taken(probs, labels))
    bins = bins_of(predictions, n_bins, strategy)
    baseline = baseline_calibration_error(predictions, n_bins, strategy=strategy).mean
    few = (bins.counts > 0) & (bins.counts < min_count)
    band = None
    if consistency is not None:
        limits = consistency_limits(predictions, n_bins, strategy, consistency)
        band = f"Calibrated, {100 * consistency:g} %", *limits
    elif intervals is not None:
        ends = share_ends(np.nan_to_num(bins.accuracy), np.maximum(bins.counts, 1), intervals)
        band = f"Interval, {100 * intervals:g} %", *ends
    ece, binary = expected_gap(bins), predictions.kind == "binary"
    return draw_diagram(bins, ece, baseline, few, band, binary=binary, counts=counts, ax=ax)


def draw_diagram(
    bins: ReliabilityBins,
    ece: float,
    baseline: float,
    few: np.ndarray,
    band: tuple[str, np.ndarray, np.ndarray] | None,
    *,
    binary: bool,
    counts: bool = True,
    ax: Axes | None = None,
) -> ReliabilityDiagram:
    """Draw a `reliability_diagram` from given bins.

    Args:
        bins: NumPy arrays, (M,).
        ece, baseline: the numbers in the box, 0 to 1.
        few: (M,), which bins are pale.
        band: the name of bars from below to above, such as consistency bars, and their lower and
            upper ends, (M,); None for no such bars.
        binary: whether the bars are the frequency of the positive class.
        counts, ax: as in `reliability_diagram`.
    """
    full = bins.counts > 0
    left, width = bins.edges[:-1], np.diff(bins.edges)
    counts = counts and width.min() > 0.03  # in narrower bins no number would fit
    strip = 0.22 if counts else 0.15
    ax = _square_axes((4.6, 5.2), 1.02 + strip) if ax is None else check_axes(ax)
    if band is not None:
        name, low, high = band
        ends = (left + width / 2)[full], low[full], high[full]
        # The light edge makes it visible on the bars of accuracy.
        edge = [withStroke(linewidth=4, foreground="white")]
        ax.vlines(*ends, color="black", linewidth=2, label=name, path_effects=edge)
    draw_bins(ax, bins, few, "Positives" if binary else "Accuracy")
    ax.set(
        xticks=np.arange(0, 1.1, 0.2),
        yticks=np.arange(0, 1.1, 0.2),
        xlabel="Predicted probability" if binary else "Confidence",
        ylabel="Frequency of the positive class" if binary else "Accuracy",
    )
    ax.set_aspect("equal")
    tops = np.where(full, np.maximum(bins.accuracy, bins.confidence), 0)
    inside = (full & (bins.confidence < bins.accuracy)).any()
    name = "Gap, predicted low" if binary else "Gap, underconfident"
    _legend(ax, left, tops, name if inside else "")
    ax.text(
        0.96,
        0.05,
        f"ECE = {100 * ece:.2f} %\nbaseline {100 * baseline:.2f} %",
        transform=ax.transAxes,
        ha="right",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": GREY, "alpha": 0.95, "boxstyle": "round"},
    )
    counts_ax = _counts_strip(ax, bins, few, strip, counts)
    return ReliabilityDiagram(ax, counts_ax, bins, ece, baseline, few)


def _square_axes(size: tuple[float, float], rows: float) -> Axes:
    """Axes for a square of ``rows`` of its height, the strip above it, and a title.

    The margins follow from the size of the text, because measuring it, as a layout engine does,
    takes as long as drawing it.
    """
    em = plt.rcParams["font.size"]
    x, y = (72 * inches for inches in size)
    bottom, title = (14 + 2 * em) / y, (9 + 1.5 * em) / y
    room = {"left": (14 + 3 * em) / x, "right": 1 - (3 + em) / x, "bottom": bottom}
    fig = plt.figure(figsize=size)
    return fig.add_subplot(fig.add_gridspec(**room, top=bottom + (1 - bottom - title) / rows)[0])


def draw_bins(ax: Axes, bins: ReliabilityBins, few: np.ndarray, name: str = "Accuracy") -> None:
    """A diagram without its text: the diagonal, the bars of ``name``, and their gaps.

    Args:
        ax: where to draw, from 0 to 1 on both axes.
        bins: with NumPy arrays.
        few: for each bin, whether its bar is pale.
        name: of the bars in a legend.
    """
    full, inside = bins.counts > 0, bins.confidence < bins.accuracy
    ax.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1.2, label="Perfect calibration")
    for chosen, alpha in ((full & ~few, 1.0), (full & few, 0.35)):
        label = name if alpha == 1.0 else None
        blue = {"facecolor": BLUE, "edgecolor": "white", "alpha": alpha, "label": label}
        _bars(ax, bins, chosen, 0, bins.accuracy, **blue)
        # No fill and no transparency, which would hide the hatch in SVG.
        gap: dict[str, Any] = {"low": bins.accuracy, "high": bins.confidence}
        gap |= {"facecolor": "none", "hatch": "///"}
        orange = {"edgecolor": _on_white(ORANGE, alpha), "label": label and "Gap"}
        _bars(ax, bins, chosen & ~inside, **gap, **orange)
        # Orange on blue is hard to see, and on a dark page it is invisible.
        _bars(ax, bins, chosen & inside, **gap, edgecolor="white")
    ax.set(xlim=(0, 1), ylim=(0, 1))


def _bars(
    ax: Axes, bins: ReliabilityBins, chosen: np.ndarray, low: Any, high: Any, **style: Any
) -> None:
    """Bars over the chosen bins, in one outline, which is faster to hatch than each alone."""
    left, right = bins.edges[:-1], bins.edges[1:]
    x = np.stack([left, right, right, left], axis=1)
    y = np.stack(np.broadcast_arrays(low, low, high, high), axis=1)
    outline = Path.make_compound_path_from_polys(np.stack([x, y], axis=2)[chosen])
    # The limits of the axes are known, so nothing has to be measured.
    ax.add_artist(PathPatch(outline, **{"linewidth": 0.8} | style, snap=True))


def _legend(ax: Axes, left: np.ndarray, tops: np.ndarray, inside: str) -> None:
    """In the upper left or, if it would cover the tops of bars, above the box with the ECE.

    ``inside`` is the name of a gap inside a bar, if there is one.
    """
    handles, names = ax.get_legend_handles_labels()
    if inside:
        handles.append(Patch(facecolor=BLUE, edgecolor="white", hatch="///"))
        names.append(inside)
    em = plt.rcParams["font.size"] * ax.figure.dpi / 72 / ax.bbox.width
    # Not measured, for the reason above; it is about 11 em wide.
    covered = tops[left < 11.5 * em].max(initial=0) > 1 - (1 + 1.4 * len(names)) * em
    place: dict[str, Any] = {"loc": "upper left"}
    if covered:
        place = {"loc": "lower right", "bbox_to_anchor": (0.98, 0.05 + 2.4 * em)}
    ax.legend(handles, names, **place, fontsize="small", framealpha=0.95)


def _counts_strip(
    ax: Axes, bins: ReliabilityBins, few: np.ndarray, height: float, numbers: bool
) -> Axes:
    """Bars above ``ax`` with the number of samples in each bin, labelled if asked for."""
    strip = ax.inset_axes((0, 1.02, 1, height), sharex=ax)
    for chosen, alpha in ((~few, 0.8), (few, 0.3)):
        grey = {"facecolor": (*to_rgb(GREY), alpha), "edgecolor": "white", "linewidth": 1}
        _bars(strip, bins, chosen, 0, bins.counts, **grey)
    words = [_short(count) for count in bins.counts] if numbers else []
    size, rows = _upright(words, bins, ax) if words else (0, 0)
    most = max(1, bins.counts.max())
    for k, word in enumerate(words if rows else ()):
        # Two rows stand above all bars, because their numbers reach over the neighbours'.
        y = bins.counts[k] if rows == 1 else most * (1.1, 1.9)[k % 2]
        x = bins.edges[k : k + 2].mean()
        strip.text(x, y, word, fontsize=size, ha="center", va="bottom")
    strip.set_ylim(0, (1.5, 2, 2.8)[rows] * most)
    strip.xaxis.set_visible(False)
    strip.set_yticks([])
    strip.spines[["top", "left", "right"]].set_visible(False)
    strip.set_ylabel("n", rotation=0, labelpad=8, va="center")
    return strip


def _upright(words: list[str], bins: ReliabilityBins, ax: Axes) -> tuple[float, int]:
    """The size of upright numbers over bins, and in how many rows they fit: 1, 2, or 0 for none."""
    centres, widths = (bins.edges[:-1] + bins.edges[1:]) / 2, np.diff(bins.edges)
    # A number that is wider than its bar would lie on a taller neighbour.
    around = np.pad(bins.counts, 1)
    tall = bins.counts >= np.maximum(around[:-2], around[2:])
    em = plt.rcParams["font.size"]
    for rows in (1, 2):
        for size in (em / 1.2, 0.75 * em):  # "small", and 9 px on a page
            # Not measured, for the reason above; a digit is at most 0.69 em wide.
            digit = 0.69 * size * ax.figure.dpi / 72 / min(ax.bbox.size)  # in sides of the square
            spans = digit * np.array([len(word) for word in words])
            room = centres[rows:] - centres[:-rows] - (spans[rows:] + spans[:-rows]) / 2
            # Closer than a quarter of a digit, two numbers look like one.
            if room.min(initial=1) > digit / 4 and (rows == 2 or (tall | (spans < widths)).all()):
                return size, rows
    return 0, 0


def _short(count: int) -> str:
    """A count in at most four characters, such as 998, 1234, 12k."""
    return str(count) if count < 10_000 else f"{count / 1000:.0f}k"


def _on_white(colour: str, alpha: float) -> tuple[float, ...]:
    """The opaque equivalent of a transparent ``colour`` on white."""
    return tuple(1 - alpha * (1 - part) for part in to_rgb(colour))
