"""How often the range of `calib_audit.planning.rows_needed` holds the number of rows that decides.

    python -m benchmarks.rows_needed       # about fifteen minutes

takes the models of `benchmarks.verdicts`, finds by larger samples at how many rows half of them
decide, and writes to ``benchmarks/results/rows_needed.json`` how often the range of a small sample
that does not decide holds this number.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
from itertools import product

import numpy as np
from scipy.special import expit

from benchmarks.measured import facts, store
from benchmarks.verdicts import SHAPES, SPREAD, TOLERANCE, strength
from calib_audit.bin_sums import BinSums
from calib_audit.exact_sums import ExactSums
from calib_audit.lots import Lots
from calib_audit.measures import binnings_of, calibration_line, larger_error
from calib_audit.planning import rows_needed
from calib_audit.rows import Rows
from calib_audit.totals import Totals

ERRORS, ROWS, SETS = (0.0, 0.01, 0.03, 0.04), (500, 2_000), 25
LARGER, OF_EACH = [round(500 * 2 ** (k / 2)) for k in range(21)], 21


def drawn(shape: str, much: float, n: int, rng: np.random.Generator) -> list[BinSums]:
    """The sums of a sample, as a report looks at them."""
    z = rng.normal(0, SPREAD, n)
    labels = (rng.random(n) < SHAPES[shape](z, much)).astype(np.int64)
    sums = ExactSums(15, lots=Lots(0, from_logits=True))
    sums.add(Rows(expit(z), z, labels, {}, None, None))
    totals = Totals(sums)
    return binnings_of(totals, calibration_line(*totals.confidences))


def decides(binnings: list[BinSums]) -> bool:
    low, high = larger_error(binnings)
    return low > TOLERANCE or high <= TOLERANCE


def decided_at(shape: str, much: float, rng: np.random.Generator) -> float:
    """The first of `LARGER` at which half of the samples decide; infinity if none is enough."""
    for n in LARGER:
        if 2 * sum(decides(drawn(shape, much, n, rng)) for _ in range(OF_EACH)) > OF_EACH:
            return n
    return float("inf")


def known(n: float) -> float | None:
    return None if np.isinf(n) else n


def main() -> None:
    rows = []
    for shape, error in product(SHAPES, ERRORS):
        much = strength(shape, error)
        rng = np.random.default_rng([list(SHAPES).index(shape), round(1e6 * error)])
        needed = decided_at(shape, much, rng)
        for n in ROWS:
            found = [drawn(shape, much, n, rng) for _ in range(SETS)]
            ranges = [rows_needed(each, TOLERANCE) for each in found if not decides(each)]
            middles = [middle or np.inf for middle, _, _ in ranges]
            held = [
                (low or float("inf")) <= needed <= (high or float("inf")) for _, low, high in ranges
            ]
            tenths = np.quantile(middles, [0.1, 0.9], method="nearest").tolist() if middles else []
            row = {"shape": shape, "error": error, "rows": n, "needed": known(needed)}
            row |= {"undecided": len(ranges), "held": sum(held), "middles": [*map(known, tenths)]}
            rows.append(row)
            print(json.dumps(rows[-1]), flush=True)
    about = {"sets": SETS, "tolerance": TOLERANCE, "threads": 1}
    store("rows_needed", about | facts("numpy") | {"rows": rows})


if __name__ == "__main__":
    main()
