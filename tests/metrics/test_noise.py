"""Baseline, tests, intervals and blocks, against definitions written out and known truths."""

import math
from math import comb
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import ks_2samp, ncx2, norm, t

from benchmarks import blocks as benchmark
from calib_utils.comparing import paired_difference
from calib_utils.metrics import (
    baseline_calibration_error,
    brier_score,
    calibration_error_interval,
    calibration_test,
    cox_line,
    debiased_calibration_error_interval,
    expected_calibration_error,
    noise,
)
from calib_utils.metrics.noise import (
    bin_sums,
    block_index,
    block_noise,
    effective_blocks,
    error_against,
    error_ends,
    resampled_gaps,
)
from calib_utils.predictions import as_predictions

CASE = (40, 25, 1.0, True, 0.0)  # blocks that are right or wrong as a whole


def drawn(seed, error=0.0, case=CASE):
    everyone = np.linspace(0.05, 0.99, 5_000)
    return benchmark.draw_set(case, error, everyone, np.random.default_rng(seed))


def test_blocks_of_one_sample_have_the_noise_of_samples():
    """The deviations are those of independent samples, but for the counts, which vary together."""
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.3, 1, 4_000)
    labels = (rng.random(4_000) < probs - 0.05).astype(int)
    plain = calibration_error_interval(probs, labels)
    found = calibration_error_interval(probs, labels, blocks=np.arange(4_000))
    assert found == pytest.approx(plain, abs=0.003)
    scores = [calibration_test(probs, labels, blocks=b).z for b in (None, np.arange(4_000))]
    assert scores[0] == pytest.approx(scores[1], rel=0.2)


def test_a_quantile_is_above_a_bound_where_numpy_says_so():
    rng = np.random.default_rng(0)
    for _ in range(500):
        values = rng.integers(0, 9, rng.integers(1, 30)) / 7  # with ties
        part, bound = rng.choice([0, 0.025, 0.5, 1, rng.random()]), rng.choice(values)
        assert noise._is_above(values, part, bound) == (np.quantile(values, part) > bound)


def test_block_noise_by_hand():
    """Two bins and three blocks, in numbers that are worked out one by one."""
    confidences = np.array([0.6, 0.7, 0.8, 0.9, 0.6, 0.2, 0.3, 0.4])
    correct = np.array([1, 0, 1, 1, 0, 0, 1, 0])
    bins = (confidences > 0.5).astype(int)
    blocks = np.array([0, 0, 1, 1, 2, 0, 1, 2])
    found = block_noise(confidences, correct, bins, blocks, np.random.default_rng(0), 10)
    for m in (0, 1):
        inside = bins == m
        mean = (confidences - correct)[inside].mean()
        off, of_share, sizes, alike = [], [], [], []
        for block in (0, 1, 2):
            rows = inside & (blocks == block)
            off.append(((confidences - correct)[rows] - mean).sum())
            of_share.append(mean * (rows.sum() - inside.mean() * (blocks == block).sum()))
            sizes.append(rows.sum() ** 2)
            alike.append(np.sqrt(confidences * (1 - confidences))[rows].sum() ** 2)
        around = np.square(off).sum()
        for deviation, within in (
            (found.measured, (around + 2 * np.mean(alike)) / (3 - 1 + 2)),
            (found.cautious, (around + 2 * np.mean(sizes)) / (3 + 4)),
        ):
            variance = 3 * within + np.square(of_share).sum()
            assert deviation[m] == pytest.approx(variance**0.5 / 8)
        assert found.excess[m] == pytest.approx(abs((confidences - correct)[inside].sum()) / 8)


