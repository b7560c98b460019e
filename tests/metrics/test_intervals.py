"""The intervals of two errors, against their definitions written out and known truths."""

from math import comb
from statistics import NormalDist

import numpy as np
import pytest
import torch
from scipy.stats import ncx2

from calib_utils.metrics import (
    calibration_error_interval,
    debiased_calibration_error,
    debiased_calibration_error_interval,
    expected_calibration_error,
    noise,
)
from calib_utils.predictions import as_predictions

BINS = 15
of_both = pytest.mark.parametrize(
    "interval", [calibration_error_interval, debiased_calibration_error_interval]
)


def binary(n, seed=0, gap=0.0):
    """Probabilities of the positive class, and labels that are positive less often by ``gap``."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(0.2, 1, n)
    return probs, (rng.random(n) < probs - gap).astype(int)


def test_the_noise_of_a_bin_with_the_samples_that_are_added():
    """To the first deviation two calibrated ones, to the second four, two of them all wrong."""
    confidences = np.array([0.6, 0.7, 0.8, 0.9, 0.2, 0.3])
    correct = np.array([1, 0, 1, 1, 0, 1])
    given = as_predictions(confidence=confidences, correct=correct)
    of_bins = noise.bin_sums(given, 2, "uniform")
    share, excess, measured, cautious, *_ = noise._independent(of_bins, 0)
    for m, inside in enumerate((confidences < 0.5, confidences > 0.5)):
        gaps, n = (confidences - correct)[inside], inside.sum()
        mean, around = gaps.mean(), ((gaps - gaps.mean()) ** 2).sum()
        spread = (confidences * (1 - confidences))[inside].mean()
        assert (share[m], excess[m]) == pytest.approx((n / 6, gaps.sum() / 6))
        for found, within in (
            (measured, (around + 2 * spread) / (n - 1 + 2)),
            (cautious, (around + 2) / (n + 4)),
        ):
            variance = n / 6 * (within + mean**2 * (1 - n / 6)) / 6
            assert found[m] == pytest.approx(variance**0.5)


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
def test_is_what_its_definition_gives(gap, interval, definition, close):
    probs, labels = binary(200, gap=gap)
    found = interval(probs, labels, 5, level=0.9, seed=3)
    assert found == pytest.approx(definition(probs, labels, 5, level=0.9, seed=3), abs=close)
    assert (found[0] > 0) == (gap > 0)


def test_with_equal_noise_in_all_bins_it_is_that_of_a_noncentral_chi_square():
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
def test_with_one_bin_and_a_clear_gap_it_is_that_of_a_mean(interval, below, close):
    probs, labels = binary(5_000, gap=0.2)
    excess = probs - labels
    error = excess.std() / np.sqrt(len(excess))
    low, high = interval(probs, labels, 1)
    assert low == pytest.approx(excess.mean() - below * error, abs=close * error)
    assert high == pytest.approx(excess.mean() + 1.96 * error, abs=close * error)


TRUTHS = {
    "calibrated": lambda p: p,
    "a gap that alternates": lambda p: p + np.where(np.ceil(15 * p) % 2, 0.02, -0.02),
    "a gap in one place": lambda p: np.where((p > 0.4) & (p < 0.5), p - 0.2, p),
    "a bend": lambda p: p - 0.3 * p * (1 - p),
    "far too bold": lambda p: p**2,
}


@pytest.mark.parametrize(
    ("interval", "truth", "strategy"),
    [
        (calibration_error_interval, "calibrated", "uniform"),
        (calibration_error_interval, "a gap that alternates", "quantile"),
        (calibration_error_interval, "a bend", "uniform"),
        (calibration_error_interval, "far too bold", "quantile"),
        (debiased_calibration_error_interval, "calibrated", "uniform"),
        (debiased_calibration_error_interval, "a gap in one place", "quantile"),
        (debiased_calibration_error_interval, "a bend", "uniform"),
        (debiased_calibration_error_interval, "far too bold", "quantile"),
    ],
)
def test_holds_the_true_error_as_often_as_it_says(interval, truth, strategy):
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


def test_that_of_the_debiased_error_holds_the_estimate():
    for seed, gap in enumerate([0, 0.02, 0.05, 0.1, 0.2]):
        probs, labels = binary(2_000, seed, gap)
        low, high = debiased_calibration_error_interval(probs, labels)
        assert low <= debiased_calibration_error(probs, labels) <= high


@pytest.mark.parametrize(
    ("interval", "most"),
    [(calibration_error_interval, 0.06), (debiased_calibration_error_interval, 0.07)],
)
def test_the_error_of_calibrated_predictions_may_be_none(interval, most):
    probs, labels = binary(2_000)
    low, high = interval(probs, labels, 30)
    assert low == 0
    assert high < most
    assert expected_calibration_error(probs, labels, 30) > 0.02


@of_both
def test_a_higher_level_is_wider_and_more_samples_make_it_shorter(interval):
    probs, labels = binary(500, gap=0.15)
    narrow, wide = (interval(probs, labels, level=level) for level in (0.5, 0.98))
    assert 0 < wide[0] < narrow[0] < narrow[1] < wide[1] < 1
    ends = [interval(*binary(n, gap=0.1)) for n in (300, 3_000, 30_000)]
    widths = [high - low for low, high in ends]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


@of_both
def test_is_the_same_for_one_seed_and_in_any_order(interval):
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
def test_few_or_equal_samples(probs, labels, holds, strategy, interval):
    for n_bins in (1, 15):
        low, high = interval(probs, labels, n_bins, strategy=strategy)
        assert 0 <= low <= holds <= high <= 1


def test_float16_and_bfloat16_bin_as_they_came():
    probs, labels = binary(500)
    half = torch.from_numpy(probs).half()
    found = calibration_error_interval(half, labels)
    assert found == calibration_error_interval(half.numpy(), labels)
    assert found == pytest.approx(calibration_error_interval(probs, labels), abs=0.01)
    assert calibration_error_interval(torch.from_numpy(probs).bfloat16(), labels)[1] > 0


@of_both
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        *(("level", value, "a number above 0 and below 0.99") for value in (0, 0.99, 95, np.nan)),
        *(("n_bins", value, "") for value in (0, 2.5)),
        ("strategy", "equal", ""),
    ],
)
def test_bad_arguments(name, value, expected, interval):
    with pytest.raises(ValueError, match=f"^{name}: expected {expected}"):
        interval(*binary(10), **{name: value})


def test_with_ten_samples_of_one_confidence_it_covers_92_percent_in_the_worst_case():
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
