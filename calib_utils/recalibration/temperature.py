"""Temperature scaling, and its ensemble."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calib_utils._numerics import HUGE, log_softmax, row_blocks, softmax
from calib_utils.predictions import check_number
from calib_utils.recalibration._learned import check_array
from calib_utils.recalibration._optimum import Optimum, optimal_temperature
from calib_utils.recalibration.multiclass import MulticlassRecalibrator

__all__ = ["EnsembleTemperatureScaling", "TemperatureScaling"]

_LEFT = 1e-9  # of NLL still to gain, at which the fit of the weights may end
_STEPS = 200  # of that fit; a typical one needs five
_RIDGE = 1e-10  # because T may be 1, or one member a multiple of another
_FALL = 0.1  # the share of the decrease predicted by the slope that a step must achieve


class TemperatureScaling(MulticlassRecalibrator):
    """Divide all logits by one number, the temperature T: softmax(z / T).

    T > 1 lowers the confidences and T < 1 raises them. The order of the classes, and so the
    predicted class and the accuracy, do not change. With two classes ``logits`` may be
    (N,), the log-odds z of the positive class: sigmoid(z / T).

    `fit` finds the T of lowest NLL: it stops when the derivative in 1/T is zero to 1e-9 of
    its size at T = 0. If there is no such T, it warns and sets T to its bound, which depends on
    the size of the logits. If every label is the predicted class, the NLL falls as T goes to 0, and
    the lower bound gives certainty. If the logits are no better than chance, the NLL falls as T
    grows, and the upper bound gives uniform probabilities. A class without samples is not a special
    case, because T is shared by all classes.

    Args:
        temperature: a fixed T, above 0. `predict_proba` then works without `fit` for logits
            (N, K), and for any K; `fit` checks its input and leaves T unchanged. Log-odds (N,) are
            accepted only after a fit on log-odds, because one row of K logits looks the same.
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        temperature_: the temperature T.
        n_passes_: how often `fit` read all logits, including the check for bad input.

    Raises:
        ValueError: if ``temperature`` is not a finite number above 0.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2.

    Example:
        >>> logits, labels = [[2.0, 0.0]] * 4, [0, 0, 0, 1]
        >>> scaling = TemperatureScaling().fit(logits, labels)
        >>> round(scaling.temperature_, 2)
        1.82
        >>> scaling.predict_proba([[2.0, 0.0]]).round(2).tolist()
        [[0.75, 0.25]]
    """

    temperature_: float
    n_passes_: int

    _shapes: ClassVar[tuple[str, ...]] = ("(N, K)", "(N,)")
    _keeps_class: ClassVar[bool] = True
    _far: ClassVar[float] = HUGE

    def __init__(self, temperature: float | None = None, inputs: str = "logits"):
        self.temperature = temperature
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.temperature is not None:
            advice = "; 1 leaves the logits as they are"
            check_number(self.temperature, "temperature", 0, above=True, advice=advice)
            self.temperature_ = float(self.temperature)

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        if self.temperature is not None:
            return []
        if logits.ndim == 1:
            logits = np.stack([np.zeros_like(logits), logits], axis=1)
        best = optimal_temperature(logits, labels, weights)
        self.temperature_, self.n_passes_ = float(best.temperature), best.passes + 1
        return _problems(best)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return tempered(logits, self.temperature_)

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return tempered(logits, self.temperature_, log=True)

    def _n_parameters(self) -> int:
        return 1 if self.temperature is None else 0

    def _require_fitted(self) -> None:
        if self.temperature is None or "n_classes_" in vars(self):
            super()._require_fitted()
        else:
            self._check_arguments()  # the temperature may have been changed

    def __sklearn_is_fitted__(self) -> bool:
        return self.temperature is not None or super().__sklearn_is_fitted__()

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if self.temperature is None:
            super()._check_shape(shape)
        elif len(shape) == 1 and vars(self).get("shape_") != "(N,)":
            raise ValueError(
                f"logits: expected shape (N, K), found {shape}, which may be one row, or the "
                "log-odds of many samples; for one row give logits[:1], and for log-odds call fit "
                "first, which keeps the temperature"
            )

    def _check_learned(self) -> None:
        check_number(self.temperature_, "temperature_", 0, above=True)


class EnsembleTemperatureScaling(MulticlassRecalibrator):
    """A weighted mean of tempered, original and uniform probabilities.

    :math:`w_1` softmax(z / T) + :math:`w_2` softmax(z) + :math:`w_3 / K`, with weights of 0 or more
    that sum to one; K is the number of classes that are not masked. T is that of
    `TemperatureScaling`; given T, the weights minimise the NLL, which is convex in them. The order
    of the classes, and so the accuracy, do not change. A class without samples is not a special
    case.

    Args:
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        temperature_: the temperature T.
        weights_: float64, shape (3,): :math:`w_1, w_2, w_3`.

    Source: Zhang, Kailkhura, Han 2020, "Mix-n-Match: Ensemble and Compositional Methods for
    Uncertainty Calibration in Deep Learning", section 3.2.

    Example:
        >>> logits, labels = [[2.0, 0.0]] * 4, [0, 0, 0, 1]
        >>> scaling = EnsembleTemperatureScaling().fit(logits, labels)
        >>> scaling.predict_proba([[2.0, 0.0]]).round(2).tolist()
        [[0.75, 0.25]]
    """

    temperature_: float
    weights_: np.ndarray

    _keeps_class: ClassVar[bool] = True

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        best = optimal_temperature(logits, labels, weights)
        self.temperature_ = float(best.temperature)
        of_label = np.empty((len(logits), 3))
        for rows, block in row_blocks(logits):
            of_label[rows, 2] = 1 / (block > -np.inf).sum(axis=1)
            for column, temperature in enumerate((self.temperature_, 1.0)):
                probs = tempered(block, temperature)
                of_label[rows, column] = probs[np.arange(len(block)), labels[rows]]
        self.weights_, problems = _best_weights(of_label, weights)
        return _problems(best) + problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        first, second, third = self.weights_
        result = first * tempered(logits, self.temperature_)
        if second > 0:
            result += second * tempered(logits, 1.0)
        possible = logits > -np.inf
        return result + third * possible / possible.sum(axis=1, keepdims=True)

    def _check_learned(self) -> None:
        check_number(self.temperature_, "temperature_", 0, above=True)
        check_array(self.weights_, "weights_", (3,), 0, 1)
        if abs(self.weights_.sum() - 1) > 1e-9:
            raise ValueError(f"weights_: expected a sum of 1, found {self.weights_.sum():g}")

    def _n_parameters(self) -> int:
        return 3  # T and two weights, which give the third


def _problems(best: Optimum) -> list[str]:
    if not best.problem:
        return []
    return [f"temperature: {best.problem}; set to {best.temperature:.3g}"]


def tempered(logits: np.ndarray, temperature: float, log: bool = False) -> np.ndarray:
    """softmax(logits / T), or sigmoid(logits / T) for logits of shape (N,), in float64.

    Args:
        logits: (N, K), or (N,) for two classes.
        temperature: T.
        log: whether to return the logarithm.
    """
    if logits.ndim == 1:
        logits = np.stack([np.zeros_like(logits), logits], axis=1)
        return tempered(logits, temperature, log)[:, 1]
    # The largest is subtracted first, because dividing by a small T could overflow.
    with np.errstate(over="ignore"):
        scores = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
        scores /= temperature
    return log_softmax(scores) if log else softmax(scores)


def _best_weights(
    probs: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, list[str]]:
    """The weights w >= 0, summing to one, of highest mean log(probs @ w).

    They also minimise sum(w) - mean log(probs @ w), without a condition on the sum. Each step
    minimises the quadratic approximation of this function at w, for weights of 0 or more, goes
    towards its minimum as far as the function falls, and divides by the sum, which lowers it again.

    Args:
        probs: (N, J), the probability of the label from each of J members, one above 1e-100.
        sample_weight: (N,), how often each row counts in the mean.

    Returns:
        The weights, and a warning if their NLL may be more than `_LEFT` above the lowest.

    Source: Kim, Carbonetto, Stephens, Anitescu 2020, "A Fast Algorithm for Maximum Likelihood
    Estimation of Mixture Proportions Using Sequential Quadratic Programming".
    """
    from scipy.linalg import cholesky, solve_triangular
    from scipy.optimize import nnls

    share = np.ones(len(probs)) if sample_weight is None else sample_weight
    root = np.sqrt(share / share.sum())

    def mixed(weights: np.ndarray) -> np.ndarray:
        return np.maximum(probs @ weights, 1e-100)  # whose square is not zero

    def objective(weights: np.ndarray) -> float:
        return float(weights.sum() - root**2 @ np.log(mixed(weights)))

    weights = np.full(probs.shape[1], 1 / probs.shape[1])
    for _ in range(_STEPS):
        rows = probs * (root / mixed(weights))[:, None]  # rows.T @ rows is the Hessian
        gradient = 1 - root @ rows
        # The mean is concave in w, and its gradient, 1 - gradient, has the product 1 with w, so
        # no other weights can gain more than the largest part of it minus 1.
        left = -float(gradient.min())
        if left <= _LEFT:
            return weights, []
        size = np.maximum(np.linalg.norm(rows, axis=0), 1e-3)  # smaller ones go to weight 0
        triangle = cholesky(rows.T @ rows / np.outer(size, size) + _RIDGE * np.eye(size.size))
        target = triangle @ (size * weights)
        target -= solve_triangular(triangle, gradient / size, trans="T")
        step = nnls(triangle, target)[0] / size - weights
        now, fall = objective(weights), _FALL * float(gradient @ step)
        while objective(weights + step) > now + fall + 1e-14 * abs(now):
            step, fall = step / 2, fall / 2
        weights = weights + step
        weights /= weights.sum()
    return weights, [f"weights: the fit ended up to {left:.2g} above its lowest NLL"]
