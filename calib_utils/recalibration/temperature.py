"""Temperature scaling, and its ensemble.

How T is found: let d be a sample's logits minus the largest of them, and b = 1/T. The NLL is convex
in b, with derivative A - M(b): A is the mean of -d at the label, and M(b) the mean over samples of
the expectation of -d under softmax(b d). M falls from M(0) to 0, so there is one root if 0 < A <
M(0), and otherwise none. log M is nearly linear in log b, which makes a Halley step on these axes
long and safe, at any scale of the logits. Steps that are known to be coarse are computed from some
of the rows, or in the type of the logits; the last one always uses all rows in float64.
"""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import numpy as np

from calib_utils._numerics import FAR, HUGE, log_softmax, row_blocks, softmax, widen
from calib_utils.predictions.checks import check_number
from calib_utils.recalibration.base import MulticlassRecalibrator, check_array

_TOLERANCE = 1e-9  # of the derivative, relative to A
_MAX_STEPS = 200  # far more than are ever needed
_START_ROWS = 1_000  # enough to bring the first guess within a few per cent
_ROUGH = 1e-4  # a bound of the rounding errors of a derivative in float32
_SCALES = (1e-30, 1e30)  # of 1/T in float32
_SIZES = (1e-290, 1e290)  # of the logits' differences, so that all bounds of T are finite
_NOTHING = -800.0  # its exponential is 0
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

    _shapes: ClassVar[tuple[str, ...]] = ("(N, K)", "(N,)")
    _numbers: ClassVar[tuple[str, ...]] = ("temperature_",)
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
        self.temperature_ = float(best.temperature)
        return _problems(best)

    def _predict(self, logits: np.ndarray) -> np.ndarray:
        return tempered(logits, self.temperature_)

    def _predict_log(self, logits: np.ndarray) -> np.ndarray:
        return tempered(logits, self.temperature_, log=True)

    def _n_parameters(self) -> int:
        return super()._n_parameters() if self.temperature is None else 0

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

    _numbers: ClassVar[tuple[str, ...]] = ("temperature_",)
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
        super()._check_learned()
        check_array(self.weights_, "weights_", (3,))

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


class Optimum(NamedTuple):
    """The best temperature, and how it was found.

    Attributes:
        temperature: that of the lowest NLL, or its bound if there is none.
        scale: a temperature of the size of the logits' differences.
        problem: why there is no optimum; empty if there is one.
    """

    temperature: float
    scale: float
    problem: str


class _Summary(NamedTuple):
    """The results of one pass over the logits."""

    largest: np.ndarray  # of each row
    label_gap: float  # A
    mean_gap: float  # M(0)
    smallest: float  # of the rows' mean gaps, far ones and those of constant rows left out
    widest: float  # of the rows' mean gaps


