"""Many rows in one file: facts and bins of each row, and for some a value for every image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calib_utils.records.npz import explain_damage, read_npz, write_npz

__all__ = ["load_rows", "save_rows"]

Row = TypeVar("Row")
# The types in which a value for every image is stored, by the name of the field.
OfEach = dict[str, Any]


def save_rows(
    path: Path, rows: Sequence[Any], of_each: OfEach, name: str, made: dict[str, Any]
) -> Path:
    """Write rows, and how they were made; return the path.

    Args:
        path: replaced if it exists.
        rows: dataclasses with a field ``bins``; a row has all fields of ``of_each``, or None in
            all of them.
        of_each: see `OfEach`.
        name: of the rows in the file, and in an error.
        made: as JSON.

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
    write_npz(path, arrays, {"made": made, name: facts})
    return path


def load_rows(
    path: Path, kind: Callable[..., Row], of_each: OfEach, name: str, what: str
) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and how they were made.

    JSON has no tuples: a list in a row comes back as one. ``what`` is the file in an error.

    Raises:
        ValueError: if the file is damaged.
    """
    with explain_damage(what):
        arrays, facts = read_npz(path)
        values = zip(*(arrays[field] for field in of_each), strict=True)
        found = []
        for row, bins in zip(facts[name], arrays["bins"], strict=True):
            kept = dict(zip(of_each, next(values), strict=True)) if row.pop("of_each") else {}
            own = {key: tuple(x) if isinstance(x, list) else x for key, x in row.items()}
            found.append(kind(**own, bins=bins.astype(np.float64), **kept))
        return found, facts["made"]
