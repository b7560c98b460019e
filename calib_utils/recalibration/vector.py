"""Vector scaling."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils.recalibration._affine import fit_diagonal
from calib_utils.recalibration._features import CentredRows, MaskedRows, centred, start_of
from calib_utils.recalibration.multiclass import AffineRecalibrator

__all__ = ["VectorScaling"]


class VectorScaling(AffineRecalibrator):
    """Scale and shift the logit of each class separately: softmax(w * (z - mean(z)) + b).

    The mean over the classes, which the paper does not subtract, makes the map the same for logits
    that differ by a constant. The 2K parameters are fitted by NLL without
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

    _axes: ClassVar[int] = 1

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        start, problems = start_of(logits, labels, weights)
        rows, masked = CentredRows(logits, start), MaskedRows.of(logits)
        fit = fit_diagonal(rows, labels, 1.0, masked, weights)
        self.weights_, self.intercept_ = fit.weights / start, fit.intercept
        return problems + fit.problems

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return centred(logits)
