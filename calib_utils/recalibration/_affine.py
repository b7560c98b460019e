"""Softmax regression on logits: the fits behind vector, matrix and Dirichlet scaling.

The scores of a sample with features x are W x + b. Both fits minimise the mean NLL, exact in
float64, plus a sum of squares of W's deviation from where it starts and of b. They run
L-BFGS in coordinates in which the Hessian is near the identity, which makes ten to thirty
steps do the work of hundreds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from calib_utils._arrays import softmax

__all__ = ["MAX_STEPS", "Fit", "Penalties", "fit_diagonal", "fit_full", "without_masked"]

_BLOCK_VALUES = 64 * 1024  # so that a block of scores stays in a core's cache
_HESSIAN_ROWS = 5_000  # on which the diagonal fit's Hessian is computed
MAX_STEPS = 200  # a fit that has an optimum takes 10 to 100
_BY_HEART = 1e-4  # an NLL that no honest fit reaches


class Penalties(NamedTuple):
    """Factors of the squares of W's off-diagonal, W's diagonal's deviation, and b."""

    off_diagonal: float = 0.0
    diagonal: float = 0.0
    intercept: float = 0.0


class Fit(NamedTuple):
    """What a fit has found: W, or its diagonal; b; and why it is no optimum, if it is none."""

    weights: np.ndarray
    intercept: np.ndarray
    problems: list[str]


def fit_full(
    features: np.ndarray,
    labels: np.ndarray,
    start: float,
    penalties: Penalties,
    masked: np.ndarray | None = None,
    max_steps: int = MAX_STEPS,
) -> Fit:
    """W (K, K) and b (K,) of lowest penalised NLL, from W = start I and b = 0.

    A class without labels keeps its row of the start, and the mean change of the others'
    rows is zero. Nothing else would stop its probability from falling to 0.

    Args:
        features: float64, shape (N, K).
        labels: (N,).
        start: see above.
        penalties: of the deviation from the start.
        masked: (N, K), which classes of a sample get probability 0; None for none.
        max_steps: of the solver.
    """
    n, k = features.shape
    present = np.bincount(labels, minlength=k) > 0
    basis, scale, diagonal_scale = _full_coordinates(features, start, penalties)
    factors = np.full((k, k + 1), penalties.off_diagonal)
    np.fill_diagonal(factors, penalties.diagonal)
    factors[:, k] = penalties.intercept
    identity = start * np.eye(k)

    def change(coordinates: np.ndarray) -> np.ndarray:
        delta = (coordinates[:-k].reshape(k, k + 1) * scale) @ basis.T
        np.einsum("kk->k", delta[:, :k])[...] += diagonal_scale * coordinates[-k:]
        return _pinned(delta, present)

    def objective(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        delta = change(coordinates)
        weights = np.ascontiguousarray((identity + delta[:, :k]).T)
        nll, gradient = 0.0, np.zeros((k, k + 1))
        for rows in _blocks(n, k):
            block = features[rows]
            scores = without_masked(block @ weights + delta[:, k], masked, rows)
            part, errors = _nll_and_errors(scores, labels[rows])
            nll += part
            gradient[:, :k] += errors.T @ block
            gradient[:, k] += errors.sum(axis=0)
        pull = factors * delta
        gradient = _pinned(gradient / n + 2 * pull, present)
        value = nll / n + float(np.vdot(pull, delta))
        along = ((gradient @ basis) * scale).ravel()
        return value, np.concatenate([along, gradient.diagonal() * diagonal_scale])

    best, problems = _minimise(objective, k * (k + 2), max_steps)
    delta = change(best)
    return Fit(identity + delta[:, :k], delta[:, k], problems)


def fit_diagonal(
    features: np.ndarray, labels: np.ndarray, start: float, masked: np.ndarray | None = None
) -> Fit:
    """W's diagonal (K,) and b (K,) of lowest NLL, from a constant diagonal and b = 0.

    A class without labels keeps its start, and the mean of the others' b is zero, as in
    `fit_full`.
    """
    n, k = features.shape
    present = np.bincount(labels, minlength=k) > 0
    step = max(1, n // max(_HESSIAN_ROWS, 8 * k))
    root = _inverse_root(_diagonal_hessian(features[::step], start))

    def change(coordinates: np.ndarray) -> np.ndarray:
        delta = (root @ coordinates).reshape(2, k)
        return np.stack([np.where(present, delta[0], 0), _pinned(delta[1, :, None], present)[:, 0]])

    def objective(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        delta = change(coordinates)
        nll, gradient = 0.0, np.zeros((2, k))
        for rows in _blocks(n, k):
            block = features[rows]
            scores = block * (start + delta[0]) + delta[1]
            scores = without_masked(scores, masked, rows)
            part, errors = _nll_and_errors(scores, labels[rows])
            nll += part
            gradient[0] += np.einsum("ij,ij->j", errors, block)
            gradient[1] += errors.sum(axis=0)
        gradient[0, ~present] = 0
        gradient[1] = _pinned(gradient[1, :, None], present)[:, 0]
        return nll / n, root.T @ gradient.ravel() / n

    best, problems = _minimise(objective, 2 * k, MAX_STEPS)
    delta = change(best)
    return Fit(start + delta[0], delta[1], problems)


def _minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]], size: int, max_steps: int
) -> tuple[np.ndarray, list[str]]:
    from scipy.optimize import minimize

    result = minimize(
        objective,
        np.zeros(size),
        jac=True,
        method="L-BFGS-B",
        # ftol is the last step's gain; what is left to gain is about as little.
        options={"maxcor": 20, "ftol": 1e-10, "gtol": 1e-6, "maxiter": max_steps},
    )
    problems = []
    if result.nit >= max_steps or result.fun < _BY_HEART:
        problems.append(
            f"the fit ended after {result.nit} steps with an NLL of {result.fun:.2g}, short of an "
            "optimum: there are too few samples for so many parameters, which learn them by "
            "heart; regularise, or take a method with fewer"
        )
    return np.asarray(result.x), problems


