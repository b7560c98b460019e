"""The expected calibration error from batches, in memory that does not grow with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils._arrays import dtype_name
from calib_utils._checks import check_n_bins, check_sample_weight
from calib_utils.metrics.bins import (
    ReliabilityBins,
    expected_gap,
    means,
    sums,
    uniform_edges,
    uniform_index,
)
from calib_utils.metrics.confidences import confidence_and_correct

__all__ = ["CalibrationError"]


class CalibrationError:
    """The expected calibration error of predictions that come in batches.

    It equals `expected_calibration_error` of all batches at once, however they are cut.

    Example:
        >>> metric = CalibrationError()
        >>> metric.update([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> metric.update([[0.2, 0.8]], [1])
        >>> round(metric.compute(), 3)
        0.3

    There are no bins of equal mass: their edges are known only once all predictions are.

    To share the work among processes, give each its own object and `merge` them, or add up
    their `sums`, for example with ``torch.distributed.all_reduce(torch.from_numpy(m.sums))``.

    Args:
        n_bins: how many bins of equal width, M.

    Attributes:
        sums: all that it remembers, float64, shape (3, M): for each bin how many predictions
            it holds, how many of them are correct, and their summed confidence; where there
            are weights, their sums take the place of numbers.

    Raises:
        ValueError: if ``n_bins`` is not an integer from 1 to a million.
    """

    def __init__(self, n_bins: int = 15):
        self.sums = np.zeros((3, check_n_bins(n_bins)))

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return self.sums.shape[1]

    def update(self, probs: Any, labels: Any, *, sample_weight: Any = None) -> None:
        """Add a batch. One that raises an error leaves everything as it was.

        Args:
            probs: (N, K), or (N,) for the positive class, as for `expected_calibration_error`.
            labels: (N,), integers.
            sample_weight: (N,), how much each sample counts beside those of all batches, 0 or
                more; 1 by default.

        Raises:
            ValueError: for bad input.
        """
        confidences, correct = confidence_and_correct(probs, labels)
        index = uniform_index(confidences, self.n_bins, dtype_name(probs))
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(sample_weight, len(confidences))
        self.sums += sums(index, confidences, correct, self.n_bins, weights)

    def merge(self, other: CalibrationError) -> None:
        """Add all that ``other`` has seen.

        Raises:
            ValueError: if ``other`` has another number of bins.
        """
        if other.n_bins != self.n_bins:
            raise ValueError(
                f"other: expected {self.n_bins} bins, found {other.n_bins}; "
                "give all processes the same n_bins"
            )
        self.sums += other.sums

    def bins(self) -> ReliabilityBins:
        """What each bin holds so far, as NumPy arrays; ``counts`` as integers if they are whole."""
        whole = not (self.sums[0] % 1).any()
        return means(uniform_edges(self.n_bins), self.sums, whole)

    def compute(self) -> float:
        """The expected calibration error so far, 0 to 1.

        Raises:
            ValueError: if there were no predictions yet.
        """
        if not self.sums[0].any():
            raise ValueError("probs: expected predictions, found none; call update first")
        return expected_gap(self.bins())
