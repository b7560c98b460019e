"""What benchmarks share: when and where they ran, what they write, how often intervals hold."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from benchmarks.tables import RESULTS
from calib_utils.training.devices import processor_name
from tools.sources.atomic import write_text


def facts(*packages: str) -> dict[str, Any]:
    """When, on what and with which packages something is measured; one that is missing is not."""
    versions = {"python": platform.python_version()}
    for name in packages:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    date = datetime.now(UTC).date().isoformat()
    return {"date": date, "cpu": processor_name(), "versions": versions}


def store(name: str, results: dict[str, Any]) -> None:
    """Write what `benchmarks/NAME.py` has measured, where `benchmarks.tables.stored` finds it."""
    write_text(RESULTS / f"{name}.json", json.dumps(results, indent=1) + "\n")


def coverage(ends: Sequence[Any] | np.ndarray, truth: float | np.ndarray) -> dict[str, float]:
    """How often intervals hold the truth, one for all or one each, and how wide they are."""
    low, high = np.transpose(ends)
    held = (low <= truth + 1e-12) & (truth <= high)
    return {"coverage": float(held.mean()), "width": float((high - low).mean())}
