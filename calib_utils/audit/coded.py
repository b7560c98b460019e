"""Columns in which few values come up again and again: each value once, and which row has which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Coded", "as_array", "as_coded", "by_value", "coded", "occurring"]

_WIDEST = 10_000  # range of whole numbers that are told apart without sorting them


class Coded:
    """A column whose text is looked at once for each value, and not once for each row.

    Attributes:
        values: (m,), of which each occurs.
        codes: intp, (n,), the place of each row's value among them.
    """

    def __init__(self, values: np.ndarray, codes: np.ndarray):
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return occurring(self.values, self.codes[rows])


def occurring(values: np.ndarray, codes: np.ndarray) -> Coded:
    """A column without the values that no row has."""
    used = np.bincount(codes, minlength=len(values)) > 0
    if used.all():
        return Coded(values, codes)
    return Coded(values[used], (np.cumsum(used) - 1)[codes])


def coded(values: np.ndarray) -> Coded:
    """A column of whole numbers, truth values or times."""
    whole = values.view(np.int64) if values.dtype.kind == "M" else values.astype(np.intp)
    low, high = int(whole.min()), int(whole.max())
    if high - low >= _WIDEST:
        return Coded(*np.unique(values, return_inverse=True))
    between, codes = (low + np.arange(high - low + 1)).astype(values.dtype), whole - low
    return Coded(between, codes) if len(between) < 3 else occurring(between, codes)


def by_value(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], column: Any, places: np.ndarray
) -> Any:
    """What ``function`` makes of a column: of each row of an array, of each value if it is `Coded`.

    Args:
        function: takes values and the numbers of the rows in which they stand.
        column: (n,).
        places: (n,), the numbers of the rows.
    """
    if not isinstance(column, Coded):
        return function(column, places)
    try:
        return Coded(function(column.values, places[: len(column.values)]), column.codes)
    except ValueError:  # which names the first row that has a value
        first = np.empty(len(column.values), np.intp)
        first[column.codes[::-1]] = np.arange(len(column))[::-1]
        return Coded(function(column.values, places[first]), column.codes)


def as_array(column: Any) -> np.ndarray:
    """A column with a value in each row."""
    return column.values[column.codes] if isinstance(column, Coded) else column


def as_coded(column: Any) -> Coded:
    """A column of which each value is held once."""
    return column if isinstance(column, Coded) else Coded(*np.unique(column, return_inverse=True))