def test_blocks_of_copied_rows_change_nothing():
    """Ten copies of each sample, as a block, are worth as much as the sample alone."""
    rng = np.random.default_rng(1)
    probs = rng.uniform(0.3, 1, 600)
    labels = (rng.random(600) < probs).astype(int)
    blocks = np.arange(600)
    once = calibration_error_interval(probs, labels, blocks=blocks)
    copied = (np.repeat(each, 10) for each in (probs, labels, blocks))
    p, y, b = copied
    assert calibration_error_interval(p, y, blocks=b) == pytest.approx(once, abs=1e-9)
    assert calibration_error_interval(p, y)[1] < once[1] - 0.01
    tests = [
        tuple(calibration_test(*pair, blocks=c))
        for *pair, c in ((probs, labels, blocks), (p, y, b))
    ]
    assert tests[0] == pytest.approx(tests[1])
    pairs = [
        paired_difference(first, second, blocks=c)
        for first, second, c in ((probs, labels, blocks), (p, y, b))
    ]
    assert pairs[0].interval() == pytest.approx(pairs[1].interval())


def test_blocks_cover_where_independence_does_not():
    inside, plain, found, missed = [], [], [], []
    for seed in range(60):
        probs, labels, blocks = drawn(seed)
        inside.append(calibration_error_interval(probs, labels, blocks=blocks)[0] == 0)
        plain.append(calibration_error_interval(probs, labels)[0] == 0)
        found.append(calibration_test(probs, labels, draws=200, blocks=blocks).p_value < 0.05)
        missed.append(calibration_test(probs, labels, draws=200).p_value < 0.05)
    assert np.mean(inside) > 0.95 > 0.5 > np.mean(plain)
    assert np.mean(found) < 0.1 < 0.9 < np.mean(missed)


def test_calibration_error_interval_of_blocks_all_correct_allows_a_wrong_one():
    """Of twenty blocks of a certain network, as of twenty samples."""
    probs, blocks = np.ones(200), np.arange(200) // 10
    low, high = calibration_error_interval(probs, probs.astype(int), blocks=blocks)
    of_twenty = calibration_error_interval(np.ones(20), np.ones(20, int))
    assert (low, high) == pytest.approx(of_twenty, rel=0.15)
    assert high > 0.05


