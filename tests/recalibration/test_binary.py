"""Histogram binning and isotonic regression, against definitions, scikit-learn and known maps."""

import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression as Isotonic

from calib_utils.metrics import reliability_bins
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import HistogramBinning, IsotonicRegression
from tests.recalibration.recalibration_cases import BINARY, binary


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_histogram_gives_the_positive_part_of_each_bin(strategy):
    z, labels = binary(3_000)
    scores = expit(z)
    fitted = HistogramBinning(12, strategy, inputs="probs").fit(scores, labels)
    expected = reliability_bins(scores, labels, 12, strategy)
    np.testing.assert_array_equal(fitted.edges_, expected.edges)
    np.testing.assert_array_equal(fitted.counts_, expected.counts)
    probs = fitted.predict_proba(scores)
    for m in range(12):
        low, high = fitted.edges_[m : m + 2]
        inside = (scores > low) & (scores <= high) | (scores == low) & (m == 0)
        np.testing.assert_allclose(probs[inside], labels[inside].mean())
    np.testing.assert_array_equal(
        HistogramBinning(12, strategy).fit(z, labels).predict_proba(z), probs
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_histogram_edges_belong_to_the_bin_below(dtype):
    scores = np.array([0.2, 0.2, 0.4, 0.3, 0.0, 1.0], dtype)
    fitted = HistogramBinning(5, inputs="probs").fit(scores, [1, 0, 1, 1, 0, 1])
    np.testing.assert_allclose(fitted.probabilities_, [1 / 3, 1, 0.5, 0.7, 1])
    np.testing.assert_array_equal(fitted.counts_, [3, 2, 0, 0, 1])
    probs = fitted.predict_proba(np.array([0.2, 0.4, 0.5, 0.6, 0.61, 1.0], dtype))
    np.testing.assert_allclose(probs, [1 / 3, 1, 0.5, 0.5, 0.7, 1], rtol=1e-6)


def test_histogram_of_equal_mass_outside_its_edges():
    fitted = HistogramBinning(2, "quantile", inputs="probs").fit([0.4, 0.5, 0.6, 0.7], [0, 0, 1, 1])
    np.testing.assert_array_equal(
        fitted.predict_proba(np.array([0.0, 0.55, 0.56, 1.0])), [0, 0, 1, 1]
    )


def test_isotonic_against_scikit_learn():
    z, labels = binary(2_000)
    reference = Isotonic(y_min=0, y_max=1, out_of_bounds="clip").fit(z, labels)
    new = np.linspace(-15, 15, 999)
    fitted = IsotonicRegression().fit(z, labels)
    np.testing.assert_allclose(fitted.predict_proba(new), reference.predict(new), atol=1e-12)


def test_isotonic_pools_adjacent_violators_by_hand():
    fitted = IsotonicRegression(inputs="probs").fit([0.1, 0.2, 0.3, 0.4, 0.5], [0, 1, 0, 1, 1])
    probs = fitted.predict_proba(np.array([0.0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.9]))
    np.testing.assert_allclose(probs, [0, 0, 0.5, 0.5, 0.75, 1, 1])


@pytest.mark.parametrize("power", [-120, 100])
def test_isotonic_for_logits_of_any_size(power):
    z, labels = binary(500)
    one = IsotonicRegression().fit(z, labels).predict_proba(z)
    scaled = np.ldexp(z, power)
    np.testing.assert_array_equal(
        IsotonicRegression().fit(scaled, labels).predict_proba(scaled), one
    )


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), decimals=st.integers(0, 6))
@pytest.mark.parametrize("name", ["isotonic", "beta"])
def test_rising_methods_keep_order_whatever_the_data(name, seed, n, decimals):
    rng = np.random.default_rng(seed)
    z = np.round(4 * rng.standard_normal(n), decimals)
    labels = (rng.random(n) < expit(z)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BINARY[name]().fit(z, labels)
    probs = fitted.predict_proba(np.sort(np.concatenate([z, 9 * rng.standard_normal(50)])))
    assert (np.diff(probs) >= -1e-15).all()


def test_isotonic_regression_between_subnormal_thresholds():
    places = np.array([0.0, 1e-320, 1e-314, 1.0])
    scores, labels = np.tile(places, 5), np.tile([0, 0, 1, 1], 5)
    asked = [0.0, 1e-321, 1e-317, 1e-316, 1e-313]
    first, last, *inside = (Decimal.from_float(x) for x in (*places[1:3].tolist(), *asked[2:4]))
    between = [float((x - first) / (last - first)) for x in inside]
    fitted = IsotonicRegression(inputs="probs").fit(scores, labels)
    np.testing.assert_allclose(fitted.predict_proba(np.array(asked)), [0, 0, *between, 1])
    wide = IsotonicRegression().fit(np.array([-1.7e308, 1.7e308]), [0, 1])
    np.testing.assert_allclose(wide.predict_proba(np.array([-0.85e308, 1.7e308])), [0.25, 1])
    weights = np.linspace(1, 2, 20)
    given = as_predictions(confidence=scores, correct=labels, sample_weight=weights)
    assert np.isfinite(reliability_bins(given, n_bins=15, strategy="quantile").edges).all()


def test_isotonic_probabilities_are_one_at_most():
    rng = np.random.default_rng(0)
    scores = np.repeat([0.1, 0.2], 100)
    for scale in (1, 3, 7, 0.1, 0.3):
        weights = scale * (rng.random(200) * 1e-3 + 1e-17)
        fitted = IsotonicRegression(inputs="probs").fit(scores, np.ones(200, int), weights)
        assert fitted.probabilities_.max() <= 1


@pytest.mark.parametrize("size", [1e18, 1e300, 1.7e308])
def test_isotonic_sees_only_the_order(size):
    z, labels = binary(500)
    expected = IsotonicRegression().fit(z, labels).predict_proba(z)
    z[z.argmin()], z[z.argmax()] = -size, size
    found = IsotonicRegression().fit(z, labels).predict_proba(z)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_histogram_of_equal_mass_holds_equal_weight():
    scores, weights = np.arange(1, 100) / 100, np.where(np.arange(99) < 50, 3.0, 1.0)
    binning = HistogramBinning(4, "quantile", inputs="probs")
    binning.fit(scores, np.arange(99) % 2, sample_weight=weights)
    held = np.histogram(scores, binning.edges_, weights=weights)[0]
    np.testing.assert_allclose(held, weights.sum() / 4, atol=3)
    assert binning.counts_.sum() == 99
