"""How often intervals of calibration errors hold them, in one run.

    python -m benchmarks.coverage                         # about a quarter of an hour
    python -m benchmarks.coverage --only hostile rare     # a minute, and the rest stays as it was

draws test sets with a known calibration error, and writes to
``benchmarks/results/coverage.json`` how often each interval contains it, and how wide it is. The
confidences are those of a network of the course, rounded to a few numbers in each bin: so whole
bootstrap samples are drawn as counts of equal samples, exactly. An answer of confidence c is
right with chance c - b c (1 - c); b sets the error. Ends of the basic bootstrap may lie below 0
and stay there: cut at 0, they would hold an error of 0 that they miss.

The same sets have a root mean square of the gaps, which the intervals of the debiased error are to
hold. And both intervals of the library are measured once more with other bins, on the
confidences as they are; bins of equal mass are those of each set, and so is their error.

Four parts more have fewer sets. ``libraries`` asks two other libraries for their own intervals, on
the confidences as they are: ``pip install relplot==1.0.3 uncertainty-calibration==0.1.4``.
``rare`` has binary predictions of which one in a hundred is positive. ``weighted`` gives each
sample a weight: a log-normal number, times 1 to 10, the more the lower its confidence. The
library's interval is asked with the weights and without, and the percentile bootstrap of the
weighted ECE stands beside it. ``hostile`` has gaps of other shapes, and beside the
width of the interval that of an oracle, who knows the shape of the gaps and not their size.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.measured import coverage, coverages, facts, store
from benchmarks.tables import stored
from calib_utils._numerics import softmax
from calib_utils.metrics import (
    calibration_error_interval,
    debiased_calibration_error_interval,
    reliability_bins,
    top_label,
)
from calib_utils.predictions import as_predictions
from calib_utils.records import load_record

RECORD = ("resnet34-224-cifar100", "test")
BINS, IN_A_BIN, LEVEL = 15, 4, 0.95
SIZES = (500, 2_000, 10_000)
ERRORS = (0.0, 0.009, 0.02, 0.07)
SETS, REPEATS, SEED = 300, 1_000, 0
OTHER_BINS = ((7, "uniform"), (30, "uniform"), (7, "quantile"), (15, "quantile"), (30, "quantile"))
RARE_SIZES, RARE_ERRORS = (2_000, 50_000), (0.0, 0.005)
WEIGHTED_SIZES, WEIGHTED_ERRORS, MOST_WEIGHT = (2_000, 10_000), (0.0, 0.02), 10
WEIGHT_SPREAD, WEIGHTED_SETS, WEIGHTED_REPEATS = 1.0, 100, 200
FEWER_SETS = 200
# Each with its number of bins: gaps whose sign changes from bin to bin, all error in one bin, 99 %
# correct, and only two confidences.
HOSTILE = {"alternating": 15, "one bin": 15, "99 % correct": 50, "two confidences": 15}
HOSTILE_SIZES, HOSTILE_ERRORS = (2_000, 10_000), (0.0, 0.005)
ORACLE_ERRORS, ORACLE_SETS = 13, 200
LIBRARIES = ("uncertainty-calibration", "relplot")
LIBRARY_SIZES, LIBRARY_ERRORS, LIBRARY_SETS = (500, 2_000), (0.0, 0.02, 0.07), 50
NORMAL = NormalDist()


def confidences_of_record() -> np.ndarray:
    record = load_record(*RECORD)
    confidences, _ = top_label(softmax(record.logits), record.labels)
    return np.minimum(confidences, 1.0)


def cells_of_record() -> np.ndarray:
    """Which part of the record's confidences is nearest to each number: (BINS * IN_A_BIN,)."""
    confidences = confidences_of_record()
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


def normal_root(counts: np.ndarray, excess: np.ndarray) -> tuple[float, float]:
    """The mean square of the gaps less its noise, and to both sides what it errs by if normal."""
    n, shape = counts.sum(), (2, BINS, IN_A_BIN)
    held, total, squares = (
        (counts * excess**power).reshape(shape).sum((0, 2)) for power in (0, 1, 2)
    )
    several = held > 1
    held, total, squares = held[several], total[several], squares[several]
    gaps = (total / held) ** 2
    noise = (squares / held - gaps) / (held - 1)  # the variance of each gap
    debiased = gaps - noise
    parts = held / n
    spread = np.sqrt(parts**2 @ (2 * noise**2 + 4 * np.maximum(debiased, 0) * noise))
    reach = NORMAL.inv_cdf((1 + LEVEL) / 2) * spread
    low, high = parts @ debiased - reach, parts @ debiased + reach
    return float(max(low, 0.0) ** 0.5), float(max(high, 0.0) ** 0.5)


