"""Calibration errors from batches, in memory that does not grow with them."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from calib_utils._numerics import softmax
from calib_utils.metrics.bins import (
    ReliabilityBins,
    confidence_and_correct,
    expected_gap,
    maximum_gap,
    means,
    root_mean_square_gap,
    sums,
    uniform_edges,
    uniform_index,
)
from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import dtype_name, like, to_numpy
from calib_utils.predictions.checks import check_inputs, check_n_bins, check_whole
from calib_utils.predictions.gate import taken
from calib_utils.predictions.labels import check_frames, check_labels, in_rows, without_ignored
from calib_utils.predictions.scores import check_logits, look_like_probs

# Of all metrics, because one of its own could be neither copied nor sent.
_ADDING = threading.Lock()
_NORMS = {"l1": expected_gap, "l2": root_mean_square_gap, "max": maximum_gap}


def _of_logits(given: Predictions, name: str) -> Predictions:
    """Predictions of probabilities, in float64 if they came as logits."""
    if given.inputs == "probs":
        return given
    from scipy.special import expit

    logits = check_logits(given.array, name)
    for doubt in look_like_probs(logits):
        warnings.warn(doubt, stacklevel=3)
    probs = softmax(logits) if logits.ndim == 2 else expit(logits.astype(np.float64))
    return replace(given, scores=probs, array=probs, inputs="probs", _checked=True)


class CalibrationError:
    """The calibration error of predictions that come in batches; threads may update it.

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

    sums: Any
    columns: Any

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
        check_inputs(inputs)
        if ignore_index is not None:
            check_whole(ignore_index, "ignore_index")
        self.norm = norm
        self.inputs = inputs
        self.ignore_index = ignore_index
        self._begin(check_n_bins(n_bins))

    def _begin(self, n_bins: int) -> None:
        self.sums = np.zeros((3, n_bins))
        self.columns = np.zeros((), np.int64)

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return int(self.sums.shape[-1])

    def update(self, probs: Any, labels: Any = None) -> None:
        """Add a batch, which may be empty. A batch that raises an error changes nothing.

        Args:
            probs: (N, K), or (N,) for the positive class, with the same K in all batches; or
                (batch, token, K), where each token is a sample, or (N, K, ...), as in segmentation,
                where each pixel is. Logits of the same shapes if ``inputs`` is "logits".
            labels: (N,), integers; or the shape of ``probs`` without the axis of the classes;
                omitted if ``probs`` are ``Predictions``, whose weights are relative to those of
                all batches, 1 by default. A sample of weight 0 adds nothing, so all of them may
                be 0.

        Raises:
            ValueError: for bad input.

        Warns:
            UserWarning: if the logits look like probabilities.
        """
        name = "probs" if self.inputs == "probs" else "probs (inputs='logits')"
        if not isinstance(probs, Predictions):
            check_frames(probs, labels)
            probs, labels = in_rows(probs, labels, name)
            if self.ignore_index is not None:
                probs, labels = without_ignored(probs, labels, self.ignore_index)
            if len(probs.shape) and probs.shape[0] == 0:
                check_labels(np.asarray(to_numpy(labels, "labels"), np.int64), 0, 1)
                return
        given = taken(probs, labels, inputs=self.inputs, name=name, padding=True)
        if self.ignore_index is not None:
            kept = given.labels != self.ignore_index
            weights = 1.0 if given.sample_weight is None else given.sample_weight
            given = given if kept.all() else replace(given, sample_weight=kept * weights)
        self._add(self._sums_of(_of_logits(given, name)), given.array[:1].size, "probs")

    def merge(self, other: Self) -> None:
        """Add all that ``other`` has seen.

        Raises:
            ValueError: if ``other`` is no such metric, has a different number of bins, or saw
                predictions with a different number of columns.
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
            self._add(to_numpy(other.sums, "other"), columns, "other")

    def reset(self) -> None:
        """Forget all batches."""
        self._begin(self.n_bins)

    def compute(self) -> Any:
        """The error so far, 0 to 1.

        Raises:
            ValueError: if there are no predictions yet.
        """
        if not self.sums[0].any():
            raise ValueError("probs: expected predictions, found none; call update first")
        return _NORMS[self.norm](self.bins())

    def _add(self, bin_sums: np.ndarray, columns: int, name: str) -> None:
        with _ADDING:
            before = int(self.columns)
            if before not in (0, columns):
                shapes = ["(N,)" if k == 1 else f"(N, {k})" for k in (before, columns)]
                raise ValueError(
                    f"{name}: expected shape {shapes[0]}, as in the batches before, found "
                    f"{shapes[1]}; these are different questions, so use a separate metric for each"
                )
            self.sums = self.sums + like(bin_sums, self.sums)
            if not before:
                self.columns = like(np.array(columns), self.columns)

    def bins(self) -> ReliabilityBins:
        """The bins so far, as NumPy arrays; ``counts`` are integers unless there are weights."""
        bin_sums = to_numpy(self.sums, "sums")
        return means(uniform_edges(self.n_bins), bin_sums, not (bin_sums[0] % 1).any())

    def _sums_of(self, predictions: Predictions) -> np.ndarray:
        confidences, correct = confidence_and_correct(predictions)
        index = uniform_index(confidences, self.n_bins, dtype_name(predictions.scores))
        return sums(index, confidences, correct, self.n_bins, predictions.sample_weight)
