"""Checks of labels, names of classes, weights, groups and blocks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib_utils.predictions.arrays import dtype_name, is_tensor, like, plain_array, to_numpy
from calib_utils.predictions.checks import check_rows, check_several
from calib_utils.predictions.scores import MULTI_LABEL

_NAMED = "if they are names, use as_predictions(probs, labels, classes=[...])"
# A column's number: all of its name, or what follows a prefix such as "p_".
_NUMBER = re.compile(r"(?:.*(?:_|[^\w-]))?(-?\d+)")


def in_rows(probs: Any, labels: Any, name: str) -> tuple[Any, Any]:
    """A row and a label for each position of (..., K) and (...), or of (N, K, ...) and (N, ...).

    A plain tensor stays on its device; all else becomes an array.
    """
    plain = is_tensor(probs) and str(probs.layout) == "torch.strided" and not probs.is_nested
    probs = probs if plain else to_numpy(probs, name)
    shape = tuple(probs.shape)
    if len(shape) < 3:
        return probs, labels
    of_places = to_numpy(labels, "labels")
    last, second = (of_places.shape == x for x in (shape[:-1], (shape[0], *shape[2:])))
    if last == second:
        how = "fit (..., K) and (N, K, ...) alike" if last else "fit neither"
        raise ValueError(
            f"{name}: expected (batch, token, class) with labels (batch, token), or (N, K, ...) "
            f"with labels (N, ...), found {shape} with labels {of_places.shape}, which {how}; give "
            "a row for each label, (N, K), and labels.flatten(), or of an ensemble (member, N, K) "
            "the mean of the members' probabilities"
        )
    if last:
        return probs.reshape(-1, shape[-1]), of_places.ravel()
    by_place = probs.reshape(*shape[:2], math.prod(shape[2:])).swapaxes(1, 2)
    return by_place.reshape(of_places.size, shape[1]), of_places.ravel()


def without_ignored(probs: Any, labels: Any, ignore_index: int) -> tuple[Any, Any]:
    """The rows whose label is another number, each array on its own device."""
    array = to_numpy(labels, "labels")
    if array.ndim != 1 or array.shape != probs.shape[:1]:
        raise ValueError(
            f"labels: expected shape (N,), one for each of probs {tuple(probs.shape)}, found "
            f"{array.shape}; give one label for each sample"
        )
    rows = np.flatnonzero(array != ignore_index)
    kept = [x[like(rows, x)] if is_tensor(x) else np.asarray(x)[rows] for x in (probs, labels)]
    return kept[0], kept[1]


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
            advice = "flatten a column with labels[:, 0]"
            if array.shape[1] > 1:
                advice = f"turn one-hot rows into indices with labels.argmax(1); {MULTI_LABEL}"
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
        if np.ndim(positive):
            raise ValueError(
                f"positive: expected one label, such as 'yes', found {np.size(positive)}"
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


def check_blocks(blocks: Any, n: int, rows: Any, of: str) -> np.ndarray:
    """The name of each sample's block, (n,); ``rows`` are the samples, named ``of``."""
    check_rows(rows, blocks, "blocks", of)
    array = plain_array(blocks, "blocks")
    if array.shape != (n,):
        raise ValueError(
            f"blocks: expected shape ({n},), the block of each sample, found {array.shape}"
        )
    missing = np.array([is_none(name) for name in array.tolist()])
    if missing.any():
        where = int(missing.argmax())
        raise ValueError(
            f"blocks: expected the name of a block, found {array[where]} at index {where}; remove "
            "such samples, or give each a name of its own"
        )
    return array.astype(str) if array.dtype == object else array


def is_none(name: Any) -> bool:
    """Whether it is None, NaN, NaT, or pandas' NA, whose comparisons give NA."""
    same = name == name
    return name is None or not isinstance(same, (bool, np.bool_)) or not same


def check_groups(groups: Any, n: int) -> np.ndarray:
    """The name of each sample's group as text, (n,)."""
    array = plain_array(groups, "groups")
    if array.shape != (n,):
        raise ValueError(
            f"groups: expected one for each of {n:,} samples, found shape {array.shape}"
        )
    wrong = (
        [not isinstance(x, (str, int, np.integer, np.bool_)) for x in array]
        if array.dtype.kind == "O"
        else [array.dtype.kind not in "biuU"]
    )
    if any(wrong):
        raise ValueError(
            "groups: expected texts, integers or booleans, found "
            f"{array.tolist()[wrong.index(True)]!r}; "
            "name a missing group, such as 'unknown', and round numbers into ranges"
        )
    return np.char.strip(array.astype(str))


def check_frames(scores: Any, labels: Any, classes: Sequence[Any] | None = None) -> None:
    """Compare the names in data frames and series with each other, and with ``classes``.

    Raises:
        ValueError: if the name of a column is that of a different class, alone or after a prefix;
            if, without ``classes``, the labels may be the numbers in the columns' names, which are
            not those of their positions; or as `check_rows` does.
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


def _some(values: Any) -> str:
    """The first few different values, as text."""
    names = list(dict.fromkeys(values if isinstance(values, list) else values.tolist()))
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