def root_mean_square(excess: np.ndarray, index: np.ndarray, parts: np.ndarray) -> float:
    """The root mean square of the gaps of bins: of each cell the excess, its bin and its part."""
    masses = np.bincount(index, parts)
    held = masses > 0
    return float(np.sqrt((np.bincount(index, parts * excess)[held] ** 2 / masses[held]).sum()))


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
        "calib_utils, debiased": debiased_calibration_error_interval(
            probs, labels, BINS, level=LEVEL
        ),
        "normal, debiased": normal_root(counts, excess),
    }


def measure(n: int, error: float, parts: np.ndarray, sets: int) -> list[dict[str, Any]]:
    """How often each interval holds the error, and how wide it is, on sets of n."""
    confidences = (np.arange(BINS * IN_A_BIN) + 0.5) / (BINS * IN_A_BIN)
    right = chances_right(confidences, parts, error)
    both = np.concatenate([parts * (1 - right), parts * right])
    in_bins = np.repeat(np.arange(BINS), IN_A_BIN)
    root = root_mean_square(confidences - right, in_bins, parts)
    rng = np.random.default_rng([SEED, n, round(1e6 * error)])
    found = [intervals(rng.multinomial(n, both), confidences, rng) for _ in range(sets)]
    truths = {name: root if name.endswith("debiased") else error for name in found[0]}
    return coverages(found, truths, n=n, error=error)


def measure_other_bins(
    n: int, error: float, everyone: np.ndarray, n_bins: int, strategy: str, sets: int
) -> list[dict[str, Any]]:
    """How often both intervals of the library hold their errors, in other bins."""
    parts = np.full(len(everyone), 1 / len(everyone))
    right = chances_right(everyone, parts, error)
    rng = np.random.default_rng([SEED, n, round(1e6 * error), n_bins, len(strategy)])
    both = {
        "calib_utils": calibration_error_interval,
        "calib_utils, debiased": debiased_calibration_error_interval,
    }
    truths, found = [], []
    for _ in range(sets):
        drawn = rng.integers(len(everyone), size=n)
        probs, labels = everyone[drawn], (rng.random(n) < right[drawn]).astype(int)
        edges = reliability_bins(probs, labels, n_bins, strategy).edges
        index = np.searchsorted(edges[1:-1], everyone, side="left")
        mean = float(np.abs(np.bincount(index, parts * (everyone - right))).sum())
        truths.append((mean, root_mean_square(everyone - right, index, parts)))
        given: dict[str, Any] = {"level": LEVEL, "strategy": strategy}
        found.append({name: of(probs, labels, n_bins, **given) for name, of in both.items()})
    by_name = dict(zip(both, np.transpose(truths), strict=True))
    return coverages(found, by_name, n=n, error=error, bins=n_bins, strategy=strategy)


def rare_positives() -> np.ndarray:
    """Probabilities of the positive class; their mean is about 0.01."""
    return np.asarray(expit(np.random.default_rng(SEED).normal(-5.2, 1.1, 100_000)))


def rare() -> dict[str, Any]:
    """The coverage of both intervals of the library where positives are rare."""
    everyone, rows = rare_positives(), []
    for n in RARE_SIZES:
        for error in RARE_ERRORS:
            for strategy in ("uniform", "quantile"):
                rows += measure_other_bins(n, error, everyone, BINS, strategy, FEWER_SETS)
        print(f"rare positives, {n:,} samples: done", flush=True)
    return {"sets": FEWER_SETS, "positives": float(everyone.mean()), **here(), "rows": rows}


