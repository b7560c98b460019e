"""Columns in which few values come up again and again: each value once, and which row has which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Coded", "by_value"]


class Coded:
    """A column whose text is looked at once for each value, and not once for each row.

    Attributes:
        values: (m,), of which each occurs.
        codes: (n,), the place of each row's value among them.
    """

    def __init__(self, values: np.ndarray, codes: np.ndarray):
        used = np.bincount(codes, minlength=len(values)) > 0
        if not used.all():
            values, codes = values[used], (np.cumsum(used) - 1)[codes]
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return Coded(self.values, self.codes[rows])

    def first(self) -> np.ndarray:
        """The first row that has each value, (m,)."""
        found = np.empty(len(self.values), np.intp)
        found[self.codes[::-1]] = np.arange(len(self.codes))[::-1]
        return found


def by_value(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], column: Any, places: np.ndarray
) -> np.ndarray:
    """What ``function`` makes of each row of an array, or of each value of a `Coded` column.

    Args:
        function: takes values and the numbers of the rows in which they stand.
        column: (n,).
        places: (n,), the numbers of the rows.
    """
    if isinstance(column, Coded):
        return function(column.values, places[column.first()])[column.codes]
    return function(column, places)
