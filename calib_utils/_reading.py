"""Labels by the names that the user has for the classes, and rows that rounding took from one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import is_tensor, like, row_blocks, to_numpy
from calib_utils._checks import float_scores, tolerance

__all__ = ["class_indices", "read", "rescaled"]

_MOST_ROUNDING = 0.1  # of a sum; what is farther from one was not rounded


def read(
    probs: Any,
    labels: Any,
    classes: Sequence[Any] | None,
    positive: Any,
    rescale: bool,
    name: str = "probs",
) -> tuple[Any, Any]:
    """``probs`` and ``labels`` in the form in which the metrics check and take them.

    Args:
        probs: (N, K) or (N,).
        labels: (N,), integers; or what ``classes`` or ``positive`` name.
        classes: as in `class_indices`.
        positive: as in `class_indices`.
        rescale: whether to take rows that `rescaled` mends.
        name: what errors and warnings call ``probs``.
    """
    probs = rescaled(probs, stacklevel=4, name=name) if rescale else probs
    if classes is None and positive is None:
        return probs, labels
    array = float_scores(probs, name)
    return probs, class_indices(labels, array[:1].size, classes, positive)


def class_indices(
    labels: Any, columns: int, classes: Sequence[Any] | None, positive: Any
) -> np.ndarray:
    """Labels as the numbers of their columns, int64.

    Args:
        labels: (N,), integers, booleans or texts.
        columns: how many columns the predictions have; 1 for those of the positive class.
        classes: (K,), what the labels call the class of each column; of one column, what they
            call the negative class and the positive one.
        positive: what they call the positive class, of one column; all others are negative.

    Raises:
        ValueError: if a label is no class, ``classes`` are too few, too many or not distinct, or
            no label is ``positive``.
    """
    array = _names(labels)
    if positive is not None:
        if classes is not None or columns > 1:
            raise ValueError(
                "positive: expected only with probabilities (N,) and without classes; give "
                "classes=[...], the name of each column"
            )
        indices = (array == positive).astype(np.int64)
        if not indices.any():
            raise ValueError(
                f"positive: no label is {positive!r}, found {_some(array)}; where samples of a "
                "class may be missing, give classes=[negative, positive]"
            )
        return indices
    names = np.asarray(classes).tolist() if not isinstance(classes, (list, tuple)) else [*classes]
    expected = max(columns, 2)
    if len(names) != expected or len(set(names)) != expected:
        raise ValueError(
            f"classes: expected {expected} different names, one for each column (of (N,) the "
            f"negative class, then the positive one), found {names!r}"
        )
    numbers = {name: k for k, name in enumerate(names)}
    found = array.tolist()
    try:
        unknown = [name for name in found if name not in numbers]
    except TypeError as error:
        raise ValueError(f"labels: expected one name a sample, found {error}") from error
    if unknown:
        raise ValueError(
            f"labels: expected the names in classes, {_some(names)}, found {_some(unknown)}"
        )
    return np.array([numbers[name] for name in found], np.int64)


def _names(labels: Any) -> np.ndarray:
    """Labels as an array of shape (N,), each of which names a class.

    Raises:
        ValueError: for another shape, masked or missing labels, or such as are no names.
    """
    parts = labels if isinstance(labels, (list, tuple)) else [labels]
    if is_tensor(parts[0] if len(parts) else None) or any(map(np.ma.isMaskedArray, parts)):
        array = to_numpy(labels, "labels")  # which refuses what is masked
    else:
        try:
            array = np.asarray(labels)
        except ValueError as error:
            raise ValueError("labels: found rows of unequal length; give (N,)") from error
    if array.ndim != 1:
        raise ValueError(
            f"labels: expected shape (N,), found {array.shape}; give one name a sample"
        )
    if array.dtype.kind not in "biufUSTO":
        raise ValueError(
            f"labels: expected integers, booleans or texts, found {array.dtype}; convert them first"
        )
    missing = [False] * len(array)
    if array.dtype.kind in ("f", "O"):
        missing = [x is None or type(x).__name__ == "NAType" or x != x for x in array.tolist()]
    if any(missing):
        where = missing.index(True)
        raise ValueError(
            f"labels: found {array[where]!r} at index {where}, which is missing; leave out samples "
            "without a label"
        )
    return array


def rescaled(probs: Any, stacklevel: int = 3, name: str = "probs") -> Any:
    """Rows divided by their sum, where that is further from one than the checks allow.

    Args:
        probs: (N, K); or (N,), which has no sums and is left as it is.
        stacklevel: whose line a warning names.
        name: what errors and the warning call ``probs``.

    Raises:
        ValueError: for bad input, or a sum so far from one that rounding cannot be the reason.

    Warns:
        UserWarning: that says how many rows were divided, and by how much at most.
    """
    array = float_scores(probs, name)
    if array.ndim == 1:
        return probs
    sums = np.empty(len(array))
    for rows, block in row_blocks(array):
        sums[rows] = block.sum(axis=1, dtype=np.float64)
    off = np.abs(sums - 1)
    if not off.max() <= _MOST_ROUNDING:  # NaN, too
        row = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        raise ValueError(
            f"{name}: expected rows that sum to one but for rounding, within {_MOST_ROUNDING:g}, "
            f"found {sums[row]:.6g} in row {row}; apply a softmax to logits, divide percents by 100"
        )
    # A little less than the checks allow: they add up in another order.
    mended = np.flatnonzero(off > 0.99 * tolerance(probs))
    if not len(mended):
        return probs
    warnings.warn(
        f"{name}: {len(mended)} of {len(sums)} rows did not sum to one, by up to "
        f"{off.max():.2g}, and were divided by their sum",
        stacklevel=stacklevel,
    )
    array = array.copy()
    array[mended] = array[mended] / sums[mended, None]
    return like(array, probs, cast=True)


def _some(values: Any) -> str:
    """The first few different values, as text."""
    names = list(dict.fromkeys(values if isinstance(values, list) else values.tolist()))
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
