"""The expected calibration error from batches, in memory that does not grow with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils._arrays import dtype_name, is_tensor, like, to_numpy
from calib_utils._checks import check_labels
from calib_utils._numbers import check_n_bins
from calib_utils.metrics.bins import (
    ReliabilityBins,
    expected_gap,
    means,
    sums,
    uniform_edges,
    uniform_index,
)
from calib_utils.metrics.confidences import confidence_and_correct
from calib_utils.predictions import Predictions, taken

__all__ = ["CalibrationError"]


class CalibrationError:
    """The expected calibration error of predictions that come in batches.

    It equals `expected_calibration_error` of all batches at once, however they are cut.

    Where torchmetrics is installed, it is one of its metrics: it can be called for the error of a
    batch, moves with ``to``, joins processes by itself, and stands in a ``MetricCollection``; what
    it computes is then a tensor, NaN where there were no predictions. Its sums stay in float64,
    which Apple's GPUs do not have: there leave it on the CPU, to which batches may come from any
    device.

    Example:
        >>> metric = CalibrationError()
        >>> metric.update([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> metric.update([[0.2, 0.8]], [1])
        >>> round(float(metric.compute()), 3)
        0.3

    There are no bins of equal mass: their edges are known only once all predictions are.

    To share the work among processes without torchmetrics, give each its own object and ``merge``
    them, or add up their `sums`, for example with
    ``torch.distributed.all_reduce(torch.from_numpy(m.sums))``.

    Args:
        n_bins: how many bins of equal width, M.
        ignore_index: rows whose label is this number, such as -100, are left out unread.

    Attributes:
        sums: all that it remembers, float64, shape (3, M): for each bin how many predictions
            it holds, how many of them are correct, and their summed confidence; where there
            are weights, their sums take the place of numbers.
        columns: how many columns the predictions have, 1 for (N,), and 0 before there are any.

    Raises:
        ValueError: if ``n_bins`` is not an integer from 1 to a million.
    """

    sums: Any
    columns: Any

    def __init__(self, n_bins: int = 15, *, ignore_index: int | None = None):
        self.ignore_index = ignore_index
        self.sums = np.zeros((3, check_n_bins(n_bins)))
        self.columns = np.zeros((), np.int64)

    @property
    def n_bins(self) -> int:
        """How many bins there are."""
        return int(self.sums.shape[1])

    def update(self, probs: Any, labels: Any = None) -> None:
        """Add a batch, which may be empty. One that raises an error leaves everything as it was.

        Args:
            probs: (N, K), or (N,) for the positive class, as for `expected_calibration_error`;
                the same K in all batches.
            labels: (N,), integers; none where ``probs`` are ``Predictions``, whose weights count
                beside those of all batches, 1 by default. A sample of weight 0 adds nothing, so
                all of them may be 0.

        Raises:
            ValueError: for bad input.
        """
        if not isinstance(probs, Predictions):
            probs = _with_rows(probs)
            if self.ignore_index is not None:
                probs, labels = self._without_ignored(probs, labels)
            if len(probs.shape) and probs.shape[0] == 0:
                check_labels(np.asarray(to_numpy(labels, "labels"), np.int64), 0, 1)
                return
        predictions = taken(probs, labels, padding=True)
        confidences, correct = confidence_and_correct(predictions)
        columns = predictions.array[:1].size
        self._check_columns(columns, "probs")
        index = uniform_index(confidences, self.n_bins, dtype_name(predictions.scores))
        weights = predictions.sample_weight
        if isinstance(probs, Predictions) and self.ignore_index is not None:
            kept = predictions.labels != self.ignore_index
            index, confidences, correct = index[kept], confidences[kept], correct[kept]
            weights = None if weights is None else weights[kept]
        self._add(sums(index, confidences, correct, self.n_bins, weights), columns)

    def merge(self, other: CalibrationError) -> None:
        """Add all that ``other`` has seen.

        Raises:
            ValueError: if ``other`` is no such metric, has another number of bins, or saw
                predictions of another number of columns.
        """
        if not isinstance(other, CalibrationError):
            raise ValueError(f"other: expected a CalibrationError, found {other!r}")
        if other.n_bins != self.n_bins:
            raise ValueError(
                f"other: expected {self.n_bins} bins, found {other.n_bins}; "
                "give all processes the same n_bins"
            )
        columns = int(other.columns)
        if columns:
            self._check_columns(columns, "other")
            self._add(to_numpy(other.sums, "other"), columns)

    def reset(self) -> None:
        """Forget all batches."""
        self.sums = np.zeros_like(self.sums)
        self.columns = np.zeros((), np.int64)

    def bins(self) -> ReliabilityBins:
        """What each bin holds so far, as NumPy arrays; ``counts`` as integers if they are whole."""
        bin_sums = to_numpy(self.sums, "sums")
        return means(uniform_edges(self.n_bins), bin_sums, not (bin_sums[0] % 1).any())

    def compute(self) -> Any:
        """The expected calibration error so far, 0 to 1.

        Raises:
            ValueError: if there were no predictions yet.
        """
        if not self.sums[0].any():
            raise ValueError("probs: expected predictions, found none; call update first")
        return expected_gap(self.bins())

    def _check_columns(self, columns: int, name: str) -> None:
        if self.columns not in (0, columns):
            shapes = ["(N,)" if k == 1 else f"(N, {k})" for k in (int(self.columns), columns)]
            raise ValueError(
                f"{name}: expected shape {shapes[0]}, as in the batches before, found {shapes[1]}; "
                "these are different questions, so give each a metric of its own"
            )

    def _add(self, bin_sums: np.ndarray, columns: int) -> None:
        self.sums = self.sums + like(bin_sums, self.sums)
        self.columns = like(np.array(columns), self.columns)

    def _without_ignored(self, probs: Any, labels: Any) -> tuple[Any, Any]:
        array = to_numpy(labels, "labels")
        if array.ndim != 1 or array.shape != probs.shape[:1]:
            raise ValueError(
                f"labels: expected shape (N,), one for each of probs {tuple(probs.shape)}, found "
                f"{array.shape}; flatten (batch, token) with logits.flatten(0, 1), labels.flatten()"
            )
        rows = np.flatnonzero(array != self.ignore_index)
        return _rows(probs, rows), _rows(labels, rows)


def _with_rows(probs: Any) -> Any:
    """Probabilities of which some rows can be taken: a plain tensor where it is, or an array."""
    plain = is_tensor(probs) and str(probs.layout) == "torch.strided" and not probs.is_nested
    return probs if plain else to_numpy(probs, "probs")


def _rows(x: Any, rows: np.ndarray) -> Any:
    """These rows, on the device on which they are."""
    return x[like(rows, x)] if is_tensor(x) else np.asarray(x)[rows]
