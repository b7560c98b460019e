"""Checks of probabilities, confidences and logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from calib_utils._numerics import HUGE, row_blocks, widen
from calib_utils.predictions.arrays import dtype_name, to_numpy

# How far from one a row of probabilities may sum, and how far above one a probability may be. A
# softmax in float32 is off by about 1e-6, and float64 often comes from float32. Rounding to
# float16 and bfloat16 changes a probability, and so the sum, by up to 2^-11 and 2^-8 of it.
_TOLERANCE = {"bfloat16": 6e-3, "float16": 2e-3}
_TOLERANCE_SINGLE = 1e-4
MULTI_LABEL = (
    "if several labels of a sample may be true, each label is a question of its own: give "
    "probs[:, k] and labels[:, k] for each k"
)
MANY = 20  # so many log-odds do not all lie between 0 and 1 by chance
_ROUNDING = 0.1  # of the sum of a row that was rounded to two digits
_ONE = 1.001  # the largest probability, as rounding in half precision leaves it
# The warnings about log-odds (N,) and logits (N, K).
LIKE_PROBS = {
    1: "logits: all are from 0 to 1, like probabilities; give the log-odds, or set inputs='probs'",
    2: "logits: all are from 0 to 1, like probabilities; give the logits, or for rows that sum to "
    "one set inputs='probs'",
}


def float_scores(x: Any, name: str) -> np.ndarray:
    """``x`` as floats of shape (N, K) or (N,) with N >= 1 and K >= 2."""
    array = to_numpy(x, name)
    if array.ndim == 2 and array.shape[1] == 1:
        raise ValueError(
            f"{name}: expected shape (N, K) with at least two classes, or (N,) for two classes, "
            f"found {array.shape}; flatten it with {name.split()[0]}[:, 0]"
        )
    if array.ndim not in (1, 2) or array.size == 0:
        given = name.split()[0]
        maps = (
            f": of (batch, token, class) {given}.reshape(-1, K), and of (N, K, ...) "
            f"np.moveaxis({given}, 1, -1).reshape(-1, K), with labels.ravel(); of an ensemble "
            "(member, N, K) the mean of the members' probabilities"
        )
        raise ValueError(
            f"{name}: expected a non-empty array of shape (N, K), or (N,) for two classes, "
            f"found {array.shape}; give one row for each sample" + (maps if array.ndim > 2 else "")
        )
    if array.dtype.kind != "f":
        raise ValueError(
            f"{name}: expected floating-point numbers, found {dtype_name(x)}; "
            f"give {name.split()[0]} as the model computes them, not labels or predicted classes"
        )
    return array


def tolerance(probs: Any) -> float:
    """How far from one a row of ``probs``, in the type that it came in, may sum."""
    return _TOLERANCE.get(dtype_name(probs), _TOLERANCE_SINGLE)


def check_probs(probs: Any, name: str = "probs") -> np.ndarray:
    """Probabilities as a NumPy array.

    Args:
        probs: (N, K) with K >= 2, rows that sum to one; or (N,), those of the positive class.
        name: the name of ``probs`` in the error.

    Returns:
        The same numbers, float32 (also for float16 and bfloat16) or float64.

    Raises:
        ValueError: for a wrong shape or type, no rows, NaN, values outside 0 to 1, or rows
            whose sum is further from one than `tolerance` allows.
    """
    array = float_scores(probs, name)
    for _ in checked_blocks(array, tolerance(probs), name):
        pass
    return widen(array)


def checked_blocks(
    array: np.ndarray, tol: float, name: str = "probs"
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of rows as from `row_blocks`, each checked while it is in cache.

    Raises:
        ValueError: at the first block with invalid probabilities.
    """
    ones = np.ones(array[:1].size, widen(array[:0]).dtype)
    for rows, block in row_blocks(array):
        # Written so that NaN fails. If none is negative, none exceeds the sum of its row.
        with np.errstate(invalid="ignore", over="ignore"):
            if block.ndim == 1:
                good = block.min() >= 0 and block.max() <= 1 + tol
            else:
                sums = block @ ones
                good = block.min() >= 0 and np.abs(sums - 1).max() <= tol
        if not good:
            _raise_for_probs(block, rows.start, tol, name)
        yield rows, block