def weighted_intervals(
    counts: np.ndarray, confidences: np.ndarray, rng: np.random.Generator
) -> dict[str, Any]:
    """Ways to an interval of the weighted error; of each cell so many are wrong, then right."""
    cells = np.repeat(np.arange(2 * len(confidences)), counts)
    probs, labels = confidences[cells % len(confidences)], cells // len(confidences)
    weights = mean_weights(probs) * rng.lognormal(0, WEIGHT_SPREAD, len(cells))

    def ours(sample_weight: np.ndarray | None) -> tuple[float, float]:
        given = as_predictions(probs, labels, sample_weight=sample_weight)
        return calibration_error_interval(given, n_bins=BINS, level=LEVEL)

    drawn = [
        np.bincount(cells, weights * rng.poisson(1, len(cells)), minlength=len(counts))
        for _ in range(WEIGHTED_REPEATS)
    ]
    found = errors_of(np.array(drawn), np.concatenate([confidences, confidences - 1]))
    return {
        "calib_utils": ours(weights),
        "calib_utils, without the weights": ours(None),
        "percentile bootstrap": np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]),
    }


def mean_weights(confidences: np.ndarray) -> np.ndarray:
    """The mean weight of samples of each confidence, up to a factor."""
    return np.asarray(MOST_WEIGHT ** (1 - confidences))


def weighted() -> dict[str, Any]:
    """The coverage of the weighted error, by ways that one might take."""
    confidences, parts = (np.arange(BINS * IN_A_BIN) + 0.5) / (BINS * IN_A_BIN), cells_of_record()
    rows: list[dict[str, Any]] = []
    for n in WEIGHTED_SIZES:
        for error in WEIGHTED_ERRORS:
            right = chances_right(confidences, parts, error)
            both = np.concatenate([parts * (1 - right), parts * right])
            excess = np.concatenate([confidences, confidences - 1])
            truth = float(errors_of(both * np.tile(mean_weights(confidences), 2), excess))
            rng = np.random.default_rng([SEED, n, round(1e6 * error), MOST_WEIGHT])
            found = [
                weighted_intervals(rng.multinomial(n, both), confidences, rng)
                for _ in range(WEIGHTED_SETS)
            ]
            rows += coverages(found, truth, n=n, error=error, weighted_error=truth)
        print(f"weighted, {n:,} samples: done", flush=True)
    about = {"sets": WEIGHTED_SETS, "most_weight": MOST_WEIGHT, "spread": WEIGHT_SPREAD}
    return {**about, **here(), "rows": rows}