@pytest.mark.parametrize(
    "blocks",
    [
        [f"race {i // 3}" for i in range(60)],
        np.arange(60) // 3,
        torch.arange(60) // 3,
        pd.Series([f"race {i // 3}" for i in range(60)]),
        np.arange(60) // 3 / 7,
        np.ma.array(np.arange(60) // 3, mask=False),
        np.datetime64("2026-01-01") + np.arange(60) // 3,
    ],
)
def test_block_index_takes_any_names(blocks):
    assert block_index(blocks, 60).max() == 19
    assert effective_blocks(block_index(blocks, 60)) == pytest.approx(20)


def test_blocks_are_refused_by_name():
    probs, labels = np.full(60, 0.5), np.arange(60) % 2
    for blocks, message in (
        (np.arange(59), r"blocks: expected shape \(60,\), .* found \(59,\)"),
        (np.arange(60) // 10, r"blocks: expected at least 10 .* found 6 that are worth 6.0"),
        ([0] * 48 + [*range(1, 13)], r"blocks: .* found 13 that are worth 1.6; so few"),
        ([None] + list("abc") * 19 + ["d"] * 2, r"blocks: .* found None at index 0"),
        (np.r_[np.arange(59.0), np.nan], r"blocks: .* found nan at index 59"),
        (pd.array([*range(59), pd.NA], dtype="Int64"), r"blocks: .* found (<NA>|nan) at index 59"),
        (np.ma.array(np.arange(60), mask=np.arange(60) < 2), "blocks: found masked entries"),
        (pd.Series(["a", pd.NA] * 30, dtype="string"), r"blocks: .* found (<NA>|nan) at index 1"),
    ):
        for function in (
            *(calibration_error_interval, calibration_test, paired_difference),
            cox_line,
        ):
            with pytest.raises(ValueError, match=message):
                function(probs, labels, blocks=blocks)


RNG = np.random.default_rng(0)


UNEQUAL = RNG.beta(4, 1, 700)


def calibrated(n, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.beta(3, 1, n)
    return probs, (rng.random(n) < probs).astype(int)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 10])
def test_baseline_calibration_error_is_what_drawing_each_label_gives(n_bins, strategy):
    rng = np.random.default_rng(5)
    errors = [
        expected_calibration_error(
            UNEQUAL, (rng.random(len(UNEQUAL)) < UNEQUAL).astype(int), n_bins, strategy
        )
        for _ in range(2_000)
    ]
    baseline = baseline_calibration_error(UNEQUAL, n_bins, strategy=strategy, draws=20_000)
    error = np.std(errors) / math.sqrt(len(errors))
    assert baseline.mean == pytest.approx(np.mean(errors), abs=4 * error)
    # Of the plain draws as many are above the 95 % point as a binomial allows.
    assert 60 <= (np.array(errors) > baseline.high).sum() <= 140


@pytest.mark.parametrize(("n", "some_normal"), [(10_000, False), (30_000, True)])
def test_drawn_errors_have_the_distribution_of_plain_draws(n, some_normal):
    """Of 10,000 all bins are drawn exactly; of 30,000 some have a variance above 400."""
    rng = np.random.default_rng(6)
    probs = rng.beta(3, 1, n)
    index = np.minimum((15 * probs).astype(int), 14)
    assert (np.bincount(index, probs * (1 - probs)).max() > 400) == some_normal
    drawn = noise._drawn_errors(probs, index, 15, 2_000, 0)
    plain = [
        np.abs(np.bincount(index, (rng.random(n) < probs) - probs)).sum() / n for _ in range(2_000)
    ]
    assert ks_2samp(drawn, plain).pvalue > 0.01


@pytest.mark.parametrize(("n", "normal"), [(1_600, False), (1_604, True)])
def test_sums_are_drawn_exactly_up_to_a_variance_of_400(n, normal):
    """Of exact ones all are whole numbers."""
    chances = np.full(n, 0.5)
    drawn = noise._drawn_sums(chances, 500, np.random.default_rng(0))
    ends = noise._sum_quantiles(chances, (0.025, 0.975))
    for numbers in (drawn, ends):
        assert (numbers == np.round(numbers)).all() != normal
    assert np.ptp(ends) == pytest.approx(2 * 1.96 * np.sqrt(n / 4), abs=1.5)


@pytest.mark.parametrize(
    "chances",
    [
        RNG.random(30),
        np.array([0.3]),
        np.array([0.0, 1.0, 1.0]),
        np.r_[RNG.random(900), np.ones(200)],
        np.full(6_000, 1e-3),
    ],
)
def test_poisson_binomial_is_a_convolution(chances):
    expected = np.ones(1)
    for chance in chances:
        expected = np.convolve(expected, [1 - chance, chance])
    first, found = noise.poisson_binomial(chances)
    assert found == pytest.approx(expected[first : first + len(found)], abs=1e-13)
    assert found.sum() == pytest.approx(1, abs=1e-11)


def test_baseline_calibration_error_of_what_is_certain_is_none():
    assert baseline_calibration_error([1.0, 0.0, 1.0]) == (0, 0)
    assert baseline_calibration_error([0.5]) == (0.5, 0.5)


def test_baseline_calibration_error_repeats_for_one_seed():
    first = baseline_calibration_error(UNEQUAL, seed=1)
    assert first == baseline_calibration_error(UNEQUAL, seed=1)
    assert first != baseline_calibration_error(UNEQUAL, seed=2)


@pytest.mark.parametrize("n", [300, 3_000])
def test_calibration_test_of_calibrated_predictions_has_even_p_and_normal_z(n):
    results = [calibration_test(*calibrated(n, seed), draws=200) for seed in range(300)]
    p, z = np.array(results).T
    # The largest distance of 300 uniform numbers from the diagonal is below 0.094 in 99 % of all
    # cases (Kolmogorov and Smirnov).
    assert np.abs(np.sort(p) - (np.arange(300) + 0.5) / 300).max() < 0.094
    assert abs(z.mean()) < 2.6 / math.sqrt(300)
    assert 0.86 < z.std() < 1.12


def test_calibration_test_sees_in_bins_what_cancels_for_z():
    # z weighs the gap at 0.9 twice as much as that at 0.7 (0.8 and 0.4): half as large, with the
    # other sign, it cancels it.
    probs = np.repeat([0.7, 0.9], 4_000)
    labels = np.concatenate([np.arange(4_000) < 4_000 * part for part in (0.6, 0.95)]).astype(int)
    found = calibration_test(probs, labels)
    assert found.z == pytest.approx(0, abs=1e-9)
    assert found.p_value < 0.002


def test_calibration_test_z_is_the_brier_score_less_its_mean():
    probs, labels = calibrated(500)
    expected = 2 * np.mean(probs * (1 - probs))  # both columns
    spread = 2 * math.sqrt(sum(p * (1 - p) * (1 - 2 * p) ** 2 for p in probs)) / len(probs)
    z = (brier_score(probs, labels) - expected) / spread
    assert calibration_test(probs, labels).z == pytest.approx(z)


@pytest.mark.parametrize(
    ("probs", "labels", "z"),
    [([1.0, 1.0], [1, 1], 0), ([1.0, 1.0], [1, 0], math.inf), ([0.5, 0.5], [0, 1], 0)],
)
def test_calibration_test_z_without_a_spread(probs, labels, z):
    found = calibration_test(probs, labels)
    assert found.z == z
    assert found.p_value == pytest.approx(1 / 1001 if z else 1, abs=0.0)


BINS = 15


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


def test_calibration_test_z_block_by_block():
    probs, labels, blocks = drawn(5, case=(30, 20, 0.4, False, 0.7))
    sums, most = [], []
    for block in range(30):
        of_block = [(p, y) for p, y, b in zip(probs, labels, blocks, strict=True) if b == block]
        sums.append(sum((1 - 2 * p) * (y - p) for p, y in of_block))
        most.append(sum(abs(1 - 2 * p) * (p * (1 - p)) ** 0.5 for p, _ in of_block))
    ratio = sum(sums) / (np.square(sums).sum() + 2 * np.square(most).mean()) ** 0.5
    tail = t.sf(abs(ratio), effective_blocks(blocks) - 1)
    z = calibration_test(probs, labels, draws=9, blocks=blocks).z
    assert z == pytest.approx(np.copysign(norm.isf(tail), ratio))
    certain = np.repeat([0.0, 1.0], 30)
    assert calibration_test(certain, certain.astype(int), draws=9, blocks=np.arange(60)).z == 0


def test_calibration_test_z_is_finite_where_the_tail_is_too_small_for_a_float():
    """As the gap grows, z grows on, also beyond 38."""
    blocks = np.arange(20_000) // 2
    confidences = np.random.default_rng(0).uniform(0.7, 0.9, 20_000)
    correct = np.random.default_rng(1).random(20_000)
    z = [
        calibration_test(confidences, (correct < share).astype(int), draws=9, blocks=blocks).z
        for share in (0.7, 0.67, 0.64, 0.6, 0.4)
    ]
    assert (np.diff(z) > 0).all()
    assert np.isfinite(z).all()
    assert z[0] < 38 < z[-1]
    certain = np.append(confidences, 1.0), np.append(correct < 0.8, 0).astype(int)
    assert np.isfinite(calibration_test(*certain, draws=9, blocks=np.append(blocks, 10_000)).z)


@pytest.mark.parametrize("both", [cox_line, calibration_error_interval])
def test_intervals_take_weights_or_blocks(both):
    given = as_predictions(np.arange(9) / 9, np.arange(9) % 2, sample_weight=np.arange(9) + 1)
    with pytest.raises(ValueError, match=r"^sample_weight: expected none"):
        both(given, blocks=np.arange(9) // 3)
