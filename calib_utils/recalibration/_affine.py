"""Softmax regression on logits: the fits behind vector, matrix and Dirichlet scaling.

The scores of a sample with features x are W x + b. Both fits minimise the mean NLL, exact in
float64, plus a sum of squares of b and of W's deviation from its start. The solver works in
coordinates in which the Hessian is close to the identity, so that ten to thirty steps do the work
of hundreds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calib_utils._numerics import softmax
from calib_utils.recalibration._features import CentredRows, MaskedRows
from calib_utils.recalibration._minimum import Objective, Scores, blocks, minimise

__all__ = ["MAX_STEPS", "Fit", "Penalties", "fit_diagonal", "fit_full"]

_SMALLEST = 1e-4  # of the largest class's scores; a solver cannot tell smaller ones from 0
MAX_STEPS = 1_000  # a fit that has an optimum takes 10 to 100, and more with outliers


class Penalties(NamedTuple):
    """Factors of the squares of W's off-diagonal, W's diagonal's deviation, and b."""

    off_diagonal: float = 0.0
    diagonal: float = 0.0
    intercept: float = 0.0


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


def _diagonal_coordinates(features: CentredRows, start: float, share: np.ndarray) -> np.ndarray:
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
