"""Many rows in one file: facts and bins of each row, and for some a value for every image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

__all__ = ["packed", "unpacked"]

Row = TypeVar("Row")
# The types in which a value for every image is stored, by the name of the field.
OfEach = dict[str, Any]


def packed(
    rows: Sequence[Any], of_each: OfEach, name: str
) -> tuple[dict[str, np.ndarray], list[dict[str, Any]]]:
    """The arrays of all rows, and the facts of each.

    Args:
        rows: dataclasses with a field ``bins``; a row has all fields of ``of_each``, or None in
            all of them.
        of_each: see `OfEach`.
        name: of the rows in an error.

    Raises:
        ValueError: if there is no row, or if rows keep different numbers of images.
    """
    if not rows:
        raise ValueError(f"{name}: expected at least one, found none")
    arrays = {"bins": np.array([row.bins for row in rows], np.float32)}
    for field, kind in of_each.items():  # a row for each that has them
        kept = [values for row in rows if (values := getattr(row, field)) is not None]
        if len(images := {len(values) for values in kept}) > 1:
            raise ValueError(f"{name}: expected as many images in each, found {sorted(images)}")
        arrays[field] = np.array(kept, kind)
    first = next(iter(of_each))
    facts = [
        {field.name: getattr(row, field.name) for field in fields(row) if field.name not in arrays}
        | {"of_each": getattr(row, first) is not None}
        for row in rows
    ]
    return arrays, facts


def unpacked(
    kind: Callable[..., Row],
    arrays: dict[str, np.ndarray],
    facts: list[dict[str, Any]],
    of_each: OfEach,
    several: str,
) -> list[Row]:
    """The rows; each has a tuple in the field ``several``, which JSON stores as a list."""
    values = zip(*(arrays[name] for name in of_each), strict=True)
    found = []
    for row, bins in zip(facts, arrays["bins"], strict=True):
        kept = dict(zip(of_each, next(values), strict=True)) if row.pop("of_each") else {}
        row[several] = tuple(row[several])
        found.append(kind(**row, bins=bins.astype(np.float64), **kept))
    return found
