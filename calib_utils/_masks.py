"""Masked classes: those that a sample cannot have.

A class is **masked** in a sample where its logit is minus infinity, or `FAR` or more below the
sample's largest logit, as -1e4 and float32's lowest number are. There its softmax is exactly 0 in
float64. A masked class gets probability 0, and is left out of means over the classes and of fits;
a label that is masked is an error. Only temperature scaling and its ensemble take finite logits
literally, because these may be on any scale: T adapts to it, and a finite mask still gets 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from calib_utils._arrays import row_blocks
from calib_utils._checks import check_logits, float_scores

__all__ = [
    "FAR",
    "HUGE",
    "LIKE_PROBS",
    "MANY",
    "check_label_masks",
    "check_maskable_logits",
    "find_masks",
    "like_probs",
    "log_of_probs",
    "log_parts",
    "look_like_probs",
    "smallest",
    "zero_of",
]

FAR = 5_000.0
HUGE = 1e250
_LOOK = 1_000  # rows that are looked at first
MANY = 20  # so many log-odds do not all lie between 0 and 1 by chance
_ROUNDING = 0.1  # of the sum of a row that was rounded to two digits
_ONE = 1.001  # the largest probability, as rounding in half precision leaves it
_ODD = 0.02  # of the rows with a zero: so many may reach farther down than the others
_MOST = 1e-3  # the largest value for a zero, if the smallest other probability tells little


def check_maskable_logits(logits: Any, far: float = FAR, name: str = "logits") -> np.ndarray:
    """Logits as a NumPy array, with -inf where a class is masked.

    Args:
        logits: (N, K) with K >= 2, where -inf masks a class; or (N,), which has no masks.
        far: how far below the largest a finite logit is a mask as well.
        name: the name of ``logits`` in the error.

    Returns:
        The same numbers: (N, K) in their type, bfloat16 as float32, and without a copy where no
        finite logit is a mask; (N,) as float32 or float64.

    Raises:
        ValueError: as `check_logits` does; or if a row has NaN, +inf, or nothing but -inf.
    """
    array = float_scores(logits, name)
    if array.ndim == 1:
        return check_logits(logits, name)
    result = array
    for rows, block in row_blocks(array):
        low, high = float(block.min()), float(block.max())
        if np.isfinite(high) and high - low < far:
            continue
        top = block.max(axis=1, keepdims=True)
        if not np.isfinite(top).all():  # the largest of a row with NaN is NaN
            row = int(np.flatnonzero(~np.isfinite(top))[0])
            found = "only -inf" if np.isneginf(top[row]).all() else f"{top[row, 0]}"
            raise ValueError(
                f"{name}: expected finite values, or -inf for a masked class, found {found} in "
                f"row {rows.start + row}; remove such rows"
            )
        with np.errstate(over="ignore"):
            masked = np.isfinite(block) & (np.subtract(top, block, dtype=np.float64) >= far)
        if masked.any():
            result = result.copy() if np.shares_memory(result, array) else result
            result[rows][masked] = -np.inf
    return result


def check_label_masks(logits: np.ndarray, labels: np.ndarray) -> None:
    """Refuse labels whose class is masked.

    Args:
        logits: (N, K) as `check_maskable_logits` gives them, or (N,).
        labels: (N,), checked.

    Raises:
        ValueError: if there is one.
    """
    if logits.ndim == 1:
        return
    bad = np.isneginf(logits[np.arange(len(labels)), labels])
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"labels: sample {row} has class {labels[row]}, which is masked: its logit is -inf, or "
            "far below the sample's largest; unmask it, leave the sample out, or divide all logits "
            "by a constant if they are on so large a scale"
        )


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


# The warnings about log-odds (N,) and logits (N, K).
LIKE_PROBS = {
    1: "logits: all are from 0 to 1, like probabilities; give the log-odds, or set inputs='probs'",
    2: "logits: all are from 0 to 1, like probabilities; give the logits, or for rows that sum to "
    "one set inputs='probs'",
}


def look_like_probs(logits: np.ndarray) -> list[str]:
    """A warning, if all rows are of 0 to 1 and sum to one, or all of many numbers are 0 to 1."""
    if logits.ndim == 1 and len(logits) < MANY:
        return []
    many = len(logits) >= MANY
    if not like_probs(logits[:_LOOK], many):
        return []
    if not all(like_probs(block, many) for _, block in row_blocks(logits)):
        return []
    return [LIKE_PROBS[logits.ndim]]


def like_probs(rows: Any, many: bool) -> Any:
    """Whether values (N,), or rows (N, K), of an array or a tensor can be probabilities.

    Args:
        rows: some of the values.
        many: whether there are many in all; of few rows each has to sum to one, up to rounding.

    Returns:
        A boolean, on the tensor's device if it is a tensor.
    """
    within = (rows.min() >= 0) & (rows.max() <= _ONE)  # -inf is below 0
    if rows.ndim == 1:
        return within
    if many:  # softmax rounded so far that it does not sum to one, or sigmoids
        return within
    with np.errstate(over="ignore", invalid="ignore"):  # of large logits
        return within & (abs(rows.sum(1) - 1).max() <= _ROUNDING)
