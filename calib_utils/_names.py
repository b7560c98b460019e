"""Names of classes and rows: of labels, and those that data frames and series carry."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib_utils._arrays import plain_array, to_numpy
from calib_utils._checks import check_several

__all__ = [
    "check_frames",
    "check_order",
    "check_rows",
    "class_indices",
    "class_names",
    "column_names",
    "doubt_first_class",
]

_OURS = ("calib_utils.", "calib_audit.", "torchmetrics.")  # which call us
_FEW = 10  # labels of a class
# A column's number: all of its name, or what follows a prefix such as "p_".
_NUMBER = re.compile(r"(?:.*(?:_|[^\w-]))?(-?\d+)")


def check_frames(scores: Any, labels: Any, classes: Sequence[Any] | None = None) -> None:
    """Compare the names in data frames and series with each other.

    Args:
        scores: any predictions; only those with named columns, or an index, are checked.
        labels: in any form, or None.
        classes: (K,), the name of each column's class.

    Raises:
        ValueError: if the name of a column is that of a different class, alone or after a prefix;
            or, without ``classes``, if the labels may be the numbers in the columns' names, which
            are not those of their positions.

    Warns:
        UserWarning: as `check_rows` does.
    """
    columns = column_names(scores)
    if columns and classes is not None:
        names = [str(name) for name in classes]
        for column, name in zip(columns, names, strict=False):
            if _class_of(column, names) not in (None, name):
                raise ValueError(
                    f"classes: expected the order of the columns, {_some(columns)}, found "
                    f"{_some(names)}; give the columns in the order of the classes, or the classes "
                    "in that of the columns"
                )
    elif columns:
        _check_positions(columns, labels)
    check_rows(scores, labels, "labels")


def check_rows(first: Any, second: Any, name: str, of: str = "probs") -> None:
    """Compare the indexes of two pandas objects.

    Args:
        first, second: in any form.
        name: of the second in the warning.
        of: the name of the first.

    Warns:
        UserWarning: if they have the same rows in different orders.
    """
    if not (hasattr(first, "iloc") and hasattr(second, "iloc")):
        return
    one, other = list(first.index), list(second.index)
    if one != other and len(one) == len(other) and set(one) == set(other):
        warnings.warn(
            f"{name}: the index has the rows of {of} in a different order, and rows are compared "
            f"by position; to match them by index, give {name}.loc[{of}.index]",
            stacklevel=_levels_to_the_user(),
        )


def doubt_first_class(labels: np.ndarray, n_classes: int) -> None:
    """Warn of labels that may be numbered from 1.

    Args:
        labels: (N,), checked.
        n_classes: the number of classes, K.

    Warns:
        UserWarning: if class 0 of three or more has no label and each of the others has ten.
    """
    if n_classes < 3 or len(labels) < _FEW * (n_classes - 1) or labels.min() != 1:
        return
    if np.bincount(labels, minlength=n_classes)[1:].min() >= _FEW:
        warnings.warn(
            f"labels: class 0 has no sample, and each of the others, 1 to {n_classes - 1}, has; if "
            "the classes are numbered from 1, give labels - 1",
            stacklevel=_levels_to_the_user(),
        )


def check_order(values: Any, columns: Sequence[str], name: str) -> None:
    """Compare the index of numbers of the classes, if they are a pandas series, with the columns.

    ``value_counts``, for example, sorts the classes by how frequent they are.

    Raises:
        ValueError: if the classes are in a different order; where columns have other names or
            none, they are expected to be sorted.
    """
    if not (hasattr(values, "iloc") and getattr(values, "ndim", 1) == 1):
        return
    texts = [str(value) for value in values.index]
    own = [_class_of(column, texts) for column in columns]
    known = sorted(filter(None, own)) == sorted(texts)
    if not (own == texts if known else values.index.is_monotonic_increasing):
        raise ValueError(
            f"{name}: expected the classes in the order of the columns, found the index "
            f"{_some(texts)}; give {name}.loc[classes].to_numpy(), with the classes in that order"
        )


def _levels_to_the_user() -> int:
    """The stack level, seen from the caller, of the first code that is no library's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, level = frame.f_back, level + 1
    return level


def column_names(frame: Any) -> list[str]:
    """The names of a data frame's columns; none of anything else."""
    of_arrow = hasattr(frame, "column_names") and not hasattr(frame, "iloc")
    names: Any = getattr(frame, "column_names" if of_arrow else "columns", None)
    named = np.iterable(names) and getattr(frame, "ndim", 2) == 2
    return [str(name) for name in names] if named else []


def _class_of(column: str, names: Sequence[str]) -> str | None:
    """The class after which a column is named."""
    ends = [
        name
        for name in filter(None, names)
        if column == name or (column.endswith(name) and not column[-len(name) - 1].isalnum())
    ]
    return max(ends, key=len, default=None)


def _check_positions(columns: Sequence[str], labels: Any) -> None:
    """Raise a ValueError if labels may be numbers in names, which are not those of positions."""
    found = [_NUMBER.fullmatch(column) for column in columns]
    numbers = [int(number[1]) for number in found if number]
    if len(numbers) < len(columns) or numbers == list(range(len(columns))) or labels is None:
        return
    try:
        array = to_numpy(labels, "labels")
    except ValueError:
        return  # which is refused where labels are checked
    if array.dtype.kind in "iu" and array.size and set(array.ravel().tolist()) <= set(numbers):
        raise ValueError(
            f"labels: expected the positions of the columns, 0 to {len(columns) - 1}, found "
            f"numbers that are all in the columns' names, {_some(list(columns))}; give these as "
            "classes=[...] to as_predictions, or probs without names"
        )


def class_names(classes: Any) -> list[Any]:
    """The names of classes as a list.

    Raises:
        ValueError: if they have no order, or are not several.
    """
    if isinstance(classes, (set, frozenset, Mapping)):
        raise ValueError(
            f"classes: expected a list, in the order of the columns, found a "
            f"{type(classes).__name__}, which has no such order; give list(model.classes_)"
        )
    of_array = hasattr(classes, "__array__")
    several = plain_array(classes, "classes").tolist() if of_array else classes
    names = check_several(several, "classes")
    if any(isinstance(name, (list, Mapping, np.ndarray)) for name in names):
        raise ValueError(f"classes: expected one name for each column, found {names!r}")
    return names


def class_indices(
    labels: Any, columns: int, classes: Sequence[Any] | None, positive: Any
) -> np.ndarray:
    """Labels as the numbers of their columns, int64.

    Args:
        labels: (N,), integers, booleans or texts.
        columns: the number of columns of the predictions; 1 for those of the positive class.
        classes: (K,), as from `class_names`, the name of each column's class; with one column,
            those of the negative class and the positive one.
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
    names, expected = list(classes or ()), max(columns, 2)
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
    array = plain_array(labels, "labels")
    if array.ndim != 1:
        raise ValueError(
            f"labels: expected shape (N,), found {array.shape}; give one name a sample"
        )
    if array.dtype.kind not in "biufUSO":
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
