"""How often intervals of the calibration error hold it, in one run.

    python benchmarks/coverage.py       # about two minutes

draws test sets with a known calibration error, and writes to
``benchmarks/results/coverage.json`` how often each interval contains it, and how wide it is. The
confidences are those of a network of the course, rounded to a few numbers in each bin: so whole
bootstrap samples are drawn as counts of equal samples, exactly. An answer of confidence c is
right with chance c - b c (1 - c); b sets the error. Ends of the basic bootstrap may lie below 0
and stay there: cut at 0, they would hold an error of 0 that they miss.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from calib_utils._arrays import softmax
from calib_utils.metrics import calibration_error_interval, top_label
from calib_utils.records import load_record
from calib_utils.training.devices import processor_name

RESULTS = Path(__file__).parent / "results" / "coverage.json"
RECORD = ("resnet34-cifar100", "test")
BINS, IN_A_BIN, LEVEL = 15, 4, 0.95
SIZES = (500, 2_000, 10_000)
ERRORS = (0.0, 0.009, 0.02, 0.07)
SETS, REPEATS, SEED = 300, 1_000, 0
NORMAL = NormalDist()


def cells_of_record() -> np.ndarray:
    """Which part of the record's confidences is nearest to each number: (BINS * IN_A_BIN,)."""
    record = load_record(*RECORD)
    confidences, _ = top_label(softmax(record.logits), record.labels)
    cells = np.minimum(confidences * BINS * IN_A_BIN, BINS * IN_A_BIN - 1).astype(int)
    return np.bincount(cells, minlength=BINS * IN_A_BIN) / len(cells)


def chances_right(confidences: np.ndarray, parts: np.ndarray, error: float) -> np.ndarray:
    """For each confidence, how often it is right, if the calibration error is ``error``."""
    bend = confidences * (1 - confidences)
    return confidences - bend * error / (parts @ bend)


def errors_of(counts: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The ECE of samples of which so many, (..., cells), have that excess, (cells,)."""
    in_bins = (counts * excess).reshape(*counts.shape[:-1], 2, BINS, IN_A_BIN).sum((-3, -1))
    return np.asarray(np.abs(in_bins).sum(-1) / counts.sum(-1))


def bootstraps(counts: np.ndarray, excess: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Three intervals from the same samples, drawn with replacement."""
    n = counts.sum()
    found = errors_of(counts, excess)
    drawn = errors_of(rng.multinomial(n, counts / n, REPEATS), excess)
    tails = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = np.quantile(drawn, tails)
    return {
        "percentile bootstrap": (low, high),
        "basic bootstrap": (2 * found - high, 2 * found - low),
        "BCa bootstrap": np.quantile(drawn, bca_tails(counts, excess, drawn, tails)),
    }


def bca_tails(
    counts: np.ndarray, excess: np.ndarray, drawn: np.ndarray, tails: np.ndarray
) -> list[float]:
    """The quantiles that BCa takes instead (Efron 1987): corrected for bias and acceleration."""
    below = (drawn < errors_of(counts, excess)).mean()
    bias = NORMAL.inv_cdf(min(max(below, 0.5 / REPEATS), 1 - 0.5 / REPEATS))
    held = np.flatnonzero(counts)
    without = errors_of(counts - np.eye(len(counts), dtype=int)[held], excess)
    times = counts[held]  # leaving out any of equal samples gives the same
    off = np.average(without, weights=times) - without
    squares = times @ off**2
    acceleration = times @ off**3 / (6 * squares**1.5) if squares > 0 else 0.0
    shifted = [bias + NORMAL.inv_cdf(tail) for tail in tails]
    return [NORMAL.cdf(bias + z / (1 - acceleration * z)) for z in shifted]


def triangle(
    counts: np.ndarray, excess: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """The ECE, and to both sides the 95 % point of all that noise can add in all bins."""
    n, shape = counts.sum(), (2, BINS, IN_A_BIN)
    means = (counts * excess).reshape(shape).sum((0, 2)) / n
    squares = (counts * excess**2).reshape(shape).sum((0, 2)) / n
    deviations = np.sqrt((squares - means**2) / n)
    noise = np.abs(rng.standard_normal((REPEATS, BINS)) @ np.diag(deviations)).sum(axis=1)
    found, reach = errors_of(counts, excess), np.quantile(noise, LEVEL)
    return max(0.0, found - reach), found + reach


def intervals(
    counts: np.ndarray, confidences: np.ndarray, rng: np.random.Generator
) -> dict[str, Any]:
    """All intervals of one set: of each cell so many are wrong, then so many right."""
    excess = np.concatenate([confidences, confidences - 1])
    probs = np.repeat(np.tile(confidences, 2), counts)
    labels = np.repeat([0, 1], [counts[: len(confidences)].sum(), counts[len(confidences) :].sum()])
    return {
        "calib_utils": calibration_error_interval(probs, labels, BINS, level=LEVEL),
        **bootstraps(counts, excess, rng),
        "triangle inequality": triangle(counts, excess, rng),
    }


def measure(n: int, error: float, parts: np.ndarray, sets: int) -> list[dict[str, Any]]:
    """How often each interval holds the error, and how wide it is, on sets of n."""
    confidences = (np.arange(BINS * IN_A_BIN) + 0.5) / (BINS * IN_A_BIN)
    right = chances_right(confidences, parts, error)
    both = np.concatenate([parts * (1 - right), parts * right])
    rng = np.random.default_rng([SEED, n, round(1e6 * error)])
    held: dict[str, list[bool]] = {}
    widths: dict[str, list[float]] = {}
    for _ in range(sets):
        for name, (low, high) in intervals(rng.multinomial(n, both), confidences, rng).items():
            held.setdefault(name, []).append(bool(low <= error <= high))
            widths.setdefault(name, []).append(float(high - low))
    return [
        {
            "name": name,
            "n": n,
            "error": error,
            "coverage": float(np.mean(held[name])),
            "width": float(np.mean(widths[name])),
        }
        for name in held
    ]


def main() -> None:
    parts = cells_of_record()
    rows: list[dict[str, Any]] = []
    for n in SIZES:
        for error in ERRORS:
            rows += measure(n, error, parts, SETS)
            for row in rows[-5:]:
                print(json.dumps(row), flush=True)
    results = {
        "bins": BINS,
        "level": LEVEL,
        "sets": SETS,
        "repeats": REPEATS,
        "seed": SEED,
        "predictions": " ".join(RECORD),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "threads": 1,
        "cpu": processor_name(),
        "versions": {"python": platform.python_version(), "numpy": version("numpy")},
        "rows": rows,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    unfinished = RESULTS.with_suffix(".part")
    unfinished.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    unfinished.replace(RESULTS)


if __name__ == "__main__":
    main()
