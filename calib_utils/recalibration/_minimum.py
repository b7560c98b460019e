"""The minimum of a penalised NLL of scores that are linear in the parameters.

L-BFGS comes close to it. It cannot tell how much is left to gain, because it knows the curvature
only along its own path. Newton's method, with steps by conjugate gradients from products with the
whole Hessian, therefore checks the result and goes the rest of the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from calib_utils._numerics import softmax
from calib_utils.recalibration._features import HELD, CentredRows, MaskedRows

__all__ = ["Objective", "Scores", "blocks", "minimise", "without_masked"]

_BLOCK_VALUES = 64 * 1024  # so that a block of scores stays in a core's cache
_MEMORISED = 1e-4  # an NLL below which a fit has memorised the labels
_LEFT = 1e-6  # of NLL still to gain, by L-BFGS's own curvature, at which it may end
_SHARE_LEFT = 5e-8  # of the objective still to gain, by the Hessian, at which a fit may end
_WAY_BACK = 5e-7  # of the objective that the slopes on the way back to the start may predict
_NEWTON_STEPS = 30
_PRODUCTS = 1_000  # with the Hessian; a typical fit needs about ten
_SOLVED = 1e-3  # of the gradient that may be left of it


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
        features: float64, shape (N, K), or rows of them at a time.
        labels: (N,).
        masked: (N, K), or rows of it at a time: which classes of a sample get probability 0;
            None for none.
        share: (N,), the weight of each sample in the mean.
        scores: see above.
    """

    def __init__(
        self,
        features: np.ndarray | CentredRows,
        labels: np.ndarray,
        masked: np.ndarray | MaskedRows | None,
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
        parts = list(blocks(self.features))
        few = math.prod(self.features.shape) <= HELD
        kept = [softmax(self._scores(rows, change)) for rows in parts] if few else []

        def times(direction: np.ndarray) -> np.ndarray:
            move = self.scores.to_map(direction)
            result = 2 * self.scores.factors * move
            for number, rows in enumerate(parts):
                p = kept[number] if few else softmax(self._scores(rows, change))
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


def blocks(array: np.ndarray | CentredRows) -> Iterator[slice]:
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
    scores: np.ndarray, masked: np.ndarray | MaskedRows | None, rows: slice = slice(None)
) -> np.ndarray:
    """``scores``, in which the masked ones of ``rows`` are put to -inf."""
    if masked is not None:
        scores[masked[rows]] = -np.inf
    return scores
