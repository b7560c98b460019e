"""Reliability diagrams of several predictions of the same samples, side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.layout_engine import ConstrainedLayoutEngine

from calib_utils.plots.diagrams import ReliabilityDiagram, reliability_diagram


def reliability_diagrams(
    probs: Mapping[str, Any],
    labels: Any = None,
    *,
    n_bins: Any = 15,
    strategy: str = "uniform",
    min_count: int = 0,
    consistency: float | None = None,
) -> dict[str, ReliabilityDiagram]:
    """A reliability diagram for each of several predictions, such as before and after.

    They stand two in a row. The strips on top have no numbers, which would be too small to read.
    There is one legend above all diagrams, where it hides no bar.

    Args:
        probs: for each title, the probabilities, shape (N, K), or (N,) for those of the
            positive class.
        labels: classes, shape (N,); none where each of ``probs`` is ``Predictions``.
        n_bins: number of bins, their edges, or "auto", as in
            `calib_utils.metrics.reliability_bins`.
        strategy: "uniform" or "quantile".
        min_count: bins with fewer samples are drawn pale, because their bars are mostly noise.
        consistency: as in `reliability_diagram`.

    Returns:
        The diagrams, by their titles.

    Raises:
        ValueError: if there is nothing to draw, or an argument is not valid.

    Example:
        >>> labels = [0] * 6 + [1] * 4
        >>> before_and_after = {"before": [[0.8, 0.2]] * 10, "after": [[0.6, 0.4]] * 10}
        >>> drawn = reliability_diagrams(before_and_after, labels)
        >>> {title: round(each.ece, 2) for title, each in drawn.items()}
        {'before': 0.2, 'after': 0.0}
    """
    _check_titled(probs)
    columns = min(2, len(probs))
    rows = math.ceil(len(probs) / columns)
    fig, axes = plt.subplots(
        rows,
        columns,
        figsize=(max(2.4 * columns, 3.6), 2.5 * rows + 1.1),
        squeeze=False,
        # A title is closer to its own diagram than to the one above.
        layout=ConstrainedLayoutEngine(hspace=0.08),
    )
    drawn = {}
    signs: dict[str, Any] = {}
    for ax, (title, values) in zip(axes.flat, probs.items(), strict=False):
        try:
            drawn[title] = reliability_diagram(
                values,
                labels,
                n_bins=n_bins,
                strategy=strategy,
                min_count=min_count,
                counts=False,
                consistency=consistency,
                ax=ax,
            )
        except ValueError:
            plt.close(fig)  # so that a notebook does not show it below the error
            raise
        drawn[title].counts_ax.set_title(title, pad=0)
        legend = ax.get_legend()
        names = (text.get_text() for text in legend.get_texts())
        signs |= dict(zip(names, legend.legend_handles, strict=True))
        legend.remove()
        # Only the outer axes have names.
        if not ax.get_subplotspec().is_first_col():
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if len(drawn) + columns <= len(probs):
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    for ax in axes.flat[len(probs) :]:
        ax.remove()
    fig.legend(
        list(signs.values()),
        list(signs),
        loc="outside upper center",
        ncols=2,
        fontsize="small",
    )
    return drawn


def _check_titled(probs: Any) -> None:
    """Raise a ValueError unless ``probs`` is a mapping with at least one title."""
    if not isinstance(probs, Mapping) or not probs:
        raise ValueError(
            "probs: expected at least one set of probabilities, by title, found "
            f"{'none' if isinstance(probs, Mapping) else type(probs).__name__}"
        )
