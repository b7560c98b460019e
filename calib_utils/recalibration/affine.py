"""Affine maps of the logits of K classes: vector, matrix and Dirichlet scaling.

The scores of a sample with features x are W x + b. All fits start at temperature scaling, minimise
the mean NLL, exact in float64, plus a sum of squares of b and of W's deviation from its start, and
are convex; a `UserWarning` tells if one did not reach its optimum. As for the softmax, a constant
added to the logits of a sample changes nothing. A masked class (see `Recalibrator`) counts as an
average one in the scores of the others.

The strength of the regularisation is one hyperparameter, fixed before the fit. Its unit is chosen
so that 1 suits any number of classes and samples (Berta et al. 2026); nothing is tuned on test
data.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from calib_utils._numerics import find_masks, log_softmax, row_blocks, softmax
from calib_utils.predictions.checks import check_count, check_number
from calib_utils.recalibration.affine_fit import (
    MAX_STEPS,
    Penalties,
    fit_diagonal,
    fit_full,
    without_masked,
)
from calib_utils.recalibration.base import MulticlassRecalibrator, check_array
from calib_utils.recalibration.temperature import optimal_temperature


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
        super()._check_learned()
        check_array(self.weights_, "weights_", (self.n_classes_,) * self._axes)
        check_array(self.intercept_, "intercept_", (self.n_classes_,))

    def _n_parameters(self) -> int:
        return super()._n_parameters() + self.weights_.size + self.intercept_.size


class VectorScaling(AffineRecalibrator):
    """Scale and shift the logit of each class separately: softmax(w * (z - mean(z)) + b).

    The mean over the classes, which the paper does not subtract, makes the map the same for logits
    that differ by a constant. The 2K parameters are fitted by NLL without
    regularisation. It may change the predicted class.

    A class without samples keeps w = 1/T, of temperature scaling, and b = 0, while the b of
    the others have mean 0; otherwise its probability would fall to 0.

    The fit keeps the logits in memory in float64, even if they come from a memory map, and their
    probabilities.

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
        fit = fit_diagonal(centred(logits, start), labels, 1.0, find_masks(logits), weights)
        self.weights_, self.intercept_ = fit.weights / start, fit.intercept
        return problems + fit.problems

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return centred(logits)


class _FullMatrix(AffineRecalibrator):
    """A full W, which is drawn towards a diagonal one."""

    def __init__(self, regularization: float = 1.0, inputs: str = "logits"):
        self.regularization = regularization
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        advice = "; 1 suits most validation sets"
        check_number(self.regularization, "regularization", 0, advice=advice)

    def _fit_matrix(
        self,
        features: np.ndarray,
        labels: np.ndarray,
        masked: np.ndarray | None,
        weights: np.ndarray | None,
        *,
        start: float = 1.0,
        diagonal: bool = False,
        max_steps: int = MAX_STEPS,
    ) -> list[str]:
        """Set W and b by `fit_full`."""
        n, k = features.shape
        unit = float(self.regularization) * k / (n if weights is None else weights.sum())
        penalties = Penalties(unit * (k - 1), unit if diagonal else 0.0, unit)
        fit = fit_full(features, labels, start, penalties, masked, weights, max_steps)
        self.weights_, self.intercept_ = fit.weights, fit.intercept
        return fit.problems


