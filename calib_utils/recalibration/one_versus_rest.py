"""From two classes to many."""

from __future__ import annotations

import copy
from collections import Counter

import numpy as np

from calib_utils._numerics import find_masks, row_blocks, smallest, softmax, zero_of
from calib_utils.predictions import Predictions
from calib_utils.predictions.gate import probs_of
from calib_utils.recalibration.base import MulticlassRecalibrator, check_array
from calib_utils.recalibration.binary import BinaryRecalibrator


class OneVersusRest(MulticlassRecalibrator):
    """One binary recalibrator for each class, against all others; rows are then normalised.

    Class k's recalibrator takes the softmax probability :math:`p_k` if its ``inputs`` is "probs",
    or the log-odds of :math:`p_k`, in full precision, if that is "logits". With probabilities as
    input it takes these as they are, so that equal ones stay equal.

    The classes are recalibrated independently, so the predicted class may change. Binning makes
    many probabilities equal, and the first of tied classes is the predicted one, as everywhere. A
    row in which all classes got 0 keeps its uncalibrated probabilities; before the normalisation,
    so does a class without samples.

    The fit needs 8 bytes of memory for each logit, even if the logits come from a memory map.

    Args:
        base: an unfitted binary recalibrator, which is copied for each class.
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        fitted_classes_: int64, the classes that had samples.
        calibrators_: one fitted recalibrator for each of them.

    Raises:
        ValueError: if ``base`` is not a binary recalibrator, or is one of groups.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2, after
    Zadrozny, Elkan 2002.

    Example:
        >>> from calib_utils.recalibration import HistogramBinning
        >>> logits = [[2.0, 0.0, 0.0]] * 4 + [[0.0, 2.0, 0.0]] * 4 + [[0.0, 0.0, 2.0]] * 4
        >>> labels = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0]
        >>> binning = OneVersusRest(HistogramBinning(n_bins=2)).fit(logits, labels)
        >>> binning.predict_proba([[2.0, 0.0, 0.0]]).round(3).tolist()
        [[0.75, 0.125, 0.125]]
    """

    fitted_classes_: np.ndarray
    calibrators_: list[BinaryRecalibrator]

    def __init__(self, base: BinaryRecalibrator, inputs: str = "logits"):
        self.base = base
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if not isinstance(self.base, BinaryRecalibrator):
            raise ValueError(
                "base: expected a binary recalibrator such as HistogramBinning(), found "
                f"{self.base!r}; the other methods take (N, K) themselves"
            )
        if self.base._of_groups:
            raise ValueError(
                f"base: expected one that needs no groups, found {self.base!r}; fit one on the "
                "probabilities of each class"
            )
        self.base._check_arguments()

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        counts = np.bincount(labels, minlength=logits.shape[1])
        of_probs = self.inputs == self.base.inputs == "probs"  # bins have edges of their type
        inputs = np.empty(logits.shape[::-1], logits.dtype if of_probs else float)  # a class a row
        for rows, block in row_blocks(logits):
            inputs[:, rows] = self._inputs(block).T
        masked = find_masks(logits)
        self.fitted_classes_ = np.flatnonzero(counts)
        self.calibrators_ = []
        problems: Counter[str] = Counter()
        for k in self.fitted_classes_:
            calibrator = copy.copy(self.base)
            used = slice(None) if masked is None else ~masked[:, k]
            of_class = (labels[used] == k).astype(np.int64)
            of_rows = None if weights is None else weights[used]
            if self.base._zeros_matter():
                common = self.zero_ if of_probs else 0.0
                calibrator.zero_ = common or zero_of(inputs[k][used], weights=of_rows)[0]
            problems.update(calibrator._fit(inputs[k][used], of_class, of_rows))
            calibrator._say_fitted(of_class.shape)
            self.calibrators_.append(calibrator)
        return [
            f"{text} (for {times} of {len(counts)} classes)" for text, times in problems.items()
        ]

    def _zeros_matter(self) -> bool:
        inner = self.base.inputs == "logits" or self.base._zeros_matter()
        return inner and super()._zeros_matter()

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        if self.inputs == "probs":
            original = logits / logits.sum(axis=1, keepdims=True, dtype=np.float64)
        else:
            original = softmax(logits)
        inputs = self._inputs(logits)
        masked = find_masks(logits)
        if masked is not None:
            inputs = np.where(masked, 0, inputs)  # any number, because its result is not used
        result = original.copy()
        for k, calibrator in zip(self.fitted_classes_, self.calibrators_, strict=True):
            result[:, k] = calibrator._predict(inputs[:, k])
        if masked is not None:
            result[masked] = 0
        sums = result.sum(axis=1, keepdims=True)
        return np.where(sums > 0, result / np.where(sums > 0, sums, 1), original)

    def _check_learned(self) -> None:
        check_array(self.fitted_classes_, "fitted_classes_", (None,))
        expected, found = len(self.fitted_classes_), len(self.calibrators_)
        if found != expected:
            raise ValueError(f"calibrators_: expected {expected}, found {found}")
        for calibrator in self.calibrators_:
            calibrator._check_fit()

    def _n_parameters(self) -> int:
        return sum(calibrator.n_parameters_ for calibrator in self.calibrators_)

    def _check_values(self, predictions: Predictions) -> np.ndarray:
        """With ``inputs="probs"`` probabilities, not their logarithms."""
        if self.inputs == "logits":
            return super()._check_values(predictions)
        return np.minimum(probs_of(predictions, self._name), 1)

    def _inputs(self, logits: np.ndarray) -> np.ndarray:
        """The inputs of the binary recalibrators: probabilities, or log-odds in float64."""
        if self.inputs == "probs":
            return logits if self.base.inputs == "probs" else _odds_of_probs(logits, self.zero_)
        return softmax(logits) if self.base.inputs == "probs" else _log_odds(logits)


def _odds_of_probs(probs: np.ndarray, zero: float) -> np.ndarray:
    """log(p / (1 - p)) of each probability, where 0 counts as ``zero``.

    That depends on p alone, so that ties stay ties; but a p that was rounded to 1 is as far from 1
    as the others of its row sum to, if they are so small.
    """
    inside = np.maximum(probs, max(zero, smallest(probs)), dtype=np.float64)
    far = max(zero, float(np.finfo(probs.dtype).epsneg))
    near = inside > 1 - far
    others = np.minimum(inside.sum(axis=1, keepdims=True, where=~near), far)
    rest = np.where(near, np.log(others), np.log1p(-np.minimum(inside, 1 - far)))
    return np.asarray(np.log(inside) - rest)


def _log_odds(logits: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)) of each softmax probability p, even if p rounds to 0 or 1."""
    z = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
    top = z.argmax(axis=1, keepdims=True)
    powers = np.exp(z)
    total = powers.sum(axis=1, keepdims=True)
    # The sum of the others' powers; for the largest it is computed separately.
    np.put_along_axis(powers, top, 0, axis=1)
    rest = total - np.exp(z)
    np.put_along_axis(rest, top, powers.sum(axis=1, keepdims=True), axis=1)
    tiny = np.finfo(np.float64).tiny
    return z - np.log(np.maximum(rest, tiny))
