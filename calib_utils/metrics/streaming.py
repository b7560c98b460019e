"""Calibration errors from batches, in memory that does not grow with them."""

from __future__ import annotations

import numpy as np

from calib_utils.metrics.batches import Stream
from calib_utils.metrics.bins import (
    ReliabilityBins,
    expected_gap,
    maximum_gap,
    means,
    root_mean_square_gap,
    sums,
    uniform_edges,
    uniform_index,
)
from calib_utils.metrics.calibration import class_sums, classwise_gap, with_classes
from calib_utils.metrics.confidences import confidence_and_correct
from calib_utils.predictions import Predictions, check_count, check_n_bins, dtype_name, to_numpy

__all__ = ["CalibrationError", "ClasswiseCalibrationError"]

_NORMS = {"l1": expected_gap, "l2": root_mean_square_gap, "max": maximum_gap}


class CalibrationError(Stream):
    """The calibration error of predictions that come in batches.

    However the batches are cut, it equals `expected_calibration_error` of all predictions at once,
    or `maximum_calibration_error` with ``norm="max"``.

    If torchmetrics is installed, it is one of its metrics: it can be called for the error of a
    batch, moves with ``to``, merges the results of processes, draws its values with ``plot``, and
    can be part of a ``MetricCollection``. It then computes a tensor, which is NaN if there were no
    predictions. Its sums stay in float64, which Apple's GPUs do not have, so leave it on the CPU
    there; batches may come from any device. Its arguments mean the same as in torchmetrics,
    with one difference: torchmetrics treats a batch as logits if any value lies outside 0 to 1,
    whereas here ``inputs`` decides for all batches.

    Example:
        >>> metric = CalibrationError()
        >>> metric.update([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> metric.update([[0.2, 0.8]], [1])
        >>> round(float(metric.compute()), 3)
        0.3

    There are no bins of equal mass, because their edges depend on all predictions.

    To share the work among processes without torchmetrics, give each its own object and ``merge``
    them, or add up their `sums`, for example with
    ``torch.distributed.all_reduce(torch.from_numpy(m.sums))``.

    Args:
        n_bins: the number of bins of equal width, M.
        norm: how the gaps of the bins are combined: "l1" is their mean (the ECE) and "l2" the root
            of their mean square (RMSCE), both weighted by the predictions in each bin, and "max" is
            the largest gap (the MCE).
        inputs: "probs", or "logits" if batches are logits, whose softmax or sigmoid is computed in
            float64; -inf masks a class.
        ignore_index: rows whose label is this number, such as -100, are left out unread.

    Attributes:
        sums: its whole state, float64, shape (3, M): for each bin the number of predictions, the
            number of correct ones, and the sum of their confidences; with weights, sums of weights
            take the place of numbers.
        columns: the number of columns of the predictions, 1 for (N,), and 0 before there are any.

    Raises:
        ValueError: if ``n_bins`` is not an integer from 1 to a million, ``norm`` or ``inputs`` is
            not known, or ``ignore_index`` is no integer.
    """

    def __init__(
        self,
        n_bins: int = 15,
        norm: str = "l1",
        *,
        inputs: str = "probs",
        ignore_index: int | None = None,
    ):
        if norm not in _NORMS:
            raise ValueError(f"norm: expected 'l1', 'l2' or 'max', found {norm!r}")
        self.norm = norm
        super().__init__((3, check_n_bins(n_bins)), inputs, ignore_index)

    def bins(self) -> ReliabilityBins:
        """The bins so far, as NumPy arrays; ``counts`` are integers unless there are weights."""
        bin_sums = to_numpy(self.sums, "sums")
        return means(uniform_edges(self.n_bins), bin_sums, not (bin_sums[0] % 1).any())

    def _error(self) -> float:
        return _NORMS[self.norm](self.bins())

    def _sums_of(self, predictions: Predictions) -> np.ndarray:
        confidences, correct = confidence_and_correct(predictions)
        index = uniform_index(confidences, self.n_bins, dtype_name(predictions.scores))
        return sums(index, confidences, correct, self.n_bins, predictions.sample_weight)


class ClasswiseCalibrationError(Stream):
    """The class-wise calibration error of predictions that come in batches.

    However the batches are cut, it equals `classwise_calibration_error` of all predictions at once.
    It can be used in all the ways in which `CalibrationError` can.

    Example:
        >>> metric = ClasswiseCalibrationError(3)
        >>> metric.update([[0.6, 0.3, 0.1]] * 4, [0] * 4)
        >>> metric.update([[0.6, 0.3, 0.1]] * 6, [1] * 3 + [2] * 3)
        >>> round(float(metric.compute()), 4)
        0.1333

    Args:
        n_classes: the number of classes, K; 2 also for probabilities (N,).
        n_bins: the number of bins of equal width of each class, M.
        inputs: "probs" or "logits", as of `CalibrationError`.
        ignore_index: rows whose label is this number, such as -100, are left out unread.

    Attributes:
        sums: its whole state, float64, shape (3, K, M): for each class and bin the number of
            samples, the number of those of the class, and the sum of its probabilities; with
            weights, sums of weights take the place of numbers.
        columns: the number of columns of the predictions, 1 for (N,), and 0 before there are any.

    Raises:
        ValueError: if ``n_classes`` is not an integer from 2, ``n_bins`` not one from 1, to a
            million, ``inputs`` is not known, or ``ignore_index`` is no integer.
    """

    def __init__(
        self,
        n_classes: int,
        n_bins: int = 15,
        *,
        inputs: str = "probs",
        ignore_index: int | None = None,
    ):
        if check_count(n_classes, "n_classes", "give the number of columns") == 1:
            raise ValueError("n_classes: expected at least 2, found 1; give 2 for shape (N,)")
        super().__init__((3, n_classes, check_n_bins(n_bins)), inputs, ignore_index)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.sums.shape[1])

    def _error(self) -> float:
        return classwise_gap(to_numpy(self.sums, "sums"))

    def _sums_of(self, predictions: Predictions) -> np.ndarray:
        return class_sums(with_classes(predictions), self.n_bins)

    def _check_columns(self, columns: int, name: str) -> None:
        if max(columns, 2) != self.n_classes:
            found = "(N,)" if columns == 1 else f"(N, {columns})"
            raise ValueError(
                f"{name}: expected shape (N, {self.n_classes}), as n_classes is, found {found}"
            )
        super()._check_columns(columns, name)