def _raise_for_probs(block: np.ndarray, start: int, tol: float, name: str) -> NoReturn:
    """Raise the error about a block that failed its check."""
    bad = ~((block >= 0) & (block <= 1 + tol))
    if bad.any():
        where = np.argwhere(bad)[0]
        value = block[tuple(where)]
        squash = "sigmoid" if block.ndim == 1 else "softmax"
        finite = f"apply a {squash} to logits, or divide percentages by 100"
        if -tol < value < 0:
            finite = "cut such roundings off with probs.clip(0)"
        raise ValueError(
            f"{name}: expected values from 0 to 1, found {value} at {_place(where, start)}; "
            f"{finite if np.isfinite(value) else 'remove such rows'}"
        )
    sums = block.sum(axis=1, dtype=np.float64)
    row = int(np.abs(sums - 1).argmax())
    raise ValueError(
        f"{name}: expected rows that sum to 1 within {tol:g}, found {sums[row]:.6g} in row "
        f"{start + row}; divide each row by its sum if it was rounded, or apply a softmax in "
        f"float32 to logits; {MULTI_LABEL}"
    )


def check_confidences(confidences: Any) -> np.ndarray:
    """Confidences (N,) as `check_probs` gives them.

    Raises:
        ValueError: as `check_probs` does, or for rows of probabilities.
    """
    array = check_probs(confidences, "confidences")
    if array.ndim != 1:
        raise ValueError(
            f"confidences: expected shape (N,), found {array.shape}; get them from probabilities "
            "with top_label(probs, labels)"
        )
    return array


def check_logits(logits: Any, name: str = "logits", far: float = HUGE) -> np.ndarray:
    """Logits as a NumPy array, with -inf where a class is masked.

    Args:
        logits: (N, K) with K >= 2, where -inf masks a class; or (N,), the log-odds of the positive
            class, which have no masks.
        name: the name of ``logits`` in the error.
        far: how far below the largest a finite logit is a mask as well.

    Returns:
        The same numbers: (N, K) in their type, bfloat16 as float32, and without a copy where no
        finite logit is a mask; (N,) as float32 or float64.

    Raises:
        ValueError: for a wrong shape or type, or no rows; for NaN or +inf, for -inf in (N,), or if
            a row has nothing but -inf.
    """
    array = float_scores(logits, name)
    if array.ndim == 1:
        return _finite(array, name)
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


def _finite(odds: np.ndarray, name: str) -> np.ndarray:
    for rows, block in row_blocks(odds):
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            where = int((~np.isfinite(block)).argmax())
            advice = "remove such rows"
            if np.isinf(block[where]):
                advice += ", or give probabilities (inputs='probs'), where 0 and 1 are allowed"
            raise ValueError(
                f"{name}: expected finite values, found {block[where]} at row "
                f"{rows.start + where}; {advice}"
            )
    return widen(odds)


def check_label_masks(logits: np.ndarray, labels: np.ndarray) -> None:
    """Refuse labels whose class is masked.

    Args:
        logits: (N, K) as `check_logits` gives them, or (N,).
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


def look_like_probs(logits: np.ndarray) -> list[str]:
    """A warning, if all rows are of 0 to 1 and sum to one, or all of many numbers are 0 to 1."""
    many = len(logits) >= MANY
    if logits.ndim == 1 and not many:
        return []
    doubtful = all(like_probs(block, many) for _, block in row_blocks(logits))
    return [LIKE_PROBS[logits.ndim]] if doubtful else []


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


def _place(where: np.ndarray, start: int) -> str:
    row = f"row {start + where[0]}"
    return row if len(where) == 1 else f"{row}, class {where[1]}"
