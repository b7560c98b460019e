"""Many rows in one file: facts and bins of each row, and for some a value for every image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from calib_utils.records.npz import explain_damage, read_npz

__all__ = ["load_rows"]

Row = TypeVar("Row")


def load_rows(
    path: Path, kind: Callable[..., Row], of_each: Sequence[str], name: str, what: str
) -> tuple[list[Row], dict[str, Any]]:
    """The rows, and how they were made.

    JSON has no tuples: a list in a row comes back as one.

    Args:
        path: of the file.
        kind: the dataclass of a row, with a field ``bins``.
        of_each: its fields with a value for every image; a row has all of them or none.
        name: of the rows in the file.
        what: the file is, in an error.

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
