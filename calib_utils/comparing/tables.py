"""Numbers as text: tables in Markdown, and a mean with its standard deviation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from calib_utils.predictions.arrays import to_numpy

_MINUS = "\N{MINUS SIGN}"


class Markdown(str):
    """Text that a notebook renders as Markdown, and anything else prints as it is.

    Example:
        >>> Markdown("The ECE is **5 %**")
        The ECE is **5 %**
    """

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return str(self)

    def __add__(self, other: str) -> Markdown:
        return Markdown(str(self) + str(other))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], *, numbers: int = 0) -> Markdown:
    """A table in Markdown.

    Args:
        head: the names of the columns.
        rows: the cells of each row, as many as there are columns. True and False are shown as
            yes and no, several values in a cell with commas between them, and its text in one line.
        numbers: how many of the last columns are right-aligned, as for numbers.

    Raises:
        ValueError: if a row has more or fewer cells than there are columns.

    Example:
        >>> table(["network", "ECE, %"], [["LeNet-5", 1.9], ["ResNet-34", 5.1]])
        | network | ECE, % |
        | --- | --- |
        | LeNet-5 | 1.9 |
        | ResNet-34 | 5.1 |
    """
    rows = [list(row) for row in rows]
    for number, row in enumerate(rows):
        if len(row) != len(head):
            raise ValueError(
                f"rows: expected {len(head)} cells as in head, found {len(row)} in row {number}"
            )
    lines = [head, ["---"] * (len(head) - numbers) + ["--:"] * numbers, *rows]
    return Markdown("\n".join(f"| {' | '.join(map(_words, line))} |" for line in lines))


def _words(cell: Any) -> str:
    """A cell as text for readers who do not know Python."""
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, list | tuple):
        return ", ".join(map(_words, cell))
    return " ".join(str(cell).splitlines()).replace("|", r"\|")  # which would begin another cell


def signed(value: float, digits: int = 1) -> str:
    """A number with its sign, and the true minus rather than a hyphen.

    Example:
        >>> signed(0.5, digits=2)
        '+0.50'
    """
    return f"{value:+.{digits}f}".replace("-", _MINUS)


def spread(values: Sequence[float], digits: int = 1) -> str:
    r"""The mean of some runs, and their standard deviation (n - 1 below).

    Args:
        values: one number for each run, at least two for a standard deviation.
        digits: after the point.

    Raises:
        ValueError: if there is no value.

    Example:
        >>> spread([1.0, 2.0, 3.0])
        '2.0\xa0±\xa01.0'
    """
    array = to_numpy(values, "values").astype(np.float64)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"values: expected at least one number, found {array.tolist() or 'none'}")
    mean = f"{array.mean():.{digits}f}".replace("-", _MINUS)
    if len(array) == 1:
        return mean
    return f"{mean}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{array.std(ddof=1):.{digits}f}"
