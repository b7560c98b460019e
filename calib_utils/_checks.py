"""Checks of the input. Bad input gets a ValueError that tells what to do, never a number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np

from calib_utils._arrays import dtype_name, row_blocks, to_numpy, widen

__all__ = [
    "check_confidences",
    "check_correct",
    "check_inputs",
    "check_labels",
    "check_logits",
    "check_probs",
    "check_sample_weight",
    "check_several",
    "check_zeros_and_ones",
    "checked_blocks",
    "float_scores",
    "tolerance",
]

# How far from one a row of probabilities may sum, and how far above one a probability may be. A
# softmax in float32 is off by about 1e-6, and float64 often comes from float32. Rounding to
# float16 and bfloat16 changes a probability, and so the sum, by up to 2^-11 and 2^-8 of it.
_TOLERANCE = {"bfloat16": 6e-3, "float16": 2e-3}
_TOLERANCE_SINGLE = 1e-4
_MOST_ROUNDING = 0.1  # of a sum; rounding does not explain more
_MULTI_LABEL = (
    "if several labels of a sample may be true, each label is a question of its own: give "
    "probs[:, k] and labels[:, k] for each k"
)
_NAMED = "if they are names, use as_predictions(probs, labels, classes=[...])"


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


def check_logits(logits: Any, name: str = "logits") -> np.ndarray:
    """Logits as a NumPy array.

    Args:
        logits: (N, K) with K >= 2; or (N,), the log-odds of the positive class.
        name: the name of ``logits`` in the error.

    Returns:
        The same numbers, float32 (also for float16 and bfloat16) or float64.

    Raises:
        ValueError: for a wrong shape or type, no rows, NaN or infinite values.
    """
    array = float_scores(logits, name)
    for rows, block in row_blocks(array):
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):
            where = np.argwhere(~np.isfinite(block))[0]
            value = block[tuple(where)]
            advice = "remove such rows"
            if block.ndim == 2:
                advice += ", or give a masked class a large negative logit such as -1e4"
            elif np.isinf(value):
                advice += ", or give probabilities (inputs='probs'), where 0 and 1 are allowed"
            raise ValueError(
                f"{name}: expected finite values, found {value} at {_place(where, rows.start)}; "
                f"{advice}"
            )
    return widen(array)


def check_labels(labels: Any, n: int, n_classes: int) -> np.ndarray:
    """Labels as an int64 array of shape (n,).

    Raises:
        ValueError: unless they are n integers from 0 to ``n_classes`` - 1. Floats, booleans,
            one-hot rows and columns of shape (n, 1) are not converted silently.
    """
    array = to_numpy(labels, "labels", _NAMED)
    if array.ndim != 1:
        advice = "give one class index for each sample"
        if array.ndim == 2:
            flatten = "flatten them with labels[:, 0]"
            one_hot = "turn one-hot rows into class indices with labels.argmax(1)"
            single = array.any(axis=1).all() and np.count_nonzero(array) == len(array)
            advice = flatten if array.shape[1] == 1 else one_hot if single else _MULTI_LABEL
        raise ValueError(f"labels: expected shape ({n},), found {array.shape}; {advice}")
    if len(array) != n:
        raise ValueError(
            f"labels: expected {n}, one for each prediction, found {len(array)}; "
            "give as many labels as predictions"
        )
    if array.dtype.kind not in "iu":
        advice = "convert class indices with labels.astype(int), or labels.long() in torch; "
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(0, bool)
        if missing.any():
            advice = f"leave out samples without a label, as at index {missing.argmax()}; "
        raise ValueError(
            f"labels: expected integers, found {dtype_name(labels)}; " + advice + _NAMED
        )
    bad = (array < 0) | (array >= n_classes)
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"labels: expected 0 to {n_classes - 1}, found {array[where]} at index {where}; "
            "number the classes from 0, or name them in as_predictions(classes=[...]), and leave "
            "out samples without a label"
        )
    return array.astype(np.int64, copy=False)


def check_confidences(confidences: Any) -> np.ndarray:
    """Confidences as an array of shape (N,), float32 (also for the half types) or float64.

    Raises:
        ValueError: for a wrong shape or type, none, NaN, or values outside 0 to 1.
    """
    array = to_numpy(confidences, "confidences")
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"confidences: expected a non-empty array of shape (N,), found {array.shape}; "
            "get them from probabilities with top_label(probs, labels)"
        )
    _require_floats(array, confidences, "confidences")
    bad = ~((array >= 0) & (array <= 1 + tolerance(confidences)))
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"confidences: expected 0 to 1, found {array[where]} at index {where}; "
            "give probabilities, not logits, and remove missing values"
        )
    return widen(array)


def check_correct(correct: Any, n: int) -> np.ndarray:
    """Whether each prediction is correct, as a boolean array of shape (n,).

    Raises:
        ValueError: unless they are n values that are all True or False, or 1 or 0.
    """
    array = to_numpy(correct, "correct")
    if array.shape != (n,):
        raise ValueError(
            f"correct: expected shape ({n},), as many as confidences, found {array.shape}; "
            "give one True or False for each prediction"
        )
    check_zeros_and_ones(array, "correct")
    return array.astype(bool, copy=False)


def check_zeros_and_ones(array: np.ndarray, name: str) -> None:
    """Raise a ValueError unless all values are True or False, or 1 or 0."""
    bad = (array != 0) & (array != 1)
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"{name}: expected True or False (or 1 or 0), found {array[where]} at index {where}; "
            "compare predicted classes with labels first"
        )


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Importance weights as a float64 array of shape (n,).

    Raises:
        ValueError: unless they are n finite numbers of 0, or of 1e-150 to 1e150.
    """
    array = to_numpy(sample_weight, "sample_weight").astype(np.float64)
    if array.shape != (n,):
        raise ValueError(
            f"sample_weight: expected shape ({n},), one for each prediction, found {array.shape}; "
            "give one weight for each sample"
        )
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        where = int(bad.argmax())
        raise ValueError(
            f"sample_weight: expected finite numbers of 0 or more, found {array[where]} at index "
            f"{where}; give the weight 0 to a sample that is not to count"
        )
    extreme = (array > 0) & ((array < 1e-150) | (array > 1e150))  # whose squares are 0 or infinite
    if extreme.any():
        where = int(extreme.argmax())
        raise ValueError(
            f"sample_weight: expected 0, or numbers from 1e-150 to 1e150, found {array[where]:g} "
            f"at index {where}; only their ratios matter, so divide all of them by the largest"
        )
    return array


