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
from calib_utils.recalibration._features import CentredRows, MaskedRows

__all__ = ["MAX_STEPS", "Fit", "Penalties", "fit_diagonal", "fit_full", "without_masked"]

_BLOCK_VALUES = 64 * 1024  # so that a block of scores stays in a core's cache
MAX_STEPS = 1_000  # a fit that has an optimum takes 10 to 100, and more with outliers
_BY_HEART = 1e-4  # an NLL that no honest fit reaches
_LEFT = 1e-7  # of NLL to gain, by the solver's own curvature, with which a fit may end


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
    weights: np.ndarray | None = None,
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
    identity = start * np.eye(k)

    def change(coordinates: np.ndarray) -> np.ndarray:
        delta = (coordinates[:-k].reshape(k, k + 1) * scale) @ basis.T
        np.einsum("kk->k", delta[:, :k])[...] += diagonal_scale * coordinates[-k:]
        return _pinned(delta, present)

    def objective(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        delta = change(coordinates)
        matrix = np.ascontiguousarray((identity + delta[:, :k]).T)
        nll, gradient = 0.0, np.zeros((k, k + 1))
        for rows in _blocks(n, k):
            block = features[rows]
            scores = without_masked(block @ matrix + delta[:, k], masked, rows)
            part, errors = _nll_and_errors(scores, labels[rows], share[rows])
            nll += part
            gradient[:, :k] += errors.T @ block
            gradient[:, k] += errors.sum(axis=0)
        pull = factors * delta
        gradient = _pinned(gradient + 2 * pull, present)
        value = nll + float(np.vdot(pull, delta))
        along = ((gradient @ basis) * scale).ravel()
        return value, np.concatenate([along, gradient.diagonal() * diagonal_scale])

    best, problems = _minimise(objective, k * (k + 2), max_steps)
    delta = change(best)
    return Fit(identity + delta[:, :k], delta[:, k], problems)


def fit_diagonal(
    features: CentredRows,
    labels: np.ndarray,
    start: float,
    masked: MaskedRows | None = None,
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

    def change(coordinates: np.ndarray) -> np.ndarray:
        delta = np.einsum("ijk,jk->ik", root, coordinates.reshape(2, k))
        return np.stack([np.where(present, delta[0], 0), _pinned(delta[1, :, None], present)[:, 0]])

    def objective(coordinates: np.ndarray) -> tuple[float, np.ndarray]:
        delta = change(coordinates)
        nll, gradient = 0.0, np.zeros((2, k))
        for rows in _blocks(n, k):
            block = features[rows]
            scores = block * (start + delta[0]) + delta[1]
            scores = without_masked(scores, masked, rows)
            part, errors = _nll_and_errors(scores, labels[rows], share[rows])
            nll += part
            gradient[0] += np.einsum("ij,ij->j", errors, block)
            gradient[1] += errors.sum(axis=0)
        gradient[0, ~present] = 0
        gradient[1] = _pinned(gradient[1, :, None], present)[:, 0]
        return nll, np.einsum("ijk,ik->jk", root, gradient).ravel()

    best, problems = _minimise(objective, 2 * k, MAX_STEPS)
    delta = change(best)
    return Fit(start + delta[0], delta[1], problems)


def _minimise(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]], size: int, max_steps: int
) -> tuple[np.ndarray, list[str]]:
    from scipy.optimize import minimize

    best, steps, short = np.zeros(size), 0, True
    while short and steps < max_steps:
        # ftol is the last step's gain; what is left to gain is about as little, or it goes on.
        result = minimize(
            objective,
            best,
            jac=True,
            method="L-BFGS-B",
            options={"maxcor": 20, "ftol": 1e-10, "gtol": 1e-6, "maxiter": max_steps - steps},
        )
        best, steps = result.x, steps + max(result.nit, 1)
        left = float(result.jac @ (result.hess_inv @ result.jac)) / 2
        short = left > _LEFT and result.fun >= _BY_HEART
    problems = []
    if result.fun < _BY_HEART:
        problems.append(
            f"the fit ended after {steps} steps with an NLL of {result.fun:.2g}: its parameters "
            "learn the labels of all samples by heart, and there may be no optimum; regularise, "
            "or take a method with fewer"
        )
    elif steps >= max_steps:
        problems.append(
            f"the fit ended after {steps} steps, at an NLL of {result.fun:.4g}, short of its "
            "optimum; regularise, leave out outliers among the logits, or take a method with fewer "
            "parameters"
        )
    return np.asarray(best), problems


def _blocks(n: int, k: int) -> Iterator[slice]:
    step = max(1, _BLOCK_VALUES // k)
    for first in range(0, n, step):
        yield slice(first, first + step)


def _share(n: int, weights: np.ndarray | None) -> np.ndarray:
    """What each sample adds to a mean."""
    return np.full(n, 1 / n) if weights is None else weights / weights.sum()


def _nll_and_errors(
    scores: np.ndarray, labels: np.ndarray, share: np.ndarray
) -> tuple[float, np.ndarray]:
    """NLL, and the probabilities less the one-hot labels; both summed with ``share``.

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


def _pinned(change: np.ndarray, present: np.ndarray) -> np.ndarray:
    """A change of the rows that leaves absent classes, and the mean of the others, alone."""
    if present.all():
        return change
    kept = np.where(present[:, None], change, 0)
    kept[present] -= kept[present].mean(axis=0)
    return kept


def _full_coordinates(
    features: np.ndarray, start: float, penalties: Penalties, share: np.ndarray
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
        part = share[rows, None]
        moment[:k, :k] += block.T @ (block * part)
        moment[:k, k] += share[rows] @ block
        probs = softmax(block * start)
        probs *= (1 - probs) * part
        spread += probs.sum(axis=0)
        curvature += np.einsum("ij,ij,ij->j", probs, block, block)
    moment[k, :k] = moment[:k, k]
    moment[k, k] = 1
    # Where there is no penalty, a tiny one keeps the problem definite.
    diagonal = moment.diagonal()
    floor = 1e-8 * np.append(np.full(k, diagonal[:k].mean() or 1.0), 1.0)
    pull = np.maximum(np.append(np.full(k, penalties.off_diagonal), penalties.intercept), floor)
    eigenvalues, basis = eigh(moment / np.sqrt(np.outer(pull, pull)))
    scale = 1 / np.sqrt(np.outer(spread, np.maximum(eigenvalues, 0)) + 2)
    diagonal_scale = 1 / np.sqrt(curvature + 2 * max(penalties.diagonal, floor[0]))
    return basis / np.sqrt(pull)[:, None], scale, diagonal_scale


def _diagonal_coordinates(features: CentredRows, start: float, share: np.ndarray) -> np.ndarray:
    """Coordinates of w_k and b_k in which each class's own Hessian is near the identity.

    Returns:
        (2, 2, K): for each class R with R R' near the inverse of its Hessian at the start.
    """
    n, k = features.shape
    second, first, zeroth = np.zeros((3, k))
    for rows in _blocks(n, k):
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
