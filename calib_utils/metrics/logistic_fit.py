"""Logistic regression on one or two features: Newton's method, in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_SIZES = (1e-290, 1e290)  # of differences between logits, so that weights are numbers
_OUTLYING = 1e20  # times the usual distance: farther away, Newton's method loses its way
_MAX_STEPS = 500  # far more than are ever needed
SURE = 1e-11  # gain in NLL by a Newton step below which it needs no check
_ENOUGH = 1e-22
_LAST = 1e-13  # where steps gain less and less, the one after this gains nothing
_BLOCK = 16 * 1024  # rows, of which a few numbers each stay in a core's cache
_FIRST_ROWS = 1_000  # of each class: enough to bring the first guess within a few per cent


def targets(
    z: np.ndarray, labels: np.ndarray, smooth: bool, weights: np.ndarray | None
) -> tuple[np.ndarray, list[str]]:
    """The targets of the fit: the labels, or Platt's soft targets and the reason for them."""
    of_class, problems = labels == 1, []
    if not smooth:
        if 0 < np.count_nonzero(of_class) < len(z):
            (low, high), (other_low, other_high) = (
                (z.min(where=rows, initial=np.inf), z.max(where=rows, initial=-np.inf))
                for rows in (of_class, ~of_class)
            )
            constant = min(low, other_low) == max(high, other_high)
            if constant or not (low >= other_high or high <= other_low):
                return of_class, []
            problem = "a threshold separates the classes"
        else:
            problem = "a class has no sample"
        problems.append(f"{problem}, so the fit takes Platt's soft targets")
    n = np.bincount(labels, weights, minlength=2)
    return np.where(of_class, (n[1] + 1) / (n[1] + 2), 1 / (n[0] + 2)), problems


def checked_middle(z: np.ndarray) -> float:
    """The median of log-odds, after a check that float64 suffices for their fit."""
    with np.errstate(over="ignore"):
        middle = float(np.median(z))
        distance = z - middle
    np.abs(distance, out=distance)
    largest = distance.max()
    if largest == 0:
        return middle
    if not _SIZES[0] < largest < _SIZES[1]:
        raise ValueError(
            f"logits: expected differences of {_SIZES[0]:g} to {_SIZES[1]:g} between samples, "
            f"found {largest:.3g}; multiply the logits by a constant"
        )
    if 2 * np.count_nonzero(distance < largest / _OUTLYING) < len(z):
        return middle  # so is their median
    usual = np.median(distance) or distance.min(where=distance > 0, initial=np.inf)
    if largest > _OUTLYING * usual:
        raise ValueError(
            f"logits: found some {largest:.3g} from the median, {_OUTLYING:g} times as far as "
            "others; leave them out, because their class is certain"
        )
    return middle


def require_optimum(left: float) -> None:
    if not left < SURE:
        raise ValueError(
            f"logits: the fit did not reach its optimum in {_MAX_STEPS} steps; leave out outliers "
            "among the logits"
        )


