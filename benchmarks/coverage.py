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

import argparse
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import expit

from benchmarks.measured import coverage, coverages, each, on_one_thread, store
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
TAILS = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
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
LIBRARY_SIZES, LIBRARY_ERRORS, LIBRARY_SETS = (500, 2_000), (0.0, 0.02, 0.07), 50
NORMAL = NormalDist()

# Rounded confidences, those of wrong answers and then those of right ones, and what each exceeds.
CONFIDENCES = (np.arange(BINS * IN_A_BIN) + 0.5) / (BINS * IN_A_BIN)
EXCESS = np.concatenate([CONFIDENCES, CONFIDENCES - 1])


def confidences_of_record() -> np.ndarray:
    record = load_record(*RECORD)
    confidences, _ = top_label(softmax(record.logits), record.labels)
    return np.minimum(confidences, 1.0)


def parts_of_record() -> np.ndarray:
    """Which part of the record's confidences is nearest to each of `CONFIDENCES`."""
    cells = np.minimum(confidences_of_record() * len(CONFIDENCES), len(CONFIDENCES) - 1)
    return np.bincount(cells.astype(int), minlength=len(CONFIDENCES)) / len(cells)


def chances_right(
    confidences: np.ndarray, error: float, parts: np.ndarray | None = None
) -> np.ndarray:
    """For each confidence, of which so many parts are, how often it is right at this error."""
    bend = confidences * (1 - confidences)
    return confidences - bend * error / (bend.mean() if parts is None else parts @ bend)


