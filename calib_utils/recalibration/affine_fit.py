"""The weights of lowest penalised NLL, for affine maps of the logits.

The solver works in coordinates in which the Hessian is close to the identity, so that ten to thirty
steps do the work of hundreds. L-BFGS comes close to the minimum. It cannot tell how much is left to
gain, because it knows the curvature only along its own path. Newton's method, with steps by
conjugate gradients from products with the whole Hessian, therefore checks the result and goes the
rest of the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from calib_utils._numerics import softmax

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
