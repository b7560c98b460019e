"""How often the verdict of a report is wrong, and how often it finds what is there.

    python -m benchmarks.verdicts       # about two minutes

makes up models whose true calibration error is known, in three shapes, and writes how often each
is found beyond a tolerance of two points, and within it, to ``benchmarks/results/verdicts.json``:
by bins of equal width and of equal mass alone, and together with the two sides of Cox's line, as
`calib_audit` judges. A model whose error is the tolerance should hardly ever be found on
either side of it, and a calibrated one never beyond.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from benchmarks.measured import each, on_one_thread, shares, store
from calib_audit.bin_sums import BinSums
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


def drawn(shape: str, much: float, n: int, rng: np.random.Generator) -> list[BinSums]:
    """The sums of a sample as a report looks at them: two kinds of bins, and those of the line."""
    z = rng.normal(0, SPREAD, n)
    labels = (rng.random(n) < SHAPES[shape](z, much)).astype(np.int64)
    sums = ExactSums(15, lots=Lots(0, from_logits=True))
    sums.add(Rows(expit(z), z, labels, {}, None, None))
    totals = Totals(sums)
    return binnings_of(totals, calibration_line(*totals.confidences))


def rates(shape: str, error: float, n: int, sets: int) -> dict[str, dict[str, float]]:
    """How often each way to judge calls a model beyond the tolerance, and within it."""
    much = strength(shape, error)
    rng = np.random.default_rng([list(SHAPES).index(shape), round(1e6 * error), n])
    samples = [drawn(shape, much, n, rng) for _ in range(sets)]
    ways = {"bins alone": [bins[:2] for bins in samples], "bins and line": samples}
    return {name: shares([verdict(bins) for bins in of_way]) for name, of_way in ways.items()}


def verdict(binnings: list[BinSums]) -> dict[str, bool]:
    low, high = larger_error(binnings)
    return {"beyond": low > TOLERANCE, "within": high <= TOLERANCE}


def main() -> None:
    about = {"sets": SETS, "tolerance": TOLERANCE, **on_one_thread()}
    rows = [
        {"rows": n, "shape": shape, "error": error, "rates": rates(shape, error, n, SETS)}
        for n, shape, error in each(ROWS, SHAPES, ERRORS)
    ]
    store("verdicts", about | {"rows": rows})


if __name__ == "__main__":
    main()
