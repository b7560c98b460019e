"""What the cells of the benchmark page share: stored results, and numbers as words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
UNIT = "\N{NO-BREAK SPACE}%"


def stored(name: str) -> dict[str, Any]:
    """What `benchmarks/NAME.py` has measured."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def short(number: float) -> str:
    """Two or three significant digits, with commas and without an exponent."""
    digits = max(0, 2 - len(f"{abs(number):.0f}")) if abs(number) >= 1 else 2
    return f"{float(f'{number:.3g}'):,.{digits}f}"


def milliseconds(value: float) -> str:
    return f"{short(value / 1000)} s" if value >= 10_000 else f"{short(value)} ms"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}{UNIT}"


def about(share: float) -> str:
    """A share with at most two digits, such as "0.9 %"."""
    return f"{100 * share if share > 1e-9 else 0:.2g}{UNIT}"


def with_width(row: dict[str, Any]) -> str:
    """A coverage, and in brackets the width of the interval in points."""
    return f"{percent(row['coverage'])} ({100 * row['width']:.1f})"


def by_name(rows: Iterable[dict[str, Any]]) -> dict[str, list[float]]:
    """The coverages of each contender, in the order of the file."""
    found: dict[str, list[float]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row["coverage"])
    return found


def machine(results: dict[str, Any], *facts: str) -> str:
    """Where, with what and when something was measured."""
    versions = ", ".join(f"{name} {text}" for name, text in results["versions"].items())
    hardware = results.get("hardware") or results["cpu"]
    threads = 0 if "thread" in hardware else results.get("threads", 0)
    said = [hardware, f"{threads} thread{'s' * (threads != 1)}" if threads else "", *facts]
    said += [results.get("date", "")]
    return f"Measured on: {', '.join(filter(None, said))}. {versions}."
