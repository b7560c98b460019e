"""A file of predictions with known faults, as an engineer meets them at work.

    python tests/calib_audit/fraud.py fraud.csv

The score is right on average in the North, East and West. In the South it is
40 % too low, and from the fifty-first of sixty days the odds are 2.2 times as high everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import expit

BREAK = 50  # days after the first
FIRST = np.datetime64("2026-04-01")


def fraud(n: int = 200_000, seed: int = 0) -> dict[str, np.ndarray]:
    """The columns of the file, with ``n`` rows."""
    rng = np.random.default_rng(seed)
    days = np.sort(rng.integers(0, 60, n))
    region = rng.choice(["North", "East", "South", "West"], n)
    score = expit(rng.normal(-5.6, 1.5, n))
    odds = score / (1 - score)
    odds = odds * np.where(region == "South", 1 / 0.6, 1) * np.where(days >= BREAK, 2.2, 1)
    return {
        "score": score.round(6),
        "label": (rng.random(n) < odds / (1 + odds)).astype(int),
        "region": region,
        "day": FIRST + days,
    }


if __name__ == "__main__":
    columns = fraud()
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", "utf-8")