class MatrixScaling(_FullMatrix):
    r"""A full affine map of the logits: softmax(W z + b).

    z are the logits minus their mean over the classes. W is (K, K), so there are K (K + 1)
    parameters. Without regularisation, as in Guo et al., it needs far more samples than that: with
    100 classes and 5,000 samples it memorises the validation set. With ``regularization`` c it
    minimises:

    .. math::

        \text{NLL} + \frac{c K}{n}
        \Big( (K - 1) \sum_{i \ne j} (T w_{ij})^2 + \sum_j b_j^2 \Big),

    where T is the temperature of `TemperatureScaling`, so that the scale of the logits does
    not matter, and W starts at I / T. This is the off-diagonal and intercept regularisation
    (ODIR) of Kull et al. with :math:`\lambda = c (K (K - 1))^2 / n` and :math:`\mu = c K^2 / n`.

    A class without samples keeps its row of I / T and b = 0, while the mean change of the
    other rows is 0; otherwise its probability would fall to 0.

    The fit keeps the logits in memory in float64, even if they come from a memory map, and about
    500 bytes for each parameter: 50 GB with 10,000 classes, for which `VectorScaling` is the method
    to use.

    Args:
        regularization: c; 0, the default, is plain matrix scaling. Try 1.
        max_steps: of the solver. Fewer than the default stop a fit early, which also regularises
            it, with a warning that it did not reach its optimum.
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        weights_: W, float64, shape (K, K).
        intercept_: b, float64, shape (K,).

    Raises:
        ValueError: if ``regularization`` is negative or not finite, or ``max_steps`` below 1.

    Sources: Guo et al. 2017, "On Calibration of Modern Neural Networks", section 4.2; Kull
    et al. 2019, "Beyond temperature scaling", section 3.

    Example:
        >>> logits = [[2.0, 0.0]] * 4 + [[0.0, 2.0]] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1]
        >>> scaling = MatrixScaling().fit(logits, labels)
        >>> scaling.predict_proba([[2.0, 0.0], [0.0, 2.0]]).round(2).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    def __init__(self, regularization: float = 0.0, max_steps: int = 200, inputs: str = "logits"):
        self.max_steps = max_steps
        super().__init__(regularization, inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        advice = "200 is enough for nearly every fit that has an optimum"
        check_count(self.max_steps, "max_steps", advice)

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        start, problems = start_of(logits, labels, weights)
        features, masked = centred(logits, start), find_masks(logits)
        steps = int(self.max_steps)
        problems += self._fit_matrix(features, labels, masked, weights, max_steps=steps)
        self.weights_ = self.weights_ / start
        return problems

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return centred(logits)


class DirichletCalibration(_FullMatrix):
    r"""A full affine map of the log-probabilities: softmax(W log p + b), p = softmax(z).

    If the uncalibrated p of each class follow Dirichlet distributions, this is the calibrated
    map. The fit starts at W = I / T and b = 0, and minimises:

    .. math::

        \text{NLL} + \frac{c K}{n}
        \Big( (K - 1) \sum_{i \ne j} w_{ij}^2 + \sum_j b_j^2 \Big),

    the off-diagonal and intercept regularisation (ODIR) of the paper with
    :math:`\lambda = c (K (K - 1))^2 / n` and :math:`\mu = c K^2 / n`. The paper finds both by
    cross-validation; here c is fixed.

    A class without samples is handled as in `MatrixScaling`.

    Args:
        regularization: c; 0 for none.
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        weights_: W, float64, shape (K, K).
        intercept_: b, float64, shape (K,).

    Raises:
        ValueError: if ``regularization`` is negative or not finite.

    Source: Kull et al. 2019, "Beyond temperature scaling: Obtaining well-calibrated
    multi-class probabilities with Dirichlet calibration", section 3.

    Example:
        >>> logits = [[2.0, 0.0]] * 400 + [[0.0, 2.0]] * 400
        >>> labels = [0, 0, 0, 1] * 100 + [0, 0, 1, 1] * 100
        >>> dirichlet = DirichletCalibration().fit(logits, labels)
        >>> dirichlet.predict_proba([[2.0, 0.0], [0.0, 2.0]]).round(2).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        start, problems = start_of(logits, labels, weights)
        features, masked = log_probs(logits, 1.0), find_masks(logits)
        return problems + self._fit_matrix(features, labels, masked, weights, start=1 / start)

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return log_probs(logits, 1.0)