def _blocks(n: int, k: int) -> Iterator[slice]:
    step = max(1, _BLOCK_VALUES // k)
    for first in range(0, n, step):
        yield slice(first, first + step)


def _nll_and_errors(scores: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """Summed NLL, and the probabilities less the one-hot labels, which replace ``scores``."""
    rows = np.arange(len(scores))
    scores -= scores.max(axis=1, keepdims=True)
    of_labels = scores[rows, labels]
    np.exp(scores, out=scores)
    sums = scores.sum(axis=1)
    scores /= sums[:, None]
    scores[rows, labels] -= 1
    return float((np.log(sums) - of_labels).sum()), scores


def without_masked(
    scores: np.ndarray, masked: np.ndarray | None, rows: slice = slice(None)
) -> np.ndarray:
    """``scores``, in which the masked ones of ``rows`` are put to -inf."""
    if masked is not None:
        scores[masked[rows]] = -np.inf
    return scores


def _pinned(change: np.ndarray, present: np.ndarray) -> np.ndarray:
    """A change of the rows that leaves absent classes, and the mean of the others, alone."""
    if present.all():
        return change
    kept = np.where(present[:, None], change, 0)
    kept[present] -= kept[present].mean(axis=0)
    return kept


def _full_coordinates(
    features: np.ndarray, start: float, penalties: Penalties
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates of W and b in which the Hessian is near the identity.

    For the row of class k the Hessian is near s_k C + 2 P, where C is the second moment of
    [x, 1], P the penalties and s_k the mean of p (1 - p). One basis diagonalises C and P for
    all classes, and a scale for each class does the rest. The diagonal of W, which has a
    penalty of its own, gets coordinates of its own on top.

    Returns:
        The basis (K + 1, K + 1), the scale (K, K + 1) and the diagonal's scale (K,).
    """
    from scipy.linalg import eigh

    n, k = features.shape
    moment, spread, curvature = np.zeros((k + 1, k + 1)), np.zeros(k), np.zeros(k)
    for rows in _blocks(n, k):
        block = features[rows]
        moment[:k, :k] += block.T @ block
        moment[:k, k] += block.sum(axis=0)
        probs = softmax(block * start)
        probs *= 1 - probs
        spread += probs.sum(axis=0)
        curvature += np.einsum("ij,ij,ij->j", probs, block, block)
    moment[k, :k] = moment[:k, k]
    moment[k, k] = n
    moment /= n
    # Where there is no penalty, a tiny one keeps the problem definite.
    diagonal = moment.diagonal()
    floor = 1e-8 * np.append(np.full(k, diagonal[:k].mean() or 1.0), 1.0)
    pull = np.maximum(np.append(np.full(k, penalties.off_diagonal), penalties.intercept), floor)
    eigenvalues, basis = eigh(moment / np.sqrt(np.outer(pull, pull)))
    scale = 1 / np.sqrt(np.outer(spread / n, np.maximum(eigenvalues, 0)) + 2)
    diagonal_scale = 1 / np.sqrt(curvature / n + 2 * max(penalties.diagonal, floor[0]))
    return basis / np.sqrt(pull)[:, None], scale, diagonal_scale


def _diagonal_hessian(features: np.ndarray, start: float) -> np.ndarray:
    """The Hessian of the mean NLL in the diagonal of W, then b, at W = start I and b = 0."""
    n, k = features.shape
    hessian, diagonal = np.zeros((2 * k, 2 * k)), np.zeros((2, 2, k))
    for rows in _blocks(n, k):
        block = features[rows]
        probs = softmax(block * start)
        both = np.concatenate([probs * block, probs], axis=1)
        hessian -= both.T @ both
        first, zeroth = both.sum(axis=0).reshape(2, k)
        second = np.einsum("ij,ij->j", both[:, :k], block)
        diagonal += np.array([[second, first], [first, zeroth]])
    index = np.arange(2 * k).reshape(2, k)
    hessian[index[:, None], index[None]] += diagonal
    return hessian / n


def _inverse_root(hessian: np.ndarray) -> np.ndarray:
    """R with R R' near the inverse of ``hessian``, which may be singular."""
    from scipy.linalg import cholesky, solve_triangular

    diagonal = hessian.diagonal()
    size = np.sqrt(np.maximum(diagonal, 1e-8 * diagonal.mean()))
    scaled = hessian / np.outer(size, size)
    lower = cholesky(scaled + 1e-6 * np.eye(len(scaled)), lower=True)
    return solve_triangular(lower, np.eye(len(scaled)), lower=True).T / size[:, None]