def check_inputs(inputs: Any) -> None:
    """Raise a ValueError unless ``inputs`` is "probs" or "logits"."""
    if inputs not in ("probs", "logits"):
        raise ValueError(f"inputs: expected 'probs' or 'logits', found {inputs!r}")


def check_several(values: Any, name: str, kind: type = object, what: str = "") -> list[Any]:
    """An iterable as a list.

    Raises:
        ValueError: if it is a single value, or one of its values is not of the ``kind`` that
            ``what`` names.
    """
    if not isinstance(values, Iterable) or isinstance(values, str):
        raise ValueError(f"{name}: expected several in a list, found {values!r}")
    several = list(values)
    for one in several:
        if not isinstance(one, kind):
            raise ValueError(f"{name}: expected {what}, found {one!r}")
    return several


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
    _require_floats(array, x, name)
    return array


def _require_floats(array: np.ndarray, original: Any, name: str) -> None:
    if array.dtype.kind != "f":
        raise ValueError(
            f"{name}: expected floating-point numbers, found {dtype_name(original)}; "
            f"give {name.split()[0]} as the model computes them, not labels or predicted classes"
        )


def _raise_for_probs(block: np.ndarray, start: int, tol: float, name: str) -> NoReturn:
    """Raise the error about a block that failed its check."""
    bad = ~((block >= 0) & (block <= 1 + tol))
    if bad.any():
        where = np.argwhere(bad)[0]
        value = block[tuple(where)]
        squash = "sigmoid" if block.ndim == 1 else "softmax"
        advice = f"apply a {squash} to logits" if np.isfinite(value) else "remove such rows"
        if 1 < value <= 100 and block.min() >= 0 and block.max() <= 100:  # which is False for NaN
            percents = block.ndim == 1 or abs(block[where[0]].sum() - 100) < 10
            advice = f"divide percentages by 100, or {advice}" if percents else advice
        raise ValueError(
            f"{name}: expected values from 0 to 1, found {value} at "
            f"{_place(where, start)}; {advice}"
        )
    sums = block.sum(axis=1, dtype=np.float64)
    row = int(np.abs(sums - 1).argmax())
    rounded = np.median(np.abs(sums - 1)) < _MOST_ROUNDING
    advice = "divide each row by its sum" if rounded else _MULTI_LABEL
    raise ValueError(
        f"{name}: expected rows that sum to 1 within {tol:g}, found {sums[row]:.6g} in row "
        f"{start + row}; {advice}, or apply a softmax in float32 to logits"
    )


def _place(where: np.ndarray, start: int) -> str:
    row = f"row {start + where[0]}"
    return row if len(where) == 1 else f"{row}, class {where[1]}"