class StructuredMatrixScaling(_FullMatrix):
    r"""Temperature scaling, then a full affine map with a ridge penalty towards the identity.

    With x = log softmax(z / T), the probabilities are softmax(W x + b). Given T, the fit
    minimises:

    .. math::

        \text{NLL} + \frac{c K}{n}
        \Big( (K - 1) \sum_{i \ne j} w_{ij}^2 + \sum_i (w_{ii} - 1)^2 + \sum_j b_j^2 \Big).

    The penalty on a part of the map increases with its number of parameters, and all penalties
    decrease with the number of samples: the result is close to temperature scaling with few
    samples, and to matrix scaling with many.

    A ``UserWarning`` tells if the validation set has no best T. If every label has the largest
    logit, T is 1, so that the map stays close to the uncalibrated probabilities; if labels have no
    larger logits than other classes, T is the mean distance of a logit from the largest.

    A class without samples is handled as in `MatrixScaling`.

    Args:
        regularization: c; 0 for none.
        inputs: "logits", or "probs" for probabilities, zeros allowed.

    Attributes:
        temperature_: T, the optimal temperature if there is one.
        weights_: W, float64, shape (K, K).
        intercept_: b, float64, shape (K,).

    Raises:
        ValueError: if ``regularization`` is negative or not finite.

    Source: Berta, Holzmüller, Jordan, Bach 2026, "Structured Matrix Scaling for Multi-Class
    Calibration" (arXiv 2511.03685), with the ridge penalty.

    Example:
        >>> logits = [[2.0, 0.0]] * 400 + [[0.0, 2.0]] * 400
        >>> labels = [0, 0, 0, 1] * 100 + [0, 0, 1, 1] * 100
        >>> scaling = StructuredMatrixScaling().fit(logits, labels)
        >>> scaling.predict_proba([[2.0, 0.0], [0.0, 2.0]]).round(2).tolist()
        [[0.75, 0.25], [0.5, 0.5]]
    """

    temperature_: float

    _numbers: ClassVar[tuple[str, ...]] = ("temperature_",)

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        self.temperature_, problems = temperature_of(logits, labels, weights)
        features, masked = log_probs(logits, self.temperature_), find_masks(logits)
        return problems + self._fit_matrix(features, labels, masked, weights, diagonal=True)

    def _features(self, logits: np.ndarray) -> np.ndarray:
        return log_probs(logits, self.temperature_)


# Features, and where a fit starts.


def start_of(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[float, list[str]]:
    """The temperature at which an affine fit starts, and warnings about it."""
    best = optimal_temperature(logits, labels, weights)
    if not best.problem:
        return float(best.temperature), []
    return float(best.scale), [f"temperature: {best.problem}; the fit starts at {best.scale:.3g}"]


def temperature_of(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
) -> tuple[float, list[str]]:
    """The temperature of a map that keeps it, and warnings about it.

    A fit can move away from its start, but not from this. So without an optimum, a T that would go
    to 0 stays at 1 and changes nothing, and one that would grow is of the size of the logits.
    """
    best = optimal_temperature(logits, labels, weights)
    if not best.problem:
        return float(best.temperature), []
    kept = best.scale if best.temperature > best.scale else 1.0
    return float(kept), [f"temperature: {best.problem}; T is {kept:.3g}"]


def centred(logits: np.ndarray, divisor: float = 1.0) -> np.ndarray:
    """The logits minus the mean of their row, in float64; 0 for a masked class."""
    masked = find_masks(logits)
    # Two steps, because the mean of large logits is rounded.
    first = logits[:, :1] if masked is None else logits.max(axis=1, keepdims=True)
    result = np.subtract(logits, first, dtype=np.float64)
    result -= _row_means(result, masked)
    if masked is not None:
        result[masked] = 0
    result /= divisor
    return result


def log_probs(logits: np.ndarray, temperature: float) -> np.ndarray:
    """The logarithm of softmax(logits / T), in float64; a masked class has its row's mean."""
    result = np.empty(logits.shape)
    for rows, block in row_blocks(logits):
        x = np.subtract(block, block.max(axis=1, keepdims=True), dtype=np.float64)
        x = log_softmax(x / temperature)
        masked = find_masks(block)
        if masked is not None:
            x = np.where(masked, _row_means(x, masked), x)
        result[rows] = x
    return result


def _row_means(x: np.ndarray, masked: np.ndarray | None) -> np.ndarray:
    return x.mean(axis=1, keepdims=True, where=True if masked is None else ~masked)