def logistic_regression(
    features: np.ndarray, middles: np.ndarray, target: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Slopes and intercept of the best sigmoid(slopes @ features + intercept).

    A constant feature gets slope 0.

    Args:
        features: (J, N).
        middles: (J,), a typical value of each.
        target: (N,), 0 to 1.
        weights: (N,), or None.

    Returns:
        (J + 1,), the slopes and the intercept; and the decrease of the NLL in the last step,
        infinite or NaN if the fit did not converge.
    """
    highest, lowest = features.max(axis=1), features.min(axis=1)
    size = np.maximum(highest - middles, middles - lowest)
    # A constant one may differ from its typical value by rounding.
    used = np.flatnonzero((highest > lowest) & (size > _SIZES[0]))

    def scaled(rows: slice | np.ndarray) -> np.ndarray:
        return (features[:, rows][used] - middles[used, None]) / size[used, None]

    share = None if weights is None else weights / weights.sum()
    mean = target.mean() if share is None else share @ target
    rest = 1 - mean
    if rest == 0 and share is not None:  # one class weighs too little to be seen beside the other
        rest = share @ (1.0 - target)
    best, left = np.append(np.zeros(len(used)), np.log(mean / rest)), 0.0
    if len(used):
        rows, counts = _first_rows(target, share)
        if 2 * len(rows) < len(target):
            some = scaled(rows)
            first, left = _newton(lambda r: some[:, r], target[rows], counts, best, 20)
            best = first if left < SURE else best
        best, left = _newton(scaled, target, share, best, _MAX_STEPS)
    result = np.zeros(len(features) + 1)
    result[used] = best[:-1] / size[used]
    result[-1] = best[-1] - result[:-1] @ middles
    return result, left


def _first_rows(target: np.ndarray, share: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Some rows of each class, enough even of a rare one, and the share of each."""
    rows, counts = [], []
    for of_class in (target > 0.5, target <= 0.5):
        all_rows = np.flatnonzero(of_class)
        step = max(1, len(all_rows) // _FIRST_ROWS)
        rows.append(all_rows[::step].copy())
        counts.append(np.full(len(rows[-1]), float(step)))
    some, share_of = np.concatenate(rows), np.concatenate(counts)
    if share is not None:
        share_of *= share[some]
    return some, share_of / max(share_of.sum(), 1e-290)


def _newton(
    x: Callable[[slice], np.ndarray],
    target: np.ndarray,
    share: np.ndarray | None,
    best: np.ndarray,
    max_steps: int,
) -> tuple[np.ndarray, float]:
    """Newton's method, for features of any scale and with any outliers.

    An outlier 10^9 times as far away as the others costs forty steps. ``x`` returns the features of
    a block of rows, so that only these need to be in memory.
    """
    n, before, j = len(target), np.inf, len(best) - 1
    blocks = [slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK)]

    def nll(at: np.ndarray) -> float:
        total = 0.0
        for rows in blocks:
            margins = at[:j] @ x(rows) + at[j]
            losses = np.logaddexp(0, margins) - target[rows] * margins
            total += float(losses.sum() / n if share is None else share[rows] @ losses)
        return total

    for _ in range(max_steps):
        gradient, hessian = np.zeros(j + 1), np.zeros((j + 1, j + 1))
        for rows in blocks:
            features = x(rows)
            margins = best[:j] @ features + best[j]
            minor = np.exp(-np.abs(margins))
            major = 1 / (1 + minor)
            minor *= major
            errors = np.where(margins < 0, minor, major)
            errors -= target[rows]
            minor *= major  # p (1 - p)
            if share is not None:
                errors *= share[rows]
                minor *= share[rows]
            gradient += np.append(features @ errors, errors.sum())
            weighted = features * minor
            hessian[:j, :j] += weighted @ features.T
            hessian[:j, j] += weighted.sum(axis=1)
            hessian[j, j] += minor.sum()
        hessian[j, :j] = hessian[:j, j]
        if share is None:
            gradient /= n
            hessian /= n
        root = np.sqrt(hessian.diagonal()) + np.finfo(float).tiny
        scaled = hessian / np.outer(root, root) + 1e-14 * np.eye(j + 1)
        step = np.linalg.solve(scaled, gradient / root) / root
        gain = float(gradient @ step)
        if not np.isfinite(gain):
            return best, np.inf
        if gain > SURE:  # otherwise the step is correct, but too short to be seen in the NLL
            change = max(np.abs(step[:j] @ x(rows) + step[j]).max() for rows in blocks)
            if change > 1:  # else the NLL falls, by more than a quarter of the gain
                lowest = nll(best)
                while gain > SURE and not nll(best - step) < lowest - gain / 1e4:
                    step, gain = step / 2, gain / 2
        best = best - step
        if gain < _ENOUGH or (gain < _LAST and gain < before**1.5):
            return best, gain
        before = gain
    return best, gain
