"""Months of predictions in folders of Parquet files, and what may be wrong with a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

NAMED: dict[str, Any] = {"group": "region", "time": "day:D"}
COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("label", "score", "positive", "weight")),
    "time": "day:D",
    "group": ("region",),
    "classes": (),
}
_REGIONS = np.array(["north", "south", "east", "서울"])


def month(n: int, seed: int = 0, shift: float = 0.0) -> dict[str, np.ndarray]:
    """Rows of a month; in the north more happens than is predicted, by so many log-odds."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 3, n).round(5)
    region = _REGIONS[rng.integers(4, size=n)]
    odds = score / (1 - score) * np.exp(shift * (region == "north"))
    return {
        "score": score,
        "label": (rng.random(n) < odds / (1 + odds)).astype(np.int8),
        "region": region,
        "day": np.datetime64("2026-06-01") + rng.integers(7, size=n),
        "note": np.arange(n),  # which nobody asks for
    }


def write(folder: Path, rows: dict[str, np.ndarray], files: int = 1, order: int = 0) -> Path:
    """The rows in so many files of different lengths; in another order, if one is asked for."""
    folder.mkdir(parents=True)
    n = len(next(iter(rows.values())))
    rng = np.random.default_rng(order)
    index = rng.permutation(n) if order else np.arange(n)
    ends = np.sort(rng.choice(np.arange(1, n), files - 1, replace=False))
    for k, part in enumerate(np.split(index, ends)):
        table = pa.table({name: column[part] for name, column in rows.items()})
        parquet.write_table(table, folder / f"part-{k:02}.parquet", row_group_size=max(1, n // 60))
    return folder


def changed(column: str, value: Any) -> Callable[[Path], None]:
    """A damage of one value, in the second row group of the file."""

    def damage(path: Path) -> None:
        table = parquet.read_table(path)
        values = table[column].to_pylist()
        values[len(values) // 2] = value
        kind = None if isinstance(value, str) else table[column].type
        table = table.set_column(
            table.schema.get_field_index(column), column, [pa.array(values, kind)]
        )
        parquet.write_table(table, path, row_group_size=len(values) // 3)

    return damage


def retyped(column: str, kind: Any) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        table = parquet.read_table(path)
        place = table.schema.get_field_index(column)
        parquet.write_table(table.set_column(place, column, table[column].cast(kind)), path)

    return damage


def cut(part: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: int(part * len(content))])

    return damage


def overwritten(column: int) -> Callable[[Path], None]:
    """The pages of one column, in the second row group, as a bad disk leaves them."""

    def damage(path: Path) -> None:
        found = parquet.read_metadata(path).row_group(1).column(column)
        start = found.dictionary_page_offset or found.data_page_offset
        with path.open("r+b") as file:
            file.seek(start)
            file.write(b"\xff" * found.total_compressed_size)

    return damage


def damaged(folder: Path, damage: Callable[[Path], None], n: int = 1_000) -> Path:
    """A folder of three files of so many rows, of which the second is damaged."""
    folder.mkdir()
    for k in range(3):
        part = pa.table(month(n, seed=k))
        parquet.write_table(part, folder / f"part-0{k}.parquet", row_group_size=n // 3)
    damage(folder / "part-01.parquet")
    return folder
