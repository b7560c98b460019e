"""How often the range of `calib_audit.planning.rows_needed` holds the number of rows that decides.

    python -m benchmarks.rows_needed       # about fifteen minutes

takes the models of `benchmarks.verdicts`, finds by larger samples at how many rows half of them
decide, and writes to ``benchmarks/results/rows_needed.json`` how often the range of a small sample
that does not decide holds this number.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measured import each, on_one_thread, store
from benchmarks.verdicts import SHAPES, TOLERANCE, drawn, strength, verdict
from calib_audit.planning import rows_needed

ERRORS, ROWS, SETS = (0.0, 0.01, 0.03, 0.04), (500, 2_000), 25
LARGER, OF_EACH = [round(500 * 2 ** (k / 2)) for k in range(21)], 21


def decided_at(shape: str, much: float, rng: np.random.Generator) -> float:
    """The first of `LARGER` at which half of the samples decide; infinity if none is enough."""
    for n in LARGER:
        samples = [drawn(shape, much, n, rng) for _ in range(OF_EACH)]
        if 2 * sum(any(verdict(bins).values()) for bins in samples) > OF_EACH:
            return n
    return np.inf


def known(n: float) -> float | None:
    return None if np.isinf(n) else n


def main() -> None:
    about = {"sets": SETS, "tolerance": TOLERANCE, **on_one_thread()}
    rows = []
    for shape, error in each(SHAPES, ERRORS):
        much = strength(shape, error)
        rng = np.random.default_rng([list(SHAPES).index(shape), round(1e6 * error)])
        needed = decided_at(shape, much, rng)
        for n in ROWS:
            samples = [drawn(shape, much, n, rng) for _ in range(SETS)]
            undecided = [bins for bins in samples if not any(verdict(bins).values())]
            ranges = [rows_needed(bins, TOLERANCE) for bins in undecided]
            held = [(low or np.inf) <= needed <= (high or np.inf) for _, low, high in ranges]
            row = {"shape": shape, "error": error, "rows": n, "needed": known(needed)}
            rows.append(row | {"undecided": len(ranges), "held": sum(held)})
    store("rows_needed", about | {"rows": rows})


if __name__ == "__main__":
    main()
