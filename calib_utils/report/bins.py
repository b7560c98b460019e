"""The numbers behind reliability diagrams, as a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from calib_utils.metrics import ReliabilityBins
from calib_utils.report.tables import Markdown, table

__all__ = ["bin_table"]


def bin_table(
    bins: Mapping[str, ReliabilityBins], what: str = "counts", min_count: int = 0
) -> Markdown:
    """What each bin holds, a row for each bin and a column for each set of predictions.

    A dagger marks numbers from bins with fewer than ``min_count`` samples, a dash stands for
    bins without any.

    Args:
        bins: for the head of each column, the bins of `reliability_bins`; the edges of all are
            the same.
        what: "counts", or "accuracy" or "confidence", which are shown in percent.
        min_count: below this many samples a number is chance.

    Raises:
        ValueError: if there are no bins, their edges differ, or there is no such ``what``.

    Example:
        >>> from calib_utils.metrics import reliability_bins
        >>> bin_table({"a": reliability_bins([0.4, 0.7, 0.9], [0, 1, 1], n_bins=2)})
        | Confidence | a |
        | --- | --- |
        | 0.00 to 0.50 | 1 |
        | 0.50 to 1.00 | 2 |
    """
    if what not in ("counts", "accuracy", "confidence"):
        raise ValueError(f"what: expected 'counts', 'accuracy' or 'confidence', found {what!r}")
    if not bins:
        raise ValueError("bins: expected at least one set of bins, found none")
    first, *others = (np.asarray(each.edges) for each in bins.values())
    if not all(np.array_equal(first, edges) for edges in others):
        raise ValueError("bins: expected the same edges in all, found different ones")
    rows = []
    for m, (low, high) in enumerate(itertools.pairwise(first)):
        row = [f"{low:.2f} to {high:.2f}"]
        for each in bins.values():
            count, value = int(each.counts[m]), float(getattr(each, what)[m])
            text = f"{count:,}" if what == "counts" else f"{100 * value:.0f}\N{NO-BREAK SPACE}%"
            mark = "\N{NO-BREAK SPACE}†" if count < min_count else ""
            row.append(text + mark if count else "\N{EN DASH}")
        rows.append(row)
    return table(["Confidence", *bins], rows)
