"""How often the verdict of a report is wrong, and how often it finds what is there.

    python -m benchmarks.verdicts       # about two minutes

makes up models whose true calibration error is known, in three shapes, and writes how often each
is found beyond a tolerance of two points, and within it, to ``benchmarks/results/verdicts.json``:
by bins of equal width and of equal mass alone, and together with the two sides of Cox's line, as
`calib_audit` judges. A model whose error is the tolerance should hardly ever be found on
either side of it, and a calibrated one never beyond.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import json
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks.measured import facts, store
from calib_audit.exact_sums import ExactSums
from calib_audit.lots import Lots
from calib_audit.measures import binnings_of, calibration_line, larger_error
from calib_audit.rows import Rows
from calib_audit.totals import Totals

TOLERANCE, ERRORS, ROWS, SETS = 0.02, (0.0, 0.02, 0.04, 0.062), (1_000, 4_000), 100
SPREAD = 1.8  # of the log-odds of the scores

# The true chance of log-odds that are off by so much: one shape of error each.
SHAPES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "too far from one half": lambda z, much: expit(z * np.exp(-much)),
    "too low everywhere": lambda z, much: expit(z + much),
    "too high from 0.6 to 0.9": lambda z, much: (
        expit(z) * np.where((expit(z) > 0.6) & (expit(z) < 0.9), np.exp(-much), 1)
    ),
}


def strength(shape: str, error: float) -> float:
    """How much a shape has to be off for this true error, a mean over many scores."""
    z = np.random.default_rng(0).normal(0, SPREAD, 200_000)

    def excess(much: float) -> float:
        return float(np.abs(SHAPES[shape](z, much) - expit(z)).mean()) - error

    return float(brentq(excess, 0, 5)) if error else 0.0


def rates(shape: str, error: float, n: int, sets: int) -> dict[str, dict[str, float]]:
    """How often each way to judge calls a model beyond the tolerance, and within it."""
    much = strength(shape, error)
    rng = np.random.default_rng([list(SHAPES).index(shape), round(1e6 * error), n])
    found: dict[str, list[tuple[bool, bool]]] = {"bins alone": [], "bins and line": []}
    for _ in range(sets):
        z = rng.normal(0, SPREAD, n)
        labels = (rng.random(n) < SHAPES[shape](z, much)).astype(np.int64)
        sums = ExactSums(15, lots=Lots(0, from_logits=True))
        sums.add(Rows(expit(z), z, labels, {}, None, None))
        totals = Totals(sums)
        line = calibration_line(*totals.confidences)
        for name, binnings in zip(found, (totals.binnings, binnings_of(totals, line)), strict=True):
            low, high = larger_error(binnings)
            found[name].append((low > TOLERANCE, high <= TOLERANCE))
    return {
        name: dict(zip(("beyond", "within"), np.mean(each, axis=0).tolist(), strict=True))
        for name, each in found.items()
    }


def main() -> None:
    rows = []
    for n, shape, error in product(ROWS, SHAPES, ERRORS):
        row = {"rows": n, "shape": shape, "error": error}
        rows.append(row | {"rates": rates(shape, error, n, SETS)})
        print(json.dumps(rows[-1]), flush=True)
    results = {
        **{"sets": SETS, "tolerance": TOLERANCE, "threads": 1},
        **facts("numpy"),
        "rows": rows,
    }
    store("verdicts", results)


if __name__ == "__main__":
    main()
