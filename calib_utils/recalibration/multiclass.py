"""The base of the methods for K classes, which take logits or probabilities."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils._masks import FAR, check_maskable_logits, log_of_probs
from calib_utils.predictions import Predictions, probs_of
from calib_utils.recalibration.base import Recalibrator

__all__ = ["MulticlassRecalibrator"]


class MulticlassRecalibrator(Recalibrator):
    """A recalibrator of K logits or probabilities for each sample, of shape (N, K)."""

    _far: ClassVar[float] = FAR

    def _check_values(self, predictions: Predictions) -> np.ndarray:
        if self.inputs == "logits":
            return check_maskable_logits(predictions.array, self._far)
        return log_of_probs(probs_of(predictions, self._name), self.zero_)
