"""The bases of the methods for K classes, which take logits or probabilities."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from calib_utils._numerics import FAR, find_masks, log_of_probs, log_softmax, softmax
from calib_utils.predictions import Predictions, check_maskable_logits, probs_of
from calib_utils.recalibration._learned import check_array
from calib_utils.recalibration._minimum import without_masked
from calib_utils.recalibration.base import Recalibrator

__all__ = ["AffineRecalibrator", "MulticlassRecalibrator"]


class MulticlassRecalibrator(Recalibrator):
    """A recalibrator of K logits or probabilities for each sample, of shape (N, K)."""

    _far: ClassVar[float] = FAR

    def _check_values(self, predictions: Predictions) -> np.ndarray:
        if self.inputs == "logits":
            return check_maskable_logits(predictions.array, self._far)
        return log_of_probs(probs_of(predictions, self._name), self.zero_)


class AffineRecalibrator(MulticlassRecalibrator):
    """softmax(W x + b) for features x of the logits; weights of shape (K,) are a diagonal W."""

    weights_: np.ndarray
    intercept_: np.ndarray

    _axes: ClassVar[int] = 2  # of the weights

    @abstractmethod
    def _features(self, logits: np.ndarray) -> np.ndarray:
        """The features x of a block of logits, in float64."""

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return softmax(self._scores(logits))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return log_softmax(self._scores(logits))

    def _scores(self, logits: np.ndarray) -> np.ndarray:
        x, w = self._features(logits), self.weights_
        scores = (x * w if w.ndim == 1 else x @ w.T) + self.intercept_
        return without_masked(scores, find_masks(logits))

    def _check_learned(self) -> None:
        check_array(self.weights_, "weights_", (self.n_classes_,) * self._axes)
        check_array(self.intercept_, "intercept_", (self.n_classes_,))

    def _n_parameters(self) -> int:
        return self.weights_.size + self.intercept_.size
