"""Temperature scaling, and its ensemble."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from calib_utils._arrays import log_softmax, row_blocks, softmax
from calib_utils._masks import HUGE
from calib_utils._numbers import check_number
from calib_utils.recalibration._learned import check_array
from calib_utils.recalibration._optimum import Optimum, optimal_temperature
from calib_utils.recalibration.multiclass import MulticlassRecalibrator

__all__ = ["EnsembleTemperatureScaling", "TemperatureScaling"]

_LEFT = 1e-5  # of NLL to gain, with which the fit of the weights may end


class TemperatureScaling(MulticlassRecalibrator):
    """Divide all logits by one number, the temperature T: softmax(z / T).

    T > 1 lowers the confidences and T < 1 raises them. The order of the classes, and so the
    predicted class and the accuracy, stay as they were. With two classes ``logits`` may be
    (N,), the log-odds z of the positive class: sigmoid(z / T).

    `fit` finds the T of lowest NLL: it stops when the derivative in 1/T is zero to 1e-9 of
    its size at T = 0. Where there is no such T, it warns and sets T to its bound, which
    follows the size of the logits. If every label is a predicted class the NLL falls as T
    goes to 0: the lower bound gives certainty. If the logits point to the labels no better
    than chance it falls as T grows: the upper bound gives uniform probabilities. A class
    without samples needs no special answer, as T belongs to all classes.

    Args:
        temperature: a fixed T, above 0. `predict_proba` then works without `fit` for logits
            (N, K), and for any K; `fit` checks its input and leaves T alone. Log-odds (N,) it
            takes only once it was fitted on some: else one row of K logits would pass for them.
        inputs: "logits", or "probs" for probabilities, zeros allowed.
        rescale: of ``inputs="probs"``: whether rows that rounding took from a sum of one are
            divided by it, which a warning counts.

    Attributes:
        temperature_: the temperature T.
        n_passes_: how often `fit` read all logits, the check for bad input included.

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

    def __init__(
        self, temperature: float | None = None, inputs: str = "logits", rescale: bool = False
    ):
        self.temperature = temperature
        super().__init__(inputs, rescale)

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
            self._check_arguments()  # the temperature may have been set anew

    def __sklearn_is_fitted__(self) -> bool:
        return self.temperature is not None or super().__sklearn_is_fitted__()

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if self.temperature is None:
            super()._check_shape(shape)
        elif len(shape) == 1 and vars(self).get("shape_") != "(N,)":
            raise ValueError(
                f"logits: expected shape (N, K), found {shape}, which may be one row, or the "
                "log-odds of many samples; of one row give logits[:1], and for log-odds call fit "
                "first, which keeps the temperature"
            )

    def _check_learned(self) -> None:
        check_number(self.temperature_, "temperature_", 0, above=True)


class EnsembleTemperatureScaling(MulticlassRecalibrator):
    """A weighted mean of tempered, original and uniform probabilities.

    w_1 softmax(z / T) + w_2 softmax(z) + w_3 / K, with weights of 0 or more that sum to one; K
    counts what is not masked. T is that of `TemperatureScaling`; given T, the weights minimise
    the NLL, which is convex in them. The order of the classes, and so the accuracy, stay as
    they were. A class without samples needs no special answer.

    Args:
        inputs: "logits", or "probs" for probabilities, zeros allowed.
        rescale: of ``inputs="probs"``: whether rows that rounding took from a sum of one are
            divided by it, which a warning counts.

    Attributes:
        temperature_: the temperature T.
        weights_: float64, shape (3,): w_1, w_2, w_3.

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
        log: whether to give the logarithm.
    """
    if logits.ndim == 1:
        logits = np.stack([np.zeros_like(logits), logits], axis=1)
        return tempered(logits, temperature, log)[:, 1]
    # The largest is taken off first, or dividing by a small T could overflow.
    with np.errstate(over="ignore"):
        scores = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
        scores /= temperature
    return log_softmax(scores) if log else softmax(scores)


def _best_weights(
    probs: np.ndarray, sample_weight: np.ndarray | None
) -> tuple[np.ndarray, list[str]]:
    """The weights w >= 0, summing to one, of highest mean log(probs @ w).

    Args:
        probs: (N, J), what each of J members gives to the label; a row has some value > 0.
        sample_weight: (N,), how often each row counts in the mean.

    Returns:
        The weights, and a warning if their NLL may be more than `_LEFT` above the lowest.
    """
    from scipy.optimize import minimize

    share = np.ones(len(probs)) if sample_weight is None else sample_weight
    share = share / share.sum()

    def objective(weights: np.ndarray) -> tuple[float, Any]:
        mixed = np.maximum(probs @ weights, np.finfo(float).tiny)
        return -float(share @ np.log(mixed)), -(share / mixed) @ probs

    members = probs.shape[1]
    result = minimize(
        objective,
        np.full(members, 1 / members),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    weights = np.clip(result.x, 0, 1)
    weights /= weights.sum()
    # The mean is concave in w, and its gradient's product with w is 1: so no other weights can
    # gain more than the largest part of the gradient less 1.
    left = float(-objective(weights)[1].min()) - 1
    if left <= _LEFT:
        return weights, []
    return weights, [f"weights: the fit ended up to {left:.2g} above its lowest NLL"]
