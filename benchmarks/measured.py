"""What benchmarks share: facts of a run, its file, a clock, and how often intervals hold."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.tables import RESULTS
from calib_utils._files import write_text
from calib_utils.training.devices import processor_name


def facts(*packages: str) -> dict[str, Any]:
    """When, on what and with which packages something is measured; one that is missing is not."""
    versions = {"python": platform.python_version()}
    for name in packages:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    date = datetime.now(UTC).date().isoformat()
    return {"date": date, "cpu": processor_name(), "versions": versions}


def on_one_thread(*packages: str) -> dict[str, Any]:
    """The facts of a run that is held to one thread from here on."""
    threadpool_limits(1)
    return {"threads": 1, **facts("numpy", *packages)}


def store(name: str, results: dict[str, Any]) -> None:
    """Write what `benchmarks/NAME.py` has measured, where `benchmarks.tables.stored` finds it."""
    write_text(RESULTS / f"{name}.json", json.dumps(results, indent=1) + "\n")


def each(*axes: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """All combinations, of which each is named once it is done."""
    for case in product(*axes):
        yield case
        print(*case, "done", flush=True)


def timed(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> list[dict[str, Any]]:
    """A row for each: its median CPU time in ms, that by the first's, and the numbers it gives.

    After a run that does not count, every contender has its turn in each round.
    """
    results = {name: np.ravel(run()).tolist() for name, run in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            times[name].append(1000 * (time.process_time() - start))
    medians = {name: median(found) for name, found in times.items()}
    first = next(iter(medians.values()))
    return [
        {"name": name, "ms": ms, "ratio": ms / first, "result": results[name]}
        for name, ms in medians.items()
    ]


def shares(sets: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """In which share of the sets each thing is true, by its name."""
    return {name: float(np.mean([one[name] for one in sets])) for name in sets[0]}


def coverage(ends: Sequence[Any] | np.ndarray, truth: float | np.ndarray) -> dict[str, float]:
    """How often intervals hold the truth, one for all or one each, and how wide they are."""
    low, high = np.transpose(ends)
    held = (low <= truth + 1e-12) & (truth <= high)
    return {"coverage": float(held.mean()), "width": float((high - low).mean())}


def coverages(
    sets: Sequence[Mapping[str, Any]], truths: float | Mapping[str, Any], **row: Any
) -> list[dict[str, Any]]:
    """A row for each kind of interval, which has its `coverage` on all sets.

    Args:
        sets: the ends of each interval, by the name of its kind.
        truths: for all kinds, or by their names.
        row: what each row says in addition.
    """
    rows = []
    for name in sets[0]:
        truth = truths[name] if isinstance(truths, Mapping) else truths
        rows.append({"name": name, **row, **coverage([ends[name] for ends in sets], truth)})
    return rows