def optimal_temperature(
    logits: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> Optimum:
    """Minimise the NLL of softmax(logits / T).

    Args:
        logits: (N, K), checked; -inf where a class is masked, which no label is.
        labels: (N,), checked.
        weights: (N,), above 0: how often each sample counts. None for once.

    Raises:
        ValueError: if differences of the logits are too large or too small for float64.
    """
    weights = np.ones(len(labels)) if weights is None else weights
    summary = _summarise(logits, labels, weights)
    low, high = _SIZES
    if summary.widest > 0 and not low < summary.smallest <= summary.widest < high:
        raise ValueError(
            f"logits: expected differences between classes of {low:g} to {high:g}, found "
            f"{summary.smallest:.3g} to {summary.widest:.3g}; multiply the logits by a constant"
        )
    if summary.widest == 0:
        problem = "all logits of a sample are equal, so no temperature changes anything"
        return Optimum(1.0, 1.0, problem)
    low, high = 1e-9 * summary.smallest, 1e6 * summary.widest  # the bounds of T
    if summary.label_gap == 0:
        problem = "every label has the largest logit, so the NLL keeps falling as T goes to 0"
        return Optimum(low, summary.mean_gap, problem)
    # The derivative at T = high is this one at T = infinity, up to 1e-6 of the logits' size.
    if summary.label_gap >= summary.mean_gap:
        problem = "labels have no larger logits than others, so the NLL keeps falling as T grows"
        return Optimum(high, summary.mean_gap, problem)
    step = len(logits) // _START_ROWS
    guess = math.log(2 / summary.mean_gap)
    if step > 1:
        sample = _summarise(logits[::step], labels[::step], weights[::step])
        if 0 < sample.label_gap < sample.mean_gap:
            some = logits[::step], weights[::step], sample
            guess, _ = _root(*some, guess, low, high, tolerance=10 * _ROUGH)
    log_b, beyond = _root(logits, weights, summary, guess, low, high)
    if beyond:
        temperature = low if beyond > 0 else high
        problem = f"the NLL is lowest beyond {temperature:.3g}, the bound of T for these logits"
        return Optimum(temperature, summary.mean_gap, problem)
    return Optimum(math.exp(-log_b), summary.mean_gap, "")


def _summarise(logits: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> _Summary:
    largest = np.empty(len(logits))
    ones = np.ones(logits.shape[1], widen(logits[:0]).dtype)
    label_gap, mean_gap, smallest, widest = 0.0, 0.0, math.inf, 0.0
    for rows, block in row_blocks(logits):
        highest = block.max(axis=1)
        top = highest.astype(np.float64)
        of_labels = np.take_along_axis(block, labels[rows, None], axis=1)[:, 0]
        with np.errstate(over="ignore"):
            if top.max() - float(block.min()) < FAR:
                gaps = highest[:, None] - block
                means = near = (gaps @ ones).astype(np.float64) / len(ones)
            else:
                gaps = np.subtract(top[:, None], block, dtype=np.float64)
                means = gaps.mean(axis=1, where=block > -np.inf)
                near = gaps.mean(axis=1, where=gaps < FAR)
                near = np.where(near > 0, near, means)
            label_gap += (top - of_labels) @ weights[rows]
            mean_gap += means @ weights[rows]
        largest[rows] = top
        widest = max(widest, means.max())
        smallest = min(smallest, near.min(where=near > 0, initial=math.inf))
    n = weights.sum()
    return _Summary(largest, float(label_gap / n), float(mean_gap / n), smallest, widest)


def _root(
    logits: np.ndarray,
    weights: np.ndarray,
    summary: _Summary,
    log_b: float,
    low: float,
    high: float,
    tolerance: float = _TOLERANCE,
) -> tuple[float, int]:
    """Solve M(b) = A for a temperature between ``low`` and ``high``.

    Returns:
        log b; and 0, or on which side of the range the root lies: 1 if b is too large for it, -1 if
        too small.
    """
    left, right = -math.log(high), -math.log(low)
    before = math.nan  # the step before, if it was Halley's
    for step_number in range(_MAX_STEPS):
        b = math.exp(log_b)
        rough = (step_number == 0 or tolerance > _ROUGH) and _SCALES[0] < b < _SCALES[1]
        expectation, variance, third = _moments(logits, weights, summary.largest, b, rough)
        value = math.log(expectation / summary.label_gap) - log_b if expectation > 0 else -math.inf
        enough = tolerance > _ROUGH or not rough
        if enough and abs(value) <= tolerance:
            return log_b, 0
        if not (rough and abs(value) < _ROUGH):  # otherwise its sign may be wrong
            left, right = (log_b, right) if value > 0 else (left, log_b)
        if right - left < _TOLERANCE:
            break
        step = _halley(value, expectation, variance, third)
        inside = left < log_b + step < right
        # Halley's error is cubed in each step, up to a factor estimated from the last two.
        factor = max(1.0, abs(step) / max(abs(before), _ROUGH) ** 3)
        if inside and enough and 10 * factor * abs(step) ** 3 < tolerance:
            return log_b + step, 0
        log_b = log_b + step if inside else (left + right) / 2
        before = step if inside else math.nan
    return log_b, 1 if value > 0 else -1


def _halley(value: float, expectation: float, variance: float, third: float) -> float:
    """The step in log b that lowers log M(b) by ``value``, from the result of `_moments`.

    The slope of log M is -variance / expectation, and the third moment gives its curvature.
    """
    if not variance > 0:
        return math.inf
    newton = value * expectation / variance
    bend = (1 + third / variance + variance / expectation) / 2
    return newton / (1 + max(newton * bend, -0.5))


def _moments(
    logits: np.ndarray, weights: np.ndarray, largest: np.ndarray, b: float, rough: bool = False
) -> tuple[float, float, float]:
    """Means over the rows of the moments of x = b d under softmax(b d).

    In float64 or, if they may be rough, in the type of the logits.

    Returns:
        The expectation of -x, which is b M(b); the variance, -b^2 M'(b); and the third central
        moment, -b^3 M''(b).
    """
    dtype = widen(logits[:0]).dtype if rough else np.dtype(np.float64)
    ones = np.ones(logits.shape[1], dtype)
    moments = np.zeros(3)
    for rows, block in row_blocks(logits):
        x = block.astype(dtype)
        x -= largest[rows, None].astype(dtype)
        with np.errstate(over="ignore"):
            x *= b
        if not x.min() > _NOTHING:  # or a masked class would give 0 times infinity
            np.maximum(x, _NOTHING, out=x)
        powers = np.exp(x)
        sums = np.empty((4, len(block)))  # over the classes, of exp(x) times 1, x, x^2, x^3
        sums[0] = powers @ ones  # faster than sum(axis=1)
        for power in (1, 2, 3):
            powers *= x
            sums[power] = powers @ ones
        first, second, third = sums[1:] / sums[0]
        variance = second - first * first
        third -= first * (3 * variance + first * first)
        here = weights[rows]
        moments += -first @ here, variance @ here, third @ here
    expectation, variance, third = moments / weights.sum()
    return float(expectation), float(variance), float(third)
