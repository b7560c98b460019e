"""Labels given by the user's names of the classes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import is_tensor, to_numpy
from calib_utils._checks import check_several

__all__ = ["check_frames", "class_indices"]


def check_frames(scores: Any, labels: Any, classes: Any = None) -> None:
    """Compare the names in pandas' frames and series with each other.

    Raises:
        ValueError: if the columns of ``scores`` are the ``classes`` in a different order.

    Warns:
        UserWarning: if the index of ``labels`` is that of ``scores`` in a different order.
    """
    columns = _listed(scores, "columns")
    if columns is not None and isinstance(classes, (list, tuple, np.ndarray)):
        names, texts = [str(x) for x in classes], [str(x) for x in columns]
        if names != texts and sorted(names) == sorted(texts):
            raise ValueError(
                f"classes: expected the order of the columns, {_some(columns)}, found "
                f"{_some(list(classes))}; give probs[classes], or classes=list(probs.columns)"
            )
    of_scores, of_labels = _listed(scores, "index"), _listed(labels, "index")
    if of_scores is None or of_labels is None or len(of_scores) != len(of_labels):
        return
    if of_scores != of_labels and set(of_scores) == set(of_labels):
        warnings.warn(
            "labels: their index has the predictions' rows in a different order, and rows are "
            "compared by position; to match them by index, give labels.loc[probs.index]",
            stacklevel=4,
        )


def _listed(frame: Any, name: str) -> list[Any] | None:
    """A pandas object's attribute of that name; a list has a method called index."""
    found: Any = getattr(frame, name, None)
    return [*found] if hasattr(frame, "iloc") and found is not None else None


def class_indices(
    labels: Any, columns: int, classes: Sequence[Any] | None, positive: Any
) -> np.ndarray:
    """Labels as the numbers of their columns, int64.

    Args:
        labels: (N,), integers, booleans or texts.
        columns: the number of columns of the predictions; 1 for those of the positive class.
        classes: (K,), the name of each column's class; with one column, those of the negative
            class and the positive one.
        positive: with one column, the name of the positive class; all other labels are negative.

    Raises:
        ValueError: if a label is not a class, ``classes`` are too few, too many or not distinct,
            or no label is ``positive``.
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
                f"positive: no label is {positive!r}, found {_some(array)}; if a class may have no "
                "samples, give classes=[negative, positive]"
            )
        return indices
    if isinstance(classes, (set, frozenset)):
        raise ValueError(
            "classes: expected a list, in the order of the columns, found a set, which has no "
            "order; give list(model.classes_)"
        )
    of_array = hasattr(classes, "__array__")
    names = np.asarray(classes).tolist() if of_array else check_several(classes, "classes")
    expected = max(columns, 2)
    if len(names) != expected or len(set(names)) != expected:
        raise ValueError(
            f"classes: expected {expected} different names, one for each column (for (N,) the "
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
        ValueError: for a wrong shape, masked or missing labels, or values that are not names.
    """
    parts = labels if isinstance(labels, (list, tuple)) else [labels]
    masked = any(map(np.ma.isMaskedArray, parts))
    if masked or isinstance(labels, Iterator) or is_tensor(parts[0] if len(parts) else None):
        array = to_numpy(labels, "labels")  # which refuses what is masked, or read only once
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
