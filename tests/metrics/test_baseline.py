"""The baseline of a calibration error and the test, against plain draws and definitions."""

import math

import numpy as np
import pytest
from scipy.stats import ks_2samp

from calib_utils.metrics import (
    baseline,
    baseline_calibration_error,
    brier_score,
    calibration_test,
    expected_calibration_error,
)

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
    drawn = baseline._drawn_errors(probs, index, 15, 2_000, 0)
    plain = [
        np.abs(np.bincount(index, (rng.random(n) < probs) - probs)).sum() / n for _ in range(2_000)
    ]
    assert ks_2samp(drawn, plain).pvalue > 0.01


@pytest.mark.parametrize(("n", "normal"), [(1_600, False), (1_604, True)])
def test_sums_are_drawn_exactly_up_to_a_variance_of_400(n, normal):
    """Of exact ones all are whole numbers."""
    chances = np.full(n, 0.5)
    drawn = baseline._drawn_sums(chances, 500, np.random.default_rng(0))
    ends = baseline._sum_quantiles(chances, (0.025, 0.975))
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
    first, found = baseline.poisson_binomial(chances)
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
