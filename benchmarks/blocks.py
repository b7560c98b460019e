"""How often an interval covers the error of samples that come in blocks, in one run.

    python -m benchmarks.blocks       # some minutes on one core

draws test sets with a known calibration error, whose samples come in blocks such as the days of a
race, and writes to ``benchmarks/results/blocks.json`` how often each interval contains the error,
how wide it is, and how often each test finds something where there is nothing. The confidences are
those of a network of the course. A prediction is correct if a uniform number lies below its chance;
these numbers are normal ones before, of which the samples of a block have the share ``alike`` in
common, so that at 1 a block is surprising as a whole. The confidences of a block are drawn one by
one, or are all the same.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import norm

from benchmarks.coverage import BINS, LEVEL, chances_right, confidences_of_record
from benchmarks.measured import coverages, each, on_one_thread, shares, store
from calib_utils.comparing import paired_difference
from calib_utils.metrics import calibration_error_interval, calibration_test, cox_line
from calib_utils.records import load_outcomes

ERRORS, SETS, DRAWS, SEED = (0.0, 0.02, 0.07), 200, 500, 0
# Blocks, samples in each on average, share in common, one confidence, deviation of log sizes; in
# the last case the sizes are those of races for the Senate, which are worth 13 equal ones.
Case = tuple[int, int, float, bool, float | None]
CASES: tuple[Case, ...] = (
    (10, 50, 0.3, False, 0.0),
    (20, 50, 1.0, True, 0.0),
    (40, 20, 0.3, False, 0.7),
    (100, 20, 0.0, False, 0.0),
    (100, 20, 0.3, False, 0.0),
    (100, 20, 0.3, False, 0.7),
    (100, 180, 1.0, True, 0.0),
    (400, 20, 0.3, False, 0.0),
    (400, 20, 1.0, False, 0.0),
    (96, 156, 1.0, True, None),
)


def blocks_of_sizes(
    n_blocks: int, size: int, spread: float | None, rng: np.random.Generator
) -> np.ndarray:
    """The block of each sample; the sizes are equal, or log-normal, or those of the Senate."""
    if spread is None:
        return np.unique(load_outcomes("senate").block, return_inverse=True)[1]
    sizes = size * np.exp(spread * rng.standard_normal(n_blocks) - spread**2 / 2)
    return np.repeat(np.arange(n_blocks), np.maximum(1, np.round(sizes)).astype(int))


def surprises(blocks: np.ndarray, alike: float, rng: np.random.Generator) -> np.ndarray:
    """Uniform numbers, of which those of a block have a share in common."""
    of_block = rng.standard_normal(blocks.max() + 1)[blocks]
    own = rng.standard_normal(len(blocks))
    return np.asarray(norm.cdf(alike**0.5 * of_block + (1 - alike) ** 0.5 * own))


def draw_set(
    case: Case, error: float, everyone: np.ndarray, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Confidences, correctness and blocks."""
    n_blocks, size, alike, one_confidence, spread = case
    blocks = blocks_of_sizes(n_blocks, size, spread, rng)
    rows = rng.integers(len(everyone), size=n_blocks)[blocks]
    if not one_confidence:
        rows = rng.integers(len(everyone), size=len(blocks))
    right = chances_right(everyone, error)[rows]
    return everyone[rows], (surprises(blocks, alike, rng) < right).astype(int), blocks


def percentile(
    confidences: np.ndarray, correct: np.ndarray, blocks: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """The middle of the ECEs of blocks drawn with replacement."""
    n_blocks = blocks.max() + 1
    bins = np.minimum(np.ceil(BINS * confidences).astype(int), BINS) - 1
    sums = np.bincount(blocks * BINS + bins, confidences - correct, n_blocks * BINS)
    times = rng.multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), DRAWS)
    eces = np.abs(times @ sums.reshape(n_blocks, BINS)).sum(1) / (times @ np.bincount(blocks))
    low, high = np.quantile(eces, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def measure(case: Case, error: float, sets: int) -> list[dict]:
    """The coverage and the width of each interval."""
    everyone = confidences_of_record()
    rng = np.random.default_rng([SEED, CASES.index(case), round(1e6 * error)])
    given: dict[str, Any] = {"n_bins": BINS, "level": LEVEL}
    found = []
    for _ in range(sets):
        confidences, correct, blocks = draw_set(case, error, everyone, rng)
        ends = {
            "calib_utils, with blocks": calibration_error_interval(
                confidences, correct, blocks=blocks, **given
            ),
            "calib_utils, as if independent": calibration_error_interval(
                confidences, correct, **given
            ),
            "percentile bootstrap of blocks": percentile(confidences, correct, blocks, rng),
        }
        found.append(ends)
    return coverages(found, error, case=CASES.index(case), error=error)


def false_findings(case: Case, sets: int) -> dict[str, float]:
    """How often each test rejects a calibrated network, or finds equal networks different."""
    everyone = confidences_of_record()
    rng = np.random.default_rng([SEED, CASES.index(case), 1])
    found = []
    for seed in range(sets):
        confidences, correct, blocks = draw_set(case, 0.0, everyone, rng)
        other = (surprises(blocks, case[2], rng) < confidences).astype(int)
        rejected: dict[str, bool] = {}
        for name, given in (("with blocks", blocks), ("as if independent", None)):
            test = calibration_test(confidences, correct, BINS, draws=400, seed=seed, blocks=given)
            pair = paired_difference(correct, other, blocks=given)
            rejected |= {
                f"ECE, {name}": test.p_value < 1 - LEVEL,
                f"z, {name}": abs(test.z) > norm.isf((1 - LEVEL) / 2),
                f"paired difference, {name}": pair.p_value < 1 - LEVEL,
                f"slope, {name}": _is_off(confidences, correct, given),
            }
        found.append(rejected)
    return shares(found)


def _is_off(confidences: np.ndarray, correct: np.ndarray, blocks: np.ndarray | None) -> bool:
    """Whether the interval of the slope excludes that of a calibrated network."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of confidences of 1
        try:
            low, high = cox_line(confidences, correct, blocks=blocks).slope_interval
        except ValueError:  # a threshold separates the outcomes
            return False
    return not low <= 1 <= high


def main() -> None:
    about = {"bins": BINS, "level": LEVEL, "sets": SETS, "seed": SEED, **on_one_thread()}
    names = ("blocks", "size", "alike", "one_confidence", "spread_of_sizes")
    about["cases"] = [dict(zip(names, case, strict=True)) for case in CASES]
    rows = [row for case, error in each(CASES, ERRORS) for row in measure(case, error, SETS)]
    tests = [false_findings(case, 2 * SETS) for (case,) in each(CASES)]
    store("blocks", about | {"rows": rows, "false_findings": tests})


if __name__ == "__main__":
    main()
