"""Arithmetic on checked arrays: blocks of rows, the softmax, masks, and what an exact 0 counts as.

A class is **masked** in a sample where its logit is minus infinity, or `FAR` or more below the
sample's largest logit, as -1e4 and float32's lowest number are. There its softmax is exactly 0 in
float64. A masked class gets probability 0, and is left out of means over the classes and of fits;
a label that is masked is an error. Only temperature scaling and its ensemble take finite logits
literally, because these may be on any scale: T adapts to it, and a finite mask still gets 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

FAR = 5_000.0
HUGE = 1e250  # for those that take finite logits literally
# A block of rows of this size stays in a core's cache while several passes go over it.
_BLOCK_BYTES = 512 * 1024
_ODD = 0.02  # of the rows with a zero: so many may reach farther down than the others
_MOST = 1e-3  # the largest value for a zero, if the smallest other probability tells little


def widen(array: np.ndarray) -> np.ndarray:
    """Floats as float32 or float64, because NumPy is slow and inexact in float16."""
    kind = array.dtype.newbyteorder("=")
    if kind in (np.float32, np.float64):
        return array.astype(kind, copy=False)
    return array.astype(np.float32 if kind == np.float16 else np.float64)


def row_blocks(array: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Consecutive rows of ``array``, as many at a time as fit a core's cache.

    Yields:
        Which rows they are, and the rows: contiguous, float32 or float64.
    """
    row_bytes = max(1, array[:1].size) * max(4, array.itemsize)
    step = max(1, _BLOCK_BYTES // row_bytes)
    for start in range(0, len(array), step):
        rows = slice(start, min(start + step, len(array)))
        yield rows, np.ascontiguousarray(widen(array[rows]))


def softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax of each row, in float64."""
    result = np.subtract(scores, scores.max(axis=1, keepdims=True), dtype=np.float64)
    np.exp(result, out=result)
    result /= result.sum(axis=1, keepdims=True)
    return result


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """The logarithm of the softmax of each row, in float64."""
    result = np.subtract(scores, scores.max(axis=1, keepdims=True), dtype=np.float64)
    result -= np.log(np.exp(result).sum(axis=1, keepdims=True))
    return result


def softplus(x: np.ndarray) -> np.ndarray:
    """log(1 + exp(x)), as `numpy.logaddexp` of it and 0, in half the time."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def log_losses(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The negative log-likelihood of each row, (n,), in float64; infinite if its class is masked.

    Args:
        logits: (n, K), where -inf masks a class; or (n,), the log-odds of class 1.
        labels: (n,), integers.
    """
    if logits.ndim == 1:
        return softplus(np.where(labels == 1, -1.0, 1.0) * logits)
    scores = np.subtract(logits, logits.max(axis=1, keepdims=True), dtype=np.float64)
    of_labels = scores[np.arange(len(labels)), labels]
    return np.asarray(np.log(np.exp(scores).sum(axis=1)) - of_labels)


def effective_size(weights: np.ndarray) -> float:
    """Kish's effective size: of how many equal rows a mean would be as noisy; 0 of none.

    Source: Kish 1965, "Survey Sampling", section 11.7.
    """
    if not weights.any():
        return 0.0
    share = weights / weights.max()  # so that no square is lost
    return float(share.sum() ** 2 / (share @ share))


def find_masks(logits: np.ndarray) -> np.ndarray | None:
    """Where classes are masked, boolean (N, K); None where none is."""
    masked = np.isneginf(logits)
    return masked if masked.any() else None


def log_of_probs(probs: np.ndarray, zero: float = 0.0) -> np.ndarray:
    """Logits whose softmax, or sigmoid, is ``probs``, float32 or float64, without infinities.

    Forests, rounding and underflow give probabilities of exactly 0 to what then happens. That is
    no mask: it counts as ``zero``, or as the smallest number of its type if that is larger.
    """
    if probs.ndim == 2:
        return np.log(np.maximum(probs, max(zero, smallest(probs))))
    positive, negative = log_parts(probs, zero)
    return positive - negative


def log_parts(probs: np.ndarray, zero: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Log p and log(1 - p) of (N,), float64, without infinities.

    An exact 1 is ``zero`` away from 1, but at least as far as the next number of its type.
    """
    below = 1 - max(zero, float(np.finfo(probs.dtype).epsneg))
    inside = np.clip(probs.astype(np.float64), max(zero, smallest(probs)), below)
    return np.log(inside), np.log1p(-inside)


def smallest(array: np.ndarray) -> float:
    """The smallest number above 0 of the type of ``array``."""
    return float(np.finfo(array.dtype).smallest_subnormal)


def zero_of(
    probs: np.ndarray, name: str = "logits", weights: np.ndarray | None = None
) -> tuple[float, list[str]]:
    """What an exact 0 of a validation set counts as, and a warning if a fit depends on that.

    Rounding to a step s turns everything below s/2 into 0, and so do averages of few trees. The
    data cannot tell what those probabilities were, so we need a convention: below s/2 they are
    spread evenly by their logarithms, as densely as in the lowest step, from s/2 to 3s/2. If there
    are d zeros for each probability in that step, they reach from s/2 down to exp(-L) s/2, where
    L = d log 3, and each zero counts as their mean, (1 - exp(-L)) s / (2 L), because that keeps the
    mass that they take from the other classes. The step is the smallest of the other
    probabilities, but for those of a few odd rows, which were perhaps not rounded: rows that reach
    down to it weigh at least 2 % of those with a zero. For (N,), the distance to 1 is treated like
    the distance to 0.

    Args:
        probs: (N, K) or (N,), checked.
        name: the name of the argument in the warning.
        weights: (N,), checked; rows of weight 0 do not count.

    Returns:
        The number, 0 if there is no exact 0, nor 1 of (N,); and the warning, if there is one.
    """
    if not any((apart <= 0).any() for _, apart in _from_ends(probs)):
        return 0.0, []
    of_row = np.ones(len(probs)) if weights is None else weights
    least, zeros = np.ones(len(probs)), np.zeros(2)
    with_zero = 0.0
    for rows, apart in _from_ends(probs):
        least[rows] = apart.min(axis=1, where=apart > 0, initial=1.0)
        counts = of_row[rows] @ (apart <= 0)
        zeros += counts if probs.ndim == 1 else [counts.sum(), 0]
        with_zero += float(of_row[rows] @ (apart <= 0).any(axis=1))
    if not with_zero:
        return 0.0, []
    order = np.argsort(least, kind="stable")
    reaching = np.cumsum(of_row[order])
    odd = np.searchsorted(reaching, _ODD * with_zero * (1 + 1e-9), side="right")  # up to rounding
    step = float(least[order[odd]])
    nearest = sum(
        float(of_row[rows] @ ((apart >= 0.5 * step) & (apart < 1.5 * step)).sum(axis=1))
        for rows, apart in _from_ends(probs)
    )
    depth = np.log(3) * zeros.sum() / nearest
    zero = min(float(-np.expm1(-depth) / depth) * step / 2, _MOST)
    if not zeros[1] and zero < np.finfo(probs.dtype).tiny:
        return zero, []  # too small for this type, and so too small to matter
    found = " or ".join(end for end, count in zip("01", zeros, strict=True) if count)
    share = 100 * zeros.sum() / (of_row.sum() * probs[:1].size)
    least_one = float(np.finfo(probs.dtype).epsneg) if zeros[1] else 0.0
    return zero, [
        f"{name}: {share:{'.2g' if share < 99 else '.3g'}} % of the probabilities are exactly "
        f"{found}, and count as {max(zero, least_one):.1g} from there, because the nearest others "
        f"are {step:.1g} away; what is fitted depends on that, so give logits, or probabilities "
        "with more digits"
    ]


def _from_ends(probs: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows, and their distances from 0, (n, K); of (N,) from 0 and from 1, (n, 2)."""
    for rows, block in row_blocks(probs):
        yield rows, np.stack([block, 1 - block.astype(float)], 1) if block.ndim == 1 else block
