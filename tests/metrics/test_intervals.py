"""Intervals of a calibration error, against definitions written out and known truths."""

from math import comb
from statistics import NormalDist

import numpy as np
import pytest
import torch
from scipy.stats import ncx2

from calib_utils.metrics import (
    calibration_error_interval,
    cox_line,
    debiased_calibration_error_interval,
    expected_calibration_error,
    intervals,
)
from calib_utils.metrics.bins import bin_sums
from calib_utils.metrics.intervals import error_against, error_ends, resampled_gaps
from calib_utils.predictions import as_predictions

BINS = 15


def test_a_quantile_is_above_a_bound_where_numpy_says_so():
    rng = np.random.default_rng(0)
    for _ in range(500):
        values = rng.integers(0, 9, rng.integers(1, 30)) / 7  # with ties
        part, bound = rng.choice([0, 0.025, 0.5, 1, rng.random()]), rng.choice(values)
        assert intervals._is_above(values, part, bound) == (np.quantile(values, part) > bound)


of_both = pytest.mark.parametrize(
    "interval", [calibration_error_interval, debiased_calibration_error_interval]
)


def binary(n, seed=0, gap=0.0):
    """Probabilities of the positive class, and labels that are positive less often by ``gap``."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.2, 1, n)
    return probs, (rng.random(n) < probs - gap).astype(int)


def noise_of_bins(probs, labels, n_bins):
    """Bin by bin: its share, its mean excess, and two variances of the excess of a sample."""
    index = np.array([sum(p > m / n_bins for m in range(1, n_bins)) for p in probs])
    for m in sorted(set(index)):
        p = probs[index == m]
        k, d = len(p), p - labels[index == m]
        ours = (k * d.var() + 2 * np.mean(p * (1 - p))) / (k - 1 + 2)
        at_least = (k * d.var() + 2) / (k + 4)
        share = k / len(probs)
        chance = d.mean() ** 2 * (1 - share)
        yield share, d.mean(), ours + chance, at_least + chance


def written_out(probs, labels, n_bins, level, seed):
    """The interval bin by bin, draw by draw, and by steps of a hundredth of a per cent."""
    n, excess, measured, cautious = len(probs), [], [], []
    for share, gap, ours, at_least in noise_of_bins(probs, labels, n_bins):
        excess.append(share * gap)
        measured.append(np.sqrt(share * ours / n))
        cautious.append(np.sqrt(share * at_least / n))
    ece, tail = sum(map(abs, excess)), (1 - level) / 2
    draws = np.random.default_rng(seed).standard_normal((2_000, len(excess)))
    z = NormalDist().inv_cdf(1 - 0.005 / (2 * len(excess)))
    too_high = []
    for draw in draws:
        total = 0.0
        for gap, sd, slip in zip(excess, cautious, draw, strict=True):
            total += sd * (slip if abs(gap) > 2 * z * sd else abs(slip))
        too_high.append(total)
    highest = []
    for sds in (measured, cautious):
        lucky = np.quantile(np.abs(draws * sds).sum(axis=1), NormalDist().cdf(-1))
        for error in np.arange(0, 1, 1e-4):
            means = error * np.array(sds) / sum(sds)
            if np.quantile(np.abs(means + draws * sds).sum(axis=1), tail) > max(ece, lucky):
                highest.append(error)
                break
    return max(0, ece - np.quantile(too_high, 1 - tail + 0.005)), max(highest)


def debiased_written_out(probs, labels, n_bins, level, seed):
    """The same of the debiased error."""
    n, gaps, measured, cautious = len(probs), [], [], []
    for share, gap, ours, at_least in noise_of_bins(probs, labels, n_bins):
        gaps.append(np.sqrt(share) * gap)
        measured.append(np.sqrt(ours / n))
        cautious.append(np.sqrt(at_least / n))
    square, tail = sum(gap**2 for gap in gaps), (1 - level) / 2
    draws = np.random.default_rng(seed).standard_normal((2_000, len(gaps)))
    lows, highs = [], []
    for sds in (measured, cautious):
        widest = np.arange(len(sds)) == np.argmax(sds)

        def quantile(error, part, sds=sds, widest=widest):
            return np.quantile(((error * widest + draws * sds) ** 2).sum(axis=1), part)

        errors = np.arange(0, 1, 1e-4)
        lows.append(next(e for e in errors if quantile(e, 1 - tail) >= square))
        least = max(square, quantile(0, NormalDist().cdf(-1)))
        highs.append(next(e for e in errors if quantile(e, tail) > least))
    return min(lows), max(highs)


@pytest.mark.parametrize(
    ("interval", "definition", "close"),
    [
        (calibration_error_interval, written_out, 1e-4),
        (debiased_calibration_error_interval, debiased_written_out, 1.2e-4),
    ],
)
@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_intervals_are_what_their_definitions_give(gap, interval, definition, close):
    probs, labels = binary(200, gap=gap)
    found = interval(probs, labels, 5, level=0.9, seed=3)
    assert found == pytest.approx(definition(probs, labels, 5, level=0.9, seed=3), abs=close)
    assert (found[0] > 0) == (gap > 0)


def test_debiased_calibration_error_interval_is_that_of_a_noncentral_chi_square():
    # Ten bins of 4,000: of each forecast, 0.05 to 0.95, half come true at the first.
    rng = np.random.default_rng(0)
    probs = np.repeat((np.arange(10) + 0.5) / 10, 4_000)
    labels = (rng.random(40_000) < 0.5).astype(int)
    square = np.mean([(p - labels[probs == p].mean()) ** 2 for p in np.unique(probs)])
    # Where bins are of one size, how many samples fall into them still is chance: it adds
    # gap^2 (1 - share) to the variance, at most 0.45^2 * 0.9. Take both sides of it.
    for_variance = []
    for variance in (0.25, 0.25 + 0.45**2 * 0.9):
        statistic, errors = 40_000 * square / variance, np.linspace(0, 0.5, 50_001)
        chances = ncx2.cdf(statistic, 10, 40_000 * errors**2 / variance)
        for_variance.append([errors[chances < part][0] for part in (0.975, 0.025)])
    low, high = debiased_calibration_error_interval(probs, labels, 10)
    (inner_low, inner_high), (outer_low, outer_high) = for_variance
    assert outer_low - 5e-4 < low < inner_low
    assert inner_high < high < outer_high + 5e-4


@pytest.mark.parametrize(
    ("interval", "below", "close"),
    [
        # Of the chance to miss below, a fifth is kept back for gaps that only look clear.
        (calibration_error_interval, 2.054, 0.25),
        (debiased_calibration_error_interval, 1.96, 0.15),
    ],
)
def test_intervals_of_one_bin_and_a_clear_gap_are_those_of_a_mean(interval, below, close):
    probs, labels = binary(5_000, gap=0.2)
    excess = probs - labels
    error = excess.std() / np.sqrt(len(excess))
    low, high = interval(probs, labels, 1)
    assert low == pytest.approx(excess.mean() - below * error, abs=close * error)
    assert high == pytest.approx(excess.mean() + 1.96 * error, abs=close * error)


TRUTHS = {
    "a gap that alternates": lambda p: p + np.where(np.ceil(15 * p) % 2, 0.02, -0.02),
    "a bend": lambda p: p - 0.3 * p * (1 - p),
}


@pytest.mark.parametrize(
    ("interval", "truth", "strategy"),
    [
        (calibration_error_interval, "a gap that alternates", "quantile"),
        (debiased_calibration_error_interval, "a bend", "uniform"),
    ],
)
def test_intervals_hold_the_true_error_as_often_as_they_say(interval, truth, strategy):
    everyone = np.random.default_rng(7).uniform(0.1, 0.97, 20_000)
    chances = TRUTHS[truth](everyone)
    inside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows = rng.integers(len(everyone), size=600)
        probs, labels = everyone[rows], (rng.random(600) < chances[rows]).astype(int)
        edges = np.quantile(probs, np.arange(BINS + 1) / BINS)
        inner = edges[1:-1] if strategy == "quantile" else np.arange(1, BINS) / BINS
        index = np.searchsorted(inner, everyone, side="left")
        counts = np.bincount(index, minlength=BINS)
        shares, sums = counts / len(everyone), np.bincount(index, everyone - chances, BINS)
        gaps = np.abs(sums) / np.maximum(counts, 1)
        errors = {calibration_error_interval: shares @ gaps}
        errors[debiased_calibration_error_interval] = np.sqrt(shares @ gaps**2)
        low, high = interval(probs, labels, BINS, strategy=strategy, seed=seed)
        inside += low <= errors[interval] <= high
    # At 95 %, 88 or fewer of 100 inside have a chance of less than one in a hundred.
    assert inside > 88


@pytest.mark.parametrize("n", [1, 30, 3_000])
@pytest.mark.parametrize("gap", [0.0, 0.1, 1.0])
def test_a_bound_is_set_against_the_ends_of_the_interval(n, gap):
    rng = np.random.default_rng(n)
    probs = np.ones(n) if gap == 1 else rng.uniform(0.2, 0.8, n)
    labels = (rng.random(n) < np.minimum(probs + gap, 1)).astype(int)
    sums, levels = bin_sums(as_predictions(probs, labels), 10, "uniform"), (0.98, 0.95)
    low, high = error_ends(sums, levels, 0)
    beside = (low - 1e-6, low + 1e-6, high - 1e-4, high + 1e-4)
    for bound in [*np.linspace(0, 0.95, 20), *(end for end in beside if 0 <= end < 1)]:
        assert error_against(sums, bound, levels, 0) == (low > bound, high <= bound)


@of_both
def test_intervals_are_the_same_for_one_seed_and_in_any_order(interval):
    probs, labels = binary(300, gap=0.3)
    first = interval(probs, labels, seed=1)
    assert first == interval(probs, labels, seed=1)
    assert first != interval(probs, labels, seed=2)
    assert first == pytest.approx(interval(probs[::-1].copy(), labels[::-1].copy(), seed=1))
    columns = np.stack([1 - probs, probs], axis=1)
    assert first != interval(columns, labels, seed=1)  # of the predicted class


@of_both
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(
    ("probs", "labels", "holds"),
    [
        ([0.7], [1], 0.9),  # one sample tells next to nothing
        ([0.7], [0], 0.9),
        ([1.0] * 100, [1] * 100, 0.02),  # all right: two in a hundred may yet be wrong
        ([0.5] * 100, [0, 1] * 50, 0.08),
        ([0.2] * 50, [1] * 50, 0.8),
        ([0.0, 1.0], [1, 0], 1.0),
    ],
)
def test_intervals_of_few_or_equal_samples(probs, labels, holds, strategy, interval):
    for n_bins in (1, 15):
        low, high = interval(probs, labels, n_bins, strategy=strategy)
        assert 0 <= low <= holds <= high <= 1


def test_calibration_error_interval_bins_half_precision_as_it_came():
    probs, labels = binary(500)
    half = torch.from_numpy(probs).half()
    found = calibration_error_interval(half, labels)
    assert found == calibration_error_interval(half.numpy(), labels)
    assert found == pytest.approx(calibration_error_interval(probs, labels), abs=0.01)
    assert calibration_error_interval(torch.from_numpy(probs).bfloat16(), labels)[1] > 0


@of_both
@pytest.mark.parametrize("level", [0, 0.99, 95, np.nan, "high"])
def test_intervals_refuse_a_level_that_is_none(level, interval):
    with pytest.raises(ValueError, match=r"^level: expected a number above 0 and below 0.99"):
        interval(*binary(10), level=level)


def test_calibration_error_interval_of_ten_samples_covers_92_percent_in_the_worst_case():
    """All numbers of correct ones, each with its probability: no chance is left."""
    n, confidence = 10, 0.8
    ends = [
        calibration_error_interval([confidence] * n, [1] * k + [0] * (n - k)) for k in range(n + 1)
    ]
    coverage = []
    for chance in np.linspace(0.01, 0.99, 99):
        error = abs(confidence - chance)
        inside = [low <= error + 1e-9 and error - 1e-9 <= high for low, high in ends]
        of_k = [comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
        coverage.append(np.dot(inside, of_k))
    assert min(coverage) == pytest.approx(0.92, abs=0.004)
    assert np.mean(coverage) > 0.95


def predictions(n, gap=0.0, seed=0):
    """Probabilities of the positive class, and labels that are positive less often by ``gap``."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(gap, 1, n)
    return probs, (rng.random(n) < probs - gap).astype(int)


def in_bins(probs, labels, n_bins):
    return np.ceil(n_bins * probs).astype(int) - 1, probs - labels


def test_resampled_gaps_are_what_drawing_rows_gives():
    sets = [predictions(200, 0.1), predictions(200, 0.3, seed=1)]
    found = resampled_gaps([in_bins(*both, 10) for both in sets], repeats=50, seed=3)
    rng = np.random.default_rng(3)
    for row in found:
        rows = rng.integers(200, size=200)
        expected = [expected_calibration_error(probs[rows], y[rows], 10) for probs, y in sets]
        assert row == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("both", [cox_line, calibration_error_interval])
def test_intervals_take_weights_or_blocks(both):
    given = as_predictions(np.arange(9) / 9, np.arange(9) % 2, sample_weight=np.arange(9) + 1)
    with pytest.raises(ValueError, match=r"^sample_weight: expected none"):
        both(given, blocks=np.arange(9) // 3)
