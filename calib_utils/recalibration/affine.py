"""Affine maps of the logits: Platt scaling, beta calibration, vector, matrix and Dirichlet scaling.

The scores of a sample with features x are W x + b. For two classes this is logistic regression on
one logit, or on two logarithms of the probability. For K classes all fits start at temperature
scaling, minimise the mean NLL, exact in float64, plus a sum of squares of b and of W's deviation
from its start, and are convex; a `UserWarning` tells if one did not reach its optimum. As for the
softmax, a constant added to the logits of a sample changes nothing. A masked class (see
`Recalibrator`) counts as an average one in the scores of the others.

The strength of the regularisation is one hyperparameter, fixed before the fit. Its unit is chosen
so that 1 suits any number of classes and samples (Berta et al. 2026); nothing is tuned on test
data.

The solver works in coordinates in which the Hessian is close to the identity, so that ten to thirty
steps do the work of hundreds. L-BFGS comes close to the minimum. It cannot tell how much is left to
gain, because it knows the curvature only along its own path. Newton's method, with steps by
conjugate gradients from products with the whole Hessian, therefore checks the result and goes the
rest of the way.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from calib_utils._numerics import find_masks, log_softmax, row_blocks, softmax
from calib_utils.metrics.logistic_fit import (
    SURE,
    checked_middle,
    logistic_regression,
    require_optimum,
    targets,
)
from calib_utils.predictions import check_count, check_flag, check_number
from calib_utils.recalibration.base import MulticlassRecalibrator, check_array
from calib_utils.recalibration.binary import BinaryRecalibrator
from calib_utils.recalibration.temperature import optimal_temperature

_SMALLEST = 1e-4  # of the largest class's scores; a solver cannot tell smaller ones from 0
MAX_STEPS = 1_000  # a fit that has an optimum takes 10 to 100, and more with outliers
_BLOCK_VALUES = 64 * 1024  # so that a block of scores stays in a core's cache
_MEMORISED = 1e-4  # an NLL below which a fit has memorised the labels
_LEFT = 1e-6  # of NLL still to gain, by L-BFGS's own curvature, at which it may end
_SHARE_LEFT = 5e-8  # of the objective still to gain, by the Hessian, at which a fit may end
_WAY_BACK = 5e-7  # of the objective that the slopes on the way back to the start may predict
_NEWTON_STEPS = 30
_PRODUCTS = 1_000  # with the Hessian; a typical fit needs about ten
_SOLVED = 1e-3  # of the gradient that may be left of it


class PlattScaling(BinaryRecalibrator):
    """Logistic regression on the logit: sigmoid(a z + b).

    The order of samples is kept if a > 0, which holds if the logits are better than chance but is
    not enforced.

    Platt's soft targets are not 0 and 1 but, for :math:`n_0` negative and :math:`n_1` positive
    samples, :math:`1 / (n_0 + 2)` and :math:`(n_1 + 1) / (n_1 + 2)`, which keeps the fit away from
    certainty. They are also used, with a warning, if the labels themselves have no finite optimum,
    because a class has no sample or a threshold separates the classes.

    Args:
        smooth_targets: whether to fit Platt's targets in place of the labels.
        inputs: "logits", any real decision values such as those of a support vector machine;
            or "probs", whose log-odds are used.

    Attributes:
        slope_: the slope a.
        intercept_: the intercept b.

    Raises:
        ValueError: for an invalid argument.

    Source: Platt 1999, "Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods".

    Example:
        >>> logits = [-2.0] * 4 + [2.0] * 4
        >>> labels = [0, 0, 0, 1, 0, 1, 1, 1]
        >>> platt = PlattScaling().fit(logits, labels)
        >>> platt.predict_proba([-2.0, 2.0]).round(2).tolist()
        [0.25, 0.75]
    """

    slope_: float
    intercept_: float

    _numbers: ClassVar[tuple[str, ...]] = ("slope_", "intercept_")

    def __init__(self, smooth_targets: bool = False, inputs: str = "logits"):
        self.smooth_targets = smooth_targets
        super().__init__(inputs)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_flag(self.smooth_targets, "smooth_targets")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        z = np.empty(len(logits))
        for rows, block in row_blocks(logits):
            z[rows] = self._as_logits(block)
        middle = checked_middle(z)
        target, problems = targets(z, labels, bool(self.smooth_targets), weights)
        coefficients, left = logistic_regression(z[None], np.array([middle]), target, weights)
        require_optimum(left)
        self.slope_, self.intercept_ = coefficients.tolist()
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self.slope_ * self._as_logits(logits) + self.intercept_))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -(self.slope_ * self._as_logits(logits) + self.intercept_))


class BetaCalibration(BinaryRecalibrator):
    """Logistic regression on both log-probabilities: sigmoid(a log s - b log(1 - s) + c).

    s is the score, and neither a nor b is below 0, so the order of samples is kept. The map with
    a = b = 1 and c = 0 is the identity, which Platt scaling of scores does not contain. Platt's
    soft targets replace labels that have no finite optimum, with a warning, as in `PlattScaling`.

    Args:
        inputs: "logits", whose sigmoid is the score, or "probs".

    Attributes:
        a_: the weight a of log s.
        b_: the weight b of -log(1 - s).
        c_: the intercept c.

    Source: Kull, Silva Filho, Flach 2017, "Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers".

    Example:
        >>> scores = [0.1] * 4 + [0.5] * 4 + [0.9] * 4
        >>> labels = [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
        >>> beta = BetaCalibration(inputs="probs").fit(scores, labels)
        >>> beta.predict_proba([0.1, 0.5, 0.9]).round(2).tolist()
        [0.25, 0.5, 0.75]
    """

    a_: float
    b_: float
    c_: float

    _numbers: ClassVar[tuple[str, ...]] = ("a_", "b_", "c_")

    def _fit(self, logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> list[str]:
        features = np.empty((2, len(logits)))
        for rows, block in row_blocks(logits):
            positive, negative = self._log_parts(block)
            features[:, rows] = positive, -negative
        z = features[0] + features[1]
        middle = checked_middle(z)
        middles = -np.logaddexp(0, [-middle, middle]) * [1, -1]
        target, problems = targets(z, labels, False, weights)
        del z
        best, left = logistic_regression(features, middles, target, weights)
        if not (left < SURE and best[:2].min() >= 0):
            best = _best_on_bounds(best, features, middles, target, weights)
        self.a_, self.b_, self.c_ = best.tolist()
        return problems

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        from scipy.special import expit

        return np.asarray(expit(self._log_odds(logits)))

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -self._log_odds(logits))

    def _log_odds(self, logits: np.ndarray) -> np.ndarray:
        positive, negative = self._log_parts(logits)
        return self.a_ * positive - self.b_ * negative + self.c_


def _best_on_bounds(
    free: np.ndarray,
    features: np.ndarray,
    middles: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Two slopes and an intercept of lowest NLL, if one slope or both are 0.

    The NLL is convex. If the unconstrained optimum has a slope below 0, or is infinite, the best
    slopes of 0 or more therefore include a 0: one whose increase would not lower the NLL.

    Args:
        free: the unconstrained optimum; if its first slope is below 0, that one is set to 0 first.
    """
    first = [0.0, 1.0] if free[0] < 0 else [1.0, 0.0]
    share = np.full(len(target), 1 / len(target)) if weights is None else weights / weights.sum()
    # Features that are 1 at the largest.
    x = (features - middles[:, None]) / np.maximum(np.abs(features).max(axis=1), 1e-290)[:, None]
    best, least = np.zeros(3), np.inf
    for used in (first, first[::-1], [0.0, 0.0]):
        fit, left = logistic_regression(features * np.c_[used], middles * used, target, weights)
        if fit[:2].min() < 0:
            continue
        require_optimum(left)
        margins = fit[:2] @ features + fit[2]
        slopes = x @ (share * (np.exp(-np.logaddexp(0, -margins)) - target))
        to_gain = max(0.0, -slopes.min(where=fit[:2] == 0, initial=0.0))
        if to_gain < least:
            best, least = fit, to_gain
        if least == 0:
            break
    require_optimum(least**2)
    return best


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


# Fits of W and b.


class Penalties(NamedTuple):
    """Factors of the squares of W's off-diagonal, W's diagonal's deviation, and b."""

    off_diagonal: float
    diagonal: float
    intercept: float


class Fit(NamedTuple):
    """The result of a fit: W, or its diagonal; b; and why it is not an optimum, if it is not."""

    weights: np.ndarray
    intercept: np.ndarray
    problems: list[str]


def fit_full(
    features: np.ndarray,
    labels: np.ndarray,
    start: float,
    penalties: Penalties,
    masked: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    max_steps: int = MAX_STEPS,
) -> Fit:
    """W (K, K) and b (K,) of lowest penalised NLL, from W = start I and b = 0.

    A class without labels keeps its row of the start, and the mean change of the others'
    rows is zero. Otherwise its probability would fall to 0.

    Args:
        features: float64, shape (N, K).
        labels: (N,).
        start: see above.
        penalties: of the deviation from the start.
        masked: (N, K), which classes of a sample get probability 0; None for none.
        weights: (N,), above 0: how often each sample counts; None for once.
        max_steps: of the solver.
    """
    n, k = features.shape
    share = _share(n, weights)
    present = np.bincount(labels, minlength=k) > 0
    basis, scale, diagonal_scale = _full_coordinates(features, start, penalties, share)
    factors = np.full((k, k + 1), penalties.off_diagonal)
    np.fill_diagonal(factors, penalties.diagonal)
    factors[:, k] = penalties.intercept

    def to_map(coordinates: np.ndarray) -> np.ndarray:
        change = (coordinates[:-k].reshape(k, k + 1) * scale) @ basis.T
        np.einsum("kk->k", change[:, :k])[...] += diagonal_scale * coordinates[-k:]
        return _pinned(change, present)

    def to_coordinates(gradient: np.ndarray) -> np.ndarray:
        gradient = _pinned(gradient, present)
        along = ((gradient @ basis) * scale).ravel()
        return np.concatenate([along, gradient.diagonal() * diagonal_scale])

    scores = Scores(
        start=np.eye(k, k + 1) * start,
        factors=factors,
        of=lambda block, change: block @ change[:, :k].T + change[:, k],
        transposed=lambda block, errors: np.c_[errors.T @ block, errors.sum(axis=0)],
        to_map=to_map,
        to_coordinates=to_coordinates,
    )
    objective = Objective(features, labels, masked, share, scores)
    best, problems = minimise(objective, k * (k + 2), max_steps)
    sizes = np.sqrt(np.einsum("i,ij,ij->j", share, features, features))
    if not problems and sizes.min() < _SMALLEST * sizes.max():
        problems.append(
            f"the scores of class {sizes.argmin()} are {sizes.min() / sizes.max():.2g} times as "
            "large as those of others, and the fit may not reach its optimum; use another method"
        )
    found = scores.start + to_map(best)
    return Fit(found[:, :k], found[:, k], problems)


def fit_diagonal(
    features: np.ndarray,
    labels: np.ndarray,
    start: float,
    masked: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Fit:
    """W's diagonal (K,) and b (K,) of lowest NLL, from a constant diagonal and b = 0.

    A class without labels keeps its start, and the mean of the others' b is zero, as in
    `fit_full`.
    """
    n, k = features.shape
    present = np.bincount(labels, minlength=k) > 0
    share = _share(n, weights)
    root = _diagonal_coordinates(features, start, share)

    def free(change: np.ndarray) -> np.ndarray:
        return np.stack(
            [np.where(present, change[0], 0), _pinned(change[1][:, None], present)[:, 0]]
        )

    scores = Scores(
        start=np.stack([np.full(k, start), np.zeros(k)]),
        factors=np.zeros((2, k)),
        of=lambda block, change: block * change[0] + change[1],
        transposed=lambda block, errors: np.stack(
            [np.einsum("ij,ij->j", errors, block), errors.sum(axis=0)]
        ),
        to_map=lambda x: free(np.einsum("ijk,jk->ik", root, x.reshape(2, k))),
        to_coordinates=lambda gradient: np.einsum("ijk,ik->jk", root, free(gradient)).ravel(),
    )
    best, problems = minimise(Objective(features, labels, masked, share, scores), 2 * k, MAX_STEPS)
    found = scores.start + scores.to_map(best)
    return Fit(found[0], found[1], problems)


def _share(n: int, weights: np.ndarray | None) -> np.ndarray:
    """The weight of each sample in a mean."""
    return np.full(n, 1 / n) if weights is None else weights / weights.sum()


def _pinned(change: np.ndarray, present: np.ndarray) -> np.ndarray:
    """A change of the rows that affects neither absent classes nor the mean of the others."""
    if present.all():
        return change
    kept = np.where(present[:, None], change, 0)
    kept[present] -= kept[present].mean(axis=0)
    return kept


def _full_coordinates(
    features: np.ndarray, start: float, penalties: Penalties, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of W and b in which the Hessian is close to the identity.

    For the row of class k the Hessian is near s_k C + 2 P, where C is the second moment of
    [x, 1], P the penalties and s_k the mean of p (1 - p). One basis diagonalises C and P for
    all classes, and a scale for each class does the rest. The diagonal of W, which has a
    penalty of its own, gets coordinates of its own on top.

    Returns:
        The basis (K + 1, K + 1), the scale (K, K + 1) and the diagonal's scale (K,).
    """
    from scipy.linalg import eigh

    k = features.shape[1]
    moment, spread, curvature = np.zeros((k + 1, k + 1)), np.zeros(k), np.zeros(k)
    for rows in blocks(features):
        block = features[rows]
        part = share[rows, None]
        moment[:k, :k] += block.T @ (block * part)
        moment[:k, k] += share[rows] @ block
        probs = softmax(block * start)
        probs *= (1 - probs) * part
        spread += probs.sum(axis=0)
        curvature += np.einsum("ij,ij,ij->j", probs, block, block)
    moment[k, :k] = moment[:k, k]
    moment[k, k] = 1
    # Without a penalty, a tiny one keeps the problem definite.
    diagonal = moment.diagonal()
    least = 1e-8 * np.append(np.full(k, diagonal[:k].mean() or 1.0), 1.0)
    pull = np.maximum(np.append(np.full(k, penalties.off_diagonal), penalties.intercept), least)
    eigenvalues, basis = eigh(moment / np.sqrt(np.outer(pull, pull)))
    scale = 1 / np.sqrt(np.outer(spread, np.maximum(eigenvalues, 0)) + 2)
    # If a class is hardly ever probable, its curvature is no guide far away, and the coordinate is
    # scaled to change the scores by a hundred.
    curvature += 2 * np.maximum(penalties.diagonal, least[0])
    curvature += 1e-4 * diagonal[:k]
    diagonal_scale = 1 / np.sqrt(curvature)
    return basis / np.sqrt(pull)[:, None], scale, diagonal_scale


def _diagonal_coordinates(features: np.ndarray, start: float, share: np.ndarray) -> np.ndarray:
    """Coordinates of w_k and b_k in which each class's own Hessian is close to the identity.

    Returns:
        (2, 2, K): for each class R with R R' near the inverse of its Hessian at the start.
    """
    k = features.shape[1]
    second, first, zeroth = np.zeros((3, k))
    for rows in blocks(features):
        block = features[rows]
        probs = softmax(block * start)
        probs *= (1 - probs) * share[rows, None]
        zeroth += probs.sum(axis=0)
        first += np.einsum("ij,ij->j", probs, block)
        second += np.einsum("ij,ij,ij->j", probs, block, block)
    # Classes that are never probable would get endless steps.
    second = np.maximum(second, 1e-6 * second.mean()) + np.finfo(float).tiny
    zeroth = np.maximum(zeroth, 1e-6 * zeroth.mean()) + np.finfo(float).tiny
    rest = np.maximum(zeroth - first**2 / second, 1e-6 * zeroth)
    # The inverse of the Cholesky factor of [[second, first], [first, zeroth]], transposed.
    upper = np.stack([1 / np.sqrt(second), -first / second / np.sqrt(rest)])
    lower = np.stack([np.zeros(k), 1 / np.sqrt(rest)])
    return np.stack([upper, lower])


# The minimum.


class Scores(NamedTuple):
    """A linear map from features to scores; its parameters are an array of any shape.

    Attributes:
        start: the map before the fit.
        factors: the penalties of the squared changes of its parameters, in the same shape.
        of: the scores (n, K) of a block of features (n, K), given a map.
        transposed: the transpose of ``of``, which takes errors (n, K) of such scores to the map.
        to_map: the change of the map, given the solver's coordinates; linear.
        to_coordinates: the transpose of ``to_map``.
    """

    start: np.ndarray
    factors: np.ndarray
    of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    transposed: Callable[[np.ndarray, np.ndarray], np.ndarray]
    to_map: Callable[[np.ndarray], np.ndarray]
    to_coordinates: Callable[[np.ndarray], np.ndarray]


class Objective:
    """The mean NLL of the scores' softmax, and the penalty of the map's change.

    Args:
        features: float64, shape (N, K).
        labels: (N,).
        masked: (N, K), which classes of a sample get probability 0; None for none.
        share: (N,), the weight of each sample in the mean.
        scores: see above.
    """

    def __init__(
        self,
        features: np.ndarray,
        labels: np.ndarray,
        masked: np.ndarray | None,
        share: np.ndarray,
        scores: Scores,
    ):
        self.features = features
        self.labels = labels
        self.masked = masked
        self.share = share
        self.scores = scores

    def __call__(self, coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value, and its gradient."""
        change = self.scores.to_map(coordinates)
        pull = self.scores.factors * change
        value, gradient = float(np.vdot(pull, change)), 2 * pull
        for rows in blocks(self.features):
            scores = self._scores(rows, change)
            nll, errors = _nll_and_errors(scores, self.labels[rows], self.share[rows])
            value += nll
            gradient += self.scores.transposed(self.features[rows], errors)
        return value, self.scores.to_coordinates(gradient)

    def hessian(self, coordinates: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """A function that multiplies a vector by the Hessian there."""
        change = self.scores.to_map(coordinates)
        parts = [(rows, softmax(self._scores(rows, change))) for rows in blocks(self.features)]

        def times(direction: np.ndarray) -> np.ndarray:
            move = self.scores.to_map(direction)
            result = 2 * self.scores.factors * move
            for rows, p in parts:
                block = self.features[rows]
                part = self.scores.of(block, move)
                part -= np.einsum("ij,ij->i", p, part)[:, None]
                part *= p
                part *= self.share[rows, None]
                result += self.scores.transposed(block, part)
            return self.scores.to_coordinates(result)

        return times

    def _scores(self, rows: slice, change: np.ndarray) -> np.ndarray:
        scores = self.scores.of(self.features[rows], self.scores.start + change)
        return without_masked(scores, self.masked, rows)


def minimise(objective: Objective, size: int, max_steps: int) -> tuple[np.ndarray, list[str]]:
    """Coordinates of the minimum, starting from 0, and warnings about it.

    Args:
        objective: convex.
        size: the number of coordinates.
        max_steps: of L-BFGS.
    """
    from scipy.optimize import minimize

    best, steps, short = np.zeros(size), 0, True
    while short and steps < max_steps:
        # ftol is the last step's gain; if more than that is left to gain, the fit goes on.
        result = minimize(
            objective,
            best,
            jac=True,
            method="L-BFGS-B",
            options={"maxcor": 20, "ftol": 1e-8, "gtol": 1e-6, "maxiter": max_steps - steps},
        )
        best, steps = np.asarray(result.x), steps + max(result.nit, 1)
        left = float(result.jac @ (result.hess_inv @ result.jac)) / 2
        short = left > _LEFT and result.fun >= _MEMORISED
    value, reached = float(result.fun), steps < max_steps
    if reached and value >= _MEMORISED:
        best, value, reached = _newton(objective, best, value, np.asarray(result.jac))
    if value < _MEMORISED:
        return best, [
            f"the fit ended after {steps} steps with an NLL of {value:.2g}: its parameters "
            "memorise the labels of all samples, and there may be no optimum; regularise, or use "
            "a method with fewer parameters"
        ]
    if not reached:
        return best, [
            f"the fit ended after {steps} steps, at an NLL of {value:.4g}, short of its "
            "optimum; regularise, leave out outliers among the logits, or use a method with fewer "
            "parameters"
        ]
    return best, []


def _newton(
    objective: Objective, best: np.ndarray, value: float, gradient: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    """Newton's method, from a point with its value and gradient.

    Returns:
        A better point, its value, and whether almost nothing is left to gain.
    """
    products = 0
    for _ in range(_NEWTON_STEPS):
        step, used = _solved(objective.hessian(best), gradient, _PRODUCTS - products)
        products += used
        gain = float(gradient @ step)  # twice what is left to gain, if the Hessian is constant
        near = products < _PRODUCTS and gain <= 2 * _SHARE_LEFT * value
        for _ in range(60):
            new_value, new_gradient = objective(best - step)
            if new_value <= value - gain / 1e4:
                break
            step, gain = step / 2, gain / 2
        else:
            return best, value, near
        best, value, gradient = best - step, new_value, new_gradient
        # A certain softmax has no curvature, so the way back must not lead down either.
        if near and np.abs(gradient * best).sum() <= _WAY_BACK * value:
            return best, value, True
        if value < _MEMORISED:
            break
    return best, value, False


def _solved(
    times: Callable[[np.ndarray], np.ndarray], wanted: np.ndarray, most: int
) -> tuple[np.ndarray, int]:
    """Conjugate gradients: the vector that the Hessian maps to ``wanted``, and its cost."""
    result, rest = np.zeros_like(wanted), wanted
    direction, square = rest, float(rest @ rest)
    enough = _SOLVED**2 * square
    for used in range(most):
        if square <= enough:
            return result, used
        product = times(direction)
        curvature = float(direction @ product)
        if curvature <= 0:  # only by rounding
            return result, used
        length = square / curvature
        result = result + length * direction
        rest = rest - length * product
        before, square = square, float(rest @ rest)
        direction = rest + square / before * direction
    return result, most


def blocks(array: np.ndarray) -> Iterator[slice]:
    """Rows of (N, K), as many at a time as fit in a core's cache."""
    step = max(1, _BLOCK_VALUES // array.shape[1])
    for first in range(0, array.shape[0], step):
        yield slice(first, first + step)


def _nll_and_errors(
    scores: np.ndarray, labels: np.ndarray, share: np.ndarray
) -> tuple[float, np.ndarray]:
    """NLL, and the probabilities minus the one-hot labels; both weighted by ``share``.

    The errors replace ``scores``.
    """
    rows = np.arange(len(scores))
    scores -= scores.max(axis=1, keepdims=True)
    of_labels = scores[rows, labels]
    np.exp(scores, out=scores)
    sums = scores.sum(axis=1)
    scores /= sums[:, None]
    scores[rows, labels] -= 1
    scores *= share[:, None]
    return float((np.log(sums) - of_labels) @ share), scores


def without_masked(
    scores: np.ndarray, masked: np.ndarray | None, rows: slice = slice(None)
) -> np.ndarray:
    """``scores``, in which the masked ones of ``rows`` are put to -inf."""
    if masked is not None:
        scores[masked[rows]] = -np.inf
    return scores
