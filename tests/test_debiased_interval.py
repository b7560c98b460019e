"""The interval of the debiased error, against itself written out and against known truths."""

from statistics import NormalDist

import numpy as np
import pytest
import torch
from interval_cases import FEW, binary, held, noise_of_bins
from scipy.stats import ncx2

from calib_utils.metrics import (
    calibration_error_interval,
    debiased_calibration_error,
    debiased_calibration_error_interval,
)


def written_out(probs, labels, n_bins, level, seed):
    """The interval bin by bin and by steps of a hundredth of a per cent."""
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


@pytest.mark.parametrize("gap", [0.0, 0.2])
def test_is_what_its_definition_gives(gap):
    probs, labels = binary(200, gap=gap)
    found = debiased_calibration_error_interval(probs, labels, 5, level=0.9, seed=3)
    expected = written_out(probs, labels, 5, level=0.9, seed=3)
    assert found == pytest.approx(expected, abs=1.2e-4)
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


def test_with_one_bin_it_is_that_of_a_mean():
    probs, labels = binary(5_000, gap=0.2)
    excess = probs - labels
    error = excess.std() / np.sqrt(len(excess))
    low, high = debiased_calibration_error_interval(probs, labels, 1)
    assert low == pytest.approx(excess.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(excess.mean() + 1.96 * error, abs=0.15 * error)


TRUTHS = {
    "calibrated": lambda p: p,
    "a gap in one place": lambda p: np.where((p > 0.4) & (p < 0.5), p - 0.2, p),
    "a bend": lambda p: p - 0.3 * p * (1 - p),
    "far too bold": lambda p: p**2,
}


@pytest.mark.parametrize(
    ("truth", "strategy"), list(zip(TRUTHS, 2 * ["uniform", "quantile"], strict=True))
)
def test_holds_the_true_error_as_often_as_it_says(truth, strategy):
    inside = held(
        TRUTHS[truth],
        strategy,
        lambda sums, counts: np.sqrt((sums**2 / np.maximum(counts, 1)).sum() / counts.sum()),
        debiased_calibration_error_interval,
    )
    # At 95 %, 88 or fewer of 100 inside have a chance of less than one in a hundred.
    assert inside > 88


def test_holds_the_estimate():
    for seed, gap in enumerate([0, 0.02, 0.05, 0.1, 0.2]):
        probs, labels = binary(2_000, seed, gap)
        low, high = debiased_calibration_error_interval(probs, labels)
        assert low <= debiased_calibration_error(probs, labels) <= high


def test_the_error_of_calibrated_predictions_may_be_none():
    low, high = debiased_calibration_error_interval(*binary(2_000), 30)
    assert low == 0
    assert high < 0.07


def test_a_higher_level_is_wider_and_more_samples_make_it_shorter():
    probs, labels = binary(500, gap=0.15)
    narrow = debiased_calibration_error_interval(probs, labels, level=0.5)
    wide = debiased_calibration_error_interval(probs, labels, level=0.98)
    assert 0 < wide[0] < narrow[0] < narrow[1] < wide[1] < 1
    ends = [debiased_calibration_error_interval(*binary(n, gap=0.1)) for n in (300, 3_000, 30_000)]
    widths = [high - low for low, high in ends]
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_is_the_same_for_one_seed_and_for_tensors():
    probs, labels = binary(300, gap=0.3)
    first = debiased_calibration_error_interval(probs, labels, seed=1)
    assert first == debiased_calibration_error_interval(probs, labels, seed=1)
    assert first != debiased_calibration_error_interval(probs, labels, seed=2)
    tensors = torch.from_numpy(probs), torch.from_numpy(labels)
    assert first == debiased_calibration_error_interval(*tensors, seed=1)
    columns = np.stack([1 - probs, probs], axis=1)
    assert first != debiased_calibration_error_interval(columns, labels, seed=1)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(
    ("probs", "labels", "holds"),
    FEW,
)
def test_few_or_equal_samples(probs, labels, holds, strategy):
    for n_bins in (1, 15):
        low, high = debiased_calibration_error_interval(probs, labels, n_bins, strategy=strategy)
        assert 0 <= low <= holds <= high <= 1


@pytest.mark.parametrize(
    "interval", [calibration_error_interval, debiased_calibration_error_interval]
)
@pytest.mark.parametrize("level", [0, 0.99, 95, float("nan")])
def test_level(interval, level):
    with pytest.raises(ValueError, match=r"^level: expected a number above 0 and below 0.99"):
        interval(*binary(10), level=level)
