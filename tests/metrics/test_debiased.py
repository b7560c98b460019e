"""The debiased calibration error, against its formula and against what it should be on average."""

import itertools

import numpy as np
import pytest

from calib_utils.metrics import (
    debiased_calibration_error,
    expected_calibration_error,
    reliability_bins,
)
from calib_utils.metrics.errors import debiased_squared_error
from calib_utils.predictions import taken


def squares_written_out(confidences, labels, edges):
    """(debiased, plain) mean square of the gaps of bins with two samples or more."""
    debiased, plain, n = 0.0, 0.0, 0
    for low, high in itertools.pairwise(edges):
        inside = (low < confidences) & (confidences <= high)
        if inside.sum() > 1:
            gaps = (confidences - labels)[inside]
            plain += len(gaps) * gaps.mean() ** 2
            debiased += len(gaps) * (gaps.mean() ** 2 - gaps.var(ddof=1) / len(gaps))
            n += len(gaps)
    return debiased / n, plain / n


def forecasts(n, seed=0):
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    return confidences, (rng.random(n) < confidences**2).astype(int)


@pytest.mark.parametrize("n_bins", [1, 2, 7, 15, 100])
@pytest.mark.parametrize("n", [40, 3_000])
def test_follows_the_formula(n, n_bins):
    confidences, labels = forecasts(n, seed=n_bins)
    uniform = np.linspace(0, 1, n_bins + 1)
    square, _ = squares_written_out(confidences, labels, uniform)
    found = debiased_squared_error(taken(confidences, labels), n_bins, "uniform")
    assert found == pytest.approx(square, abs=1e-13)
    error = debiased_calibration_error(confidences, labels, n_bins)
    assert error == pytest.approx(max(square, 0) ** 0.5, abs=1e-7)


def test_bins_of_equal_mass():
    confidences, labels = forecasts(1_000)
    edges = reliability_bins(confidences, labels, 8, "quantile").edges
    edges[0] = -1
    square, _ = squares_written_out(confidences, labels, edges)
    found = debiased_calibration_error(confidences, labels, 8, strategy="quantile")
    assert found == pytest.approx(square**0.5, abs=1e-12)


def test_of_equal_confidences_subtracts_the_variance_of_the_labels():
    # The formula of Kumar et al., whose bins hold one confidence each.
    rng = np.random.default_rng(1)
    confidences = rng.choice([0.05, 0.35, 0.55, 0.95], 200)
    labels = (rng.random(200) < 0.8 * confidences).astype(int)
    square = 0.0
    for value in np.unique(confidences):
        rate, n = labels[confidences == value].mean(), (confidences == value).sum()
        square += n / 200 * ((rate - value) ** 2 - rate * (1 - rate) / (n - 1))
    assert square > 0
    found = debiased_calibration_error(confidences, labels, 10)
    assert found == pytest.approx(square**0.5, abs=1e-13)


# Four forecasts, how often each is given, and how often it comes true: two in each half.
FORECASTS = [(0.2, 0.1, 0.5), (0.4, 0.3, 0.3), (0.7, 0.4, 0.2), (0.9, 0.2, 0.9)]


def test_is_right_on_average_over_all_sets_of_four_samples():
    """Each of the 8^4 sets counts with its probability: no chance is left."""
    outcomes = [(c, 1, given * true) for c, given, true in FORECASTS]
    outcomes += [(c, 0, given * (1 - true)) for c, given, true in FORECASTS]
    gaps = []
    for half in (FORECASTS[:2], FORECASTS[2:]):
        weights = np.array([given for _, given, _ in half])
        gaps.append(np.dot(weights, [c - true for c, _, true in half]) / weights.sum())
    found = of_labels = expected = 0.0
    for drawn in itertools.product(outcomes, repeat=4):
        confidences, labels, chances = map(np.array, zip(*drawn, strict=True))
        chance, upper = chances.prod(), np.sum(confidences > 0.5)
        counts = np.array([4 - upper, upper])
        held = np.where(counts > 1, counts, 0)
        expected += chance * np.dot(held, np.square(gaps)) / held.sum()
        square = debiased_squared_error(taken(confidences, labels), 2, "uniform")
        found += chance * square
        # What subtracting the variance of the labels would give in place of this.
        for m, n in enumerate(held):
            if n:
                inside = (confidences > 0.5) == m
                gap, rate = (confidences - labels)[inside].mean(), labels[inside].mean()
                of_labels += chance * n / held.sum() * (gap**2 - rate * (1 - rate) / (n - 1))
    assert found == pytest.approx(expected, abs=1e-13)
    assert of_labels == pytest.approx(expected, abs=0.01)
    assert abs(of_labels - expected) > 1e-4


def test_is_right_on_average_over_small_samples():
    # Confidences are even, and c comes true in c^2 of the cases.
    edges = np.linspace(0, 1, 6)
    gaps = np.diff(edges**2 / 2 - edges**3 / 3) / np.diff(edges)
    found, plain = [], []
    for seed in range(2_000):
        confidences, labels = forecasts(100, seed)
        found.append(debiased_squared_error(taken(confidences, labels), 5, "uniform"))
        plain.append(squares_written_out(confidences, labels, edges)[1])
    error = np.std(found) / 2_000**0.5
    assert np.mean(found) == pytest.approx(np.mean(gaps**2), abs=4 * error)
    assert np.mean(plain) > np.mean(gaps**2) + 10 * error


def test_calibrated_predictions_have_a_square_of_zero_on_average():
    squares, errors = [], []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        probs = rng.random(200)
        labels = (rng.random(200) < probs).astype(int)
        squares.append(debiased_squared_error(taken(probs, labels), 15, "uniform"))
        errors.append(debiased_calibration_error(probs, labels))
        assert errors[-1] == max(squares[-1], 0) ** 0.5
    assert np.mean(squares) == pytest.approx(0, abs=4 * np.std(squares) / 500**0.5)
    assert 0.3 < np.mean(np.array(errors) == 0) < 0.8


def test_a_large_sample_has_the_root_mean_square_of_the_gaps():
    confidences = np.repeat([0.3, 0.9], 50_000)
    labels = np.tile([0, 1], 50_000)  # half of each: gaps of -0.2 and 0.4
    error = debiased_calibration_error(confidences, labels)
    assert error == pytest.approx(((0.04 + 0.16) / 2) ** 0.5, abs=1e-4)
    assert error > expected_calibration_error(confidences, labels) == pytest.approx(0.3)


def test_a_bin_with_one_sample_is_left_out():
    confidences, labels = np.array([0.1, 0.7, 0.7, 0.7]), np.array([1, 0, 0, 0])
    assert debiased_calibration_error(confidences, labels, 4) == pytest.approx(0.7)


def test_says_so_where_no_bin_holds_two_samples():
    with pytest.raises(ValueError, match=r"^n_bins: expected a bin with two samples .*fewer bins"):
        debiased_calibration_error([0.1, 0.9], [0, 1], 2)
    with pytest.raises(ValueError, match=r"^n_bins: .*found none"):
        debiased_calibration_error([0.1], [0])
    assert debiased_calibration_error([0.1, 0.9], [0, 1], 1) == 0
