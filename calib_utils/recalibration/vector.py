"""Vector scaling."""

from __future__ import annotations

import numpy as np

from calib_utils._arrays import log_softmax, softmax
from calib_utils._masks import find_masks
from calib_utils.recalibration._affine import fit_diagonal
from calib_utils.recalibration._features import CentredRows, MaskedRows, centred, start_of
from calib_utils.recalibration._learned import check_array
from calib_utils.recalibration._minimum import without_masked
from calib_utils.recalibration.multiclass import MulticlassRecalibrator

__all__ = ["VectorScaling"]


class VectorScaling(MulticlassRecalibrator):
    """Scale and shift the logit of each class separately: softmax(w * z + b).

    z are the logits minus their mean over the classes. The 2K parameters are fitted by NLL without
    regularisation. It may change the predicted class.

    A class without samples keeps w = 1/T, of temperature scaling, and b = 0, while the b of
    the others have mean 0; otherwise its probability would fall to 0.

    Besides the logits, which may be in a memory map, the fit needs at most 800 MB for a copy of
    them and their probabilities. If there are more than 50 million, it rereads them in each step.

    Args:
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        weights_: w, float64, shape (K,).
        intercept_: b, float64, shape (K,).

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2.

    Example:
        >>> logits = [[2.0, 0.0]] * 4 + [[0.0, 2.0]] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1]
        >>> scaling = VectorScaling().fit(logits, labels)
        >>> scaling.predict_proba([[2.0, 0.0], [0.0, 2.0]]).round(2).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    weights_: np.ndarray
    intercept_: np.ndarray

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        start, problems = start_of(logits, labels, weights)
        rows, masked = CentredRows(logits, start), MaskedRows.of(logits)
        fit = fit_diagonal(rows, labels, 1.0, masked, weights)
        self.weights_, self.intercept_ = fit.weights / start, fit.intercept
        return problems + fit.problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return softmax(self._scores(logits))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return log_softmax(self._scores(logits))

    def _scores(self, logits: np.ndarray) -> np.ndarray:
        scores = centred(logits) * self.weights_ + self.intercept_
        return without_masked(scores, find_masks(logits))

    def _check_learned(self) -> None:
        check_array(self.weights_, "weights_", (self.n_classes_,))
        check_array(self.intercept_, "intercept_", (self.n_classes_,))

    def _n_parameters(self) -> int:
        return self.weights_.size + self.intercept_.size
