"""What tests of the report share."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

# Where only what was measured counts: that no verdict is open saves how many rows it would take.
DECIDED: Any = {"cross_fit": 0, "tolerance": 0.9, "relative_tolerance": 1.0}


def written(path: Path, **columns: Any) -> str:
    """The path of a CSV file with these columns."""
    with path.open("w", newline="", encoding="utf-8") as file:
        plain = (np.asarray(each).tolist() for each in columns.values())
        csv.writer(file).writerows([columns, *zip(*plain, strict=True)])
    return str(path)


def taken(data: dict[str, Any], rows: Any) -> dict[str, Any]:
    """Some rows of the columns."""
    return {name: values[rows] for name, values in data.items()}