def hostile_shape(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and for each the part of the error that is its own; in bins they add up to 1."""
    n_bins = HOSTILE[shape]
    everyone = confidences_of_record()
    if shape == "99 % correct":
        everyone = np.asarray(1 - np.random.default_rng(SEED).beta(0.3, 30, len(everyone)))
    elif shape == "two confidences":
        everyone = np.where(everyone < 0.5, 0.62, 0.97)
    index = np.minimum(np.ceil(everyone * n_bins).astype(int), n_bins) - 1
    gaps = everyone * (1 - everyone)
    if shape == "alternating":
        gaps = gaps * (-1) ** index
    elif shape == "one bin":
        gaps = gaps * (index == np.bincount(index, gaps).argmax())
    return everyone, gaps / np.abs(np.bincount(index, gaps)).sum() * len(everyone)


def drawn_errors(
    shape: str, n: int, error: float, sets: int, rng: np.random.Generator
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Sets of that shape and error, and the ECE of each."""
    everyone, gaps = hostile_shape(shape)
    n_bins, found, eces = HOSTILE[shape], [], []
    for _ in range(sets):
        rows = rng.integers(len(everyone), size=n)
        probs = everyone[rows]
        labels = (rng.random(n) < probs - error * gaps[rows]).astype(int)
        index = np.minimum(np.ceil(probs * n_bins).astype(int), n_bins) - 1
        eces.append(np.abs(np.bincount(index, probs - labels)).sum() / n)
        found.append((probs, labels))
    return found, np.array(eces)


def oracle_ends(eces: np.ndarray, errors: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """The errors at which each ECE lies between its two quantiles: (sets, 2).

    Args:
        eces: of the sets.
        errors: from 0 upwards.
        quantiles: (2, errors), of the ECEs of sets with each of these errors.
    """
    low_tail, high_tail = np.maximum.accumulate(quantiles, axis=1)
    low = np.interp(eces, high_tail, errors, left=0.0)
    return np.stack([low, np.maximum(np.interp(eces, low_tail, errors), low)], axis=1)


def hostile() -> dict[str, Any]:
    """The coverage where the gaps have another shape, and the width beside that of an oracle."""
    rows = []
    for shape, n_bins in HOSTILE.items():
        for n in HOSTILE_SIZES:
            rng = np.random.default_rng([SEED, n, len(shape)])
            most = max(HOSTILE_ERRORS) + 3 / n**0.5
            errors = np.linspace(0, most / 2, ORACLE_ERRORS)
            tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
            quantiles = np.transpose(
                [
                    np.quantile(drawn_errors(shape, n, error, ORACLE_SETS, rng)[1], tails)
                    for error in errors
                ]
            )
            for error in HOSTILE_ERRORS:
                sets, eces = drawn_errors(shape, n, error, FEWER_SETS, rng)
                ends = [calibration_error_interval(*one, n_bins, level=LEVEL) for one in sets]
                row = {"name": shape, "n": n, "error": error, "bins": n_bins}
                oracle = oracle_ends(eces, errors, quantiles)
                row |= coverage(ends, error)
                row |= {f"oracle_{key}": of for key, of in coverage(oracle, error).items()}
                rows.append(row)
                print(json.dumps(row), flush=True)
    return {"sets": FEWER_SETS, **here(), "rows": rows}


def of_uncertainty_calibration(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    import calibration

    settings = {"p": 1, "alpha": 100 * (1 - LEVEL)}  # in per cent
    low, _, high = calibration.get_calibration_error_uncertainties(probs, labels, **settings)
    return low, high


def of_relplot(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    import relplot

    found = relplot.prepare_rel_diagram(probs, labels.astype(float), plot_confidence_band=False)
    return found["ce"] - found["ce_ci_width"], found["ce"] + found["ce_ci_width"]


def of_ours(probs: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    return calibration_error_interval(probs, labels, BINS, level=LEVEL, strategy="quantile")


def libraries() -> dict[str, Any]:
    """The coverage of the intervals that other libraries offer.

    One of them is of the error in 15 bins of equal mass, the other of the smooth error. As all
    gaps have one sign, both truths are the error that was set.
    """
    methods = {
        "calib_utils": of_ours,
        "uncertainty-calibration": of_uncertainty_calibration,
        "relplot, of the smooth error": of_relplot,
    }
    everyone = confidences_of_record()
    rows: list[dict[str, Any]] = []
    for n in LIBRARY_SIZES:
        for error in LIBRARY_ERRORS:
            right = chances_right(everyone, np.full(len(everyone), 1 / len(everyone)), error)
            rng = np.random.default_rng([SEED, n, round(1e6 * error)])
            np.random.seed(SEED)  # noqa: NPY002, from there uncertainty-calibration draws
            found = []
            for _ in range(LIBRARY_SETS):
                drawn = rng.integers(len(everyone), size=n)
                probs = everyone[drawn].astype(float)
                labels = (rng.random(n) < right[drawn]).astype(int)
                found.append({name: of(probs, labels) for name, of in methods.items()})
            rows += coverages(found, error, n=n, error=error)
            print(f"libraries, {n:,} samples, error {error:g}: done", flush=True)
    return {"sets": LIBRARY_SETS, **here(*LIBRARIES), "rows": rows}


def here(*packages: str) -> dict[str, Any]:
    """When and where this is measured."""
    return {"threads": 1, **facts("numpy", *packages)}


def of_record() -> dict[str, Any]:
    """The coverage on sets like the record's, by interval, error, samples and bins."""
    parts, everyone = cells_of_record(), confidences_of_record()
    rows: list[dict[str, Any]] = []
    other_rows: list[dict[str, Any]] = []
    for n in SIZES:
        for error in ERRORS:
            rows += measure(n, error, parts, SETS)
            for n_bins, strategy in OTHER_BINS:
                other_rows += measure_other_bins(n, error, everyone, n_bins, strategy, SETS)
            print(f"{n:,} samples, error {error:g}: done", flush=True)
    return {
        "bins": BINS,
        "level": LEVEL,
        "sets": SETS,
        "repeats": REPEATS,
        "seed": SEED,
        "predictions": " ".join(RECORD),
        **here(),
        "rows": rows,
        "other_bins": other_rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    more = {"hostile": hostile, "libraries": libraries, "rare": rare, "weighted": weighted}
    parser.add_argument("--only", nargs="+", choices=more, help="parts that are measured anew")
    only = parser.parse_args().only
    results = stored("coverage")
    results |= {name: more[name]() for name in only or more}
    results |= {} if only else of_record()
    store("coverage", results)


if __name__ == "__main__":
    main()
