"""CPU time of contenders, in rounds in which each has its turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

__all__ = ["median_ms"]


def median_ms(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median CPU time of each in milliseconds; all have run before."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            times[name].append(1000 * (time.process_time() - start))
    return {name: median(found) for name, found in times.items()}