def draw(
    everyone: np.ndarray, right: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Confidences of n samples, and whether each is right."""
    rows = rng.integers(len(everyone), size=n)
    return everyone[rows], (rng.random(n) < right[rows]).astype(int)


def root_mean_square(gaps: np.ndarray, masses: np.ndarray) -> float:
    """That of the gaps of bins, which are given times the mass of each."""
    return float((gaps[masses > 0] ** 2 / masses[masses > 0]).sum() ** 0.5)


# --------------------------------------- samples as counts, (2 * CONFIDENCES,)


def chances_of_counts(error: float) -> np.ndarray:
    """How probable a wrong answer of each confidence is, and then a right one."""
    parts = parts_of_record()
    right = chances_right(CONFIDENCES, error, parts)
    return np.concatenate([parts * (1 - right), parts * right])


def samples_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    right, cells = np.divmod(np.repeat(np.arange(len(EXCESS)), counts), len(CONFIDENCES))
    return CONFIDENCES[cells], right


def in_bins(values: np.ndarray) -> np.ndarray:
    """The sums of (..., cells) in each bin."""
    return values.reshape(*values.shape[:-1], 2, BINS, IN_A_BIN).sum((-3, -1))


def errors_of(counts: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(in_bins(counts * EXCESS)).sum(-1) / counts.sum(-1))


def bootstraps(counts: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Three intervals from the same samples, drawn with replacement."""
    n, found = counts.sum(), errors_of(counts)
    drawn = errors_of(rng.multinomial(n, counts / n, REPEATS))
    low, high = np.quantile(drawn, TAILS)
    return {
        "percentile bootstrap": (low, high),
        "basic bootstrap": (2 * found - high, 2 * found - low),
        "BCa bootstrap": np.quantile(drawn, bca_tails(counts, drawn)),
    }


def bca_tails(counts: np.ndarray, drawn: np.ndarray) -> list[float]:
    """The quantiles that BCa takes instead (Efron 1987): corrected for bias and acceleration."""
    below = (drawn < errors_of(counts)).mean()
    bias = NORMAL.inv_cdf(min(max(below, 0.5 / REPEATS), 1 - 0.5 / REPEATS))
    held = np.flatnonzero(counts)
    without = errors_of(counts - np.eye(len(counts), dtype=int)[held])
    times = counts[held]  # leaving out any of equal samples gives the same
    off = np.average(without, weights=times) - without
    squares = times @ off**2
    acceleration = times @ off**3 / (6 * squares**1.5) if squares > 0 else 0.0
    shifted = [bias + NORMAL.inv_cdf(tail) for tail in TAILS]
    return [NORMAL.cdf(bias + z / (1 - acceleration * z)) for z in shifted]


def triangle(counts: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The ECE, and to both sides the 95 % point of all that noise can add in all bins."""
    n = counts.sum()
    means, squares = in_bins(counts * EXCESS) / n, in_bins(counts * EXCESS**2) / n
    deviations = np.sqrt((squares - means**2) / n)
    noise = np.abs(rng.standard_normal((REPEATS, BINS)) * deviations).sum(axis=1)
    found, reach = errors_of(counts), np.quantile(noise, LEVEL)
    return max(0.0, found - reach), found + reach


def normal_root(counts: np.ndarray) -> tuple[float, float]:
    """The mean square of the gaps less its noise, and to both sides what it errs by if normal."""
    held, total, squares = (in_bins(counts * EXCESS**power) for power in (0, 1, 2))
    several = held > 1
    held, total, squares = held[several], total[several], squares[several]
    gaps = (total / held) ** 2
    noise = (squares / held - gaps) / (held - 1)  # the variance of each gap
    debiased = gaps - noise
    parts = held / counts.sum()
    spread = np.sqrt(parts**2 @ (2 * noise**2 + 4 * np.maximum(debiased, 0) * noise))
    reach = NORMAL.inv_cdf((1 + LEVEL) / 2) * spread
    low, high = parts @ debiased - reach, parts @ debiased + reach
    return float(max(low, 0.0) ** 0.5), float(max(high, 0.0) ** 0.5)


def of_record() -> dict[str, Any]:
    """The coverage on sets like the record's, by interval, error, samples and bins."""
    everyone = confidences_of_record()
    rows: list[dict[str, Any]] = []
    other_rows: list[dict[str, Any]] = []
    for n, error in each(SIZES, ERRORS):
        rows += on_rounded(n, error)
        for n_bins, strategy in OTHER_BINS:
            other_rows += in_other_bins(n, error, everyone, n_bins, strategy, SETS)
    about = {"bins": BINS, "level": LEVEL, "sets": SETS, "repeats": REPEATS, "seed": SEED}
    more = {"predictions": " ".join(RECORD), **on_one_thread(), "rows": rows}
    return about | more | {"other_bins": other_rows}


def on_rounded(n: int, error: float) -> list[dict[str, Any]]:
    """The coverage of each interval on sets of n rounded confidences."""
    chances = chances_of_counts(error)
    rng = np.random.default_rng([SEED, n, round(1e6 * error)])
    found = []
    for _ in range(SETS):
        counts = rng.multinomial(n, chances)
        samples = samples_of(counts)
        ends: dict[str, Any] = {
            "calib_utils": calibration_error_interval(*samples, BINS, level=LEVEL),
            **bootstraps(counts, rng),
            "triangle inequality": triangle(counts, rng),
            "calib_utils, debiased": debiased_calibration_error_interval(
                *samples, BINS, level=LEVEL
            ),
            "normal, debiased": normal_root(counts),
        }
        found.append(ends)
    root = root_mean_square(in_bins(chances * EXCESS), in_bins(chances))
    truths = {name: root if name.endswith("debiased") else error for name in found[0]}
    return coverages(found, truths, n=n, error=error)


def in_other_bins(
    n: int, error: float, everyone: np.ndarray, n_bins: int, strategy: str, sets: int
) -> list[dict[str, Any]]:
    """How often both intervals of the library hold their errors, in other bins."""
    right = chances_right(everyone, error)
    rng = np.random.default_rng([SEED, n, round(1e6 * error), n_bins, len(strategy)])
    both = {
        "calib_utils": calibration_error_interval,
        "calib_utils, debiased": debiased_calibration_error_interval,
    }
    given: dict[str, Any] = {"n_bins": n_bins, "level": LEVEL, "strategy": strategy}
    truths, found = [], []
    for _ in range(sets):
        samples = draw(everyone, right, n, rng)
        edges = reliability_bins(*samples, n_bins, strategy).edges
        index = np.searchsorted(edges[1:-1], everyone, side="left")
        gaps = np.bincount(index, everyone - right) / len(everyone)
        root = root_mean_square(gaps, np.bincount(index) / len(everyone))
        truths.append((np.abs(gaps).sum(), root))
        found.append({name: of(*samples, **given) for name, of in both.items()})
    by_name = dict(zip(both, np.transpose(truths), strict=True))
    return coverages(found, by_name, n=n, error=error, bins=n_bins, strategy=strategy)


def rare() -> dict[str, Any]:
    """The coverage of both intervals of the library where positives are rare."""
    everyone = expit(np.random.default_rng(SEED).normal(-5.2, 1.1, 100_000))
    rows: list[dict[str, Any]] = []
    for n, error, strategy in each(RARE_SIZES, RARE_ERRORS, ("uniform", "quantile")):
        rows += in_other_bins(n, error, everyone, BINS, strategy, FEWER_SETS)
    about = {"sets": FEWER_SETS, "positives": float(everyone.mean())}
    return {**about, **on_one_thread(), "rows": rows}


def weighted() -> dict[str, Any]:
    """The coverage of the weighted error, by ways that one might take."""
    rows: list[dict[str, Any]] = []
    for n, error in each(WEIGHTED_SIZES, WEIGHTED_ERRORS):
        chances = chances_of_counts(error)
        truth = float(errors_of(chances * np.tile(mean_weights(CONFIDENCES), 2)))
        rng = np.random.default_rng([SEED, n, round(1e6 * error), MOST_WEIGHT])
        found = [of_weighted(rng.multinomial(n, chances), rng) for _ in range(WEIGHTED_SETS)]
        rows += coverages(found, truth, n=n, error=error, weighted_error=truth)
    about = {"sets": WEIGHTED_SETS, "most_weight": MOST_WEIGHT, "spread": WEIGHT_SPREAD}
    return {**about, **on_one_thread(), "rows": rows}


def mean_weights(confidences: np.ndarray) -> np.ndarray:
    """The mean weight of samples of each confidence, up to a factor."""
    return np.asarray(MOST_WEIGHT ** (1 - confidences))


def of_weighted(counts: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Ways to an interval of the weighted error."""
    cells = np.repeat(np.arange(len(counts)), counts)
    probs, labels = samples_of(counts)
    weights = mean_weights(probs) * rng.lognormal(0, WEIGHT_SPREAD, len(cells))
    given = as_predictions(probs, labels, sample_weight=weights)
    drawn = [
        np.bincount(cells, weights * rng.poisson(1, len(cells)), minlength=len(counts))
        for _ in range(WEIGHTED_REPEATS)
    ]
    return {
        "calib_utils": calibration_error_interval(given, n_bins=BINS, level=LEVEL),
        "calib_utils, without the weights": calibration_error_interval(
            probs, labels, BINS, level=LEVEL
        ),
        "percentile bootstrap": np.quantile(errors_of(np.array(drawn)), TAILS),
    }


def hostile() -> dict[str, Any]:
    """The coverage where the gaps have another shape, and the width beside that of an oracle."""
    rows = []
    for shape, n in each(HOSTILE, HOSTILE_SIZES):
        rng = np.random.default_rng([SEED, n, len(shape)])
        most = max(HOSTILE_ERRORS) + 3 / n**0.5
        errors = np.linspace(0, most / 2, ORACLE_ERRORS)
        known = [drawn_errors(shape, n, error, ORACLE_SETS, rng)[1] for error in errors]
        for error in HOSTILE_ERRORS:
            sets, eces = drawn_errors(shape, n, error, FEWER_SETS, rng)
            ends = [calibration_error_interval(*one, HOSTILE[shape], level=LEVEL) for one in sets]
            row = {"name": shape, "n": n, "error": error, "bins": HOSTILE[shape]}
            row |= coverage(ends, error)
            oracle = oracle_ends(eces, errors, np.quantile(known, TAILS, axis=1))
            row |= {f"oracle_{key}": of for key, of in coverage(oracle, error).items()}
            rows.append(row)
    return {"sets": FEWER_SETS, **on_one_thread(), "rows": rows}


def hostile_shape(shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Confidences, and for each the part of the error that is its own; in bins they add up to 1."""
    everyone = confidences_of_record()
    if shape == "99 % correct":
        everyone = np.asarray(1 - np.random.default_rng(SEED).beta(0.3, 30, len(everyone)))
    elif shape == "two confidences":
        everyone = np.where(everyone < 0.5, 0.62, 0.97)
    index = bins_of(everyone, HOSTILE[shape])
    gaps = everyone * (1 - everyone)
    if shape == "alternating":
        gaps = gaps * (-1) ** index
    elif shape == "one bin":
        gaps = gaps * (index == np.bincount(index, gaps).argmax())
    return everyone, gaps / np.abs(np.bincount(index, gaps)).sum() * len(everyone)


def bins_of(confidences: np.ndarray, n_bins: int) -> np.ndarray:
    return np.minimum(np.ceil(confidences * n_bins).astype(int), n_bins) - 1


def drawn_errors(
    shape: str, n: int, error: float, sets: int, rng: np.random.Generator
) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
    """Sets of that shape and error, and the ECE of each."""
    everyone, gaps = hostile_shape(shape)
    found = [draw(everyone, everyone - error * gaps, n, rng) for _ in range(sets)]
    excess = [np.bincount(bins_of(probs, HOSTILE[shape]), probs - right) for probs, right in found]
    return found, np.array([np.abs(sums).sum() / n for sums in excess])


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


def libraries() -> dict[str, Any]:
    """The coverage of the intervals that other libraries offer.

    One of them is of the error in 15 bins of equal mass, the other of the smooth error. As all
    gaps have one sign, both truths are the error that was set.
    """
    import calibration  # uncertainty-calibration's
    import relplot

    everyone = confidences_of_record()
    rows: list[dict[str, Any]] = []
    for n, error in each(LIBRARY_SIZES, LIBRARY_ERRORS):
        right = chances_right(everyone, error)
        rng = np.random.default_rng([SEED, n, round(1e6 * error)])
        np.random.seed(SEED)  # noqa: NPY002, from there uncertainty-calibration draws
        found = []
        for _ in range(LIBRARY_SETS):
            probs, labels = draw(everyone, right, n, rng)
            low, _, high = calibration.get_calibration_error_uncertainties(
                probs,
                labels,
                p=1,
                alpha=100 * (1 - LEVEL),  # in per cent
            )
            smooth = relplot.prepare_rel_diagram(
                probs, labels.astype(float), plot_confidence_band=False
            )
            reach = smooth["ce_ci_width"]
            ends: dict[str, Any] = {
                "calib_utils": calibration_error_interval(
                    probs, labels, BINS, level=LEVEL, strategy="quantile"
                ),
                "uncertainty-calibration": (low, high),
                "relplot, of the smooth error": (smooth["ce"] - reach, smooth["ce"] + reach),
            }
            found.append(ends)
        rows += coverages(found, error, n=n, error=error)
    about = on_one_thread("uncertainty-calibration", "relplot")
    return {"sets": LIBRARY_SETS, **about, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    more = {"hostile": hostile, "libraries": libraries, "rare": rare, "weighted": weighted}
    parser.add_argument("--only", nargs="+", choices=more, help="parts that are measured anew")
    only = parser.parse_args().only
    on_one_thread()
    results = stored("coverage")
    results |= {name: more[name]() for name in only or more}
    results |= {} if only else of_record()
    store("coverage", results)


if __name__ == "__main__":
    main()
