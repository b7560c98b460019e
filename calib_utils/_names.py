"""Labels by the names that the user has for the classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import is_tensor, to_numpy

__all__ = ["class_indices"]


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


def _some(values: Any) -> str:
    """The first few different values, as text."""
    names = list(dict.fromkeys(values if isinstance(values, list) else values.tolist()))
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
