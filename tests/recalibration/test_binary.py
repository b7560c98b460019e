"""The maps for two classes, against definitions, plain optimisers, scikit-learn and known maps."""

import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression as Isotonic

from calib_utils.metrics import reliability_bins
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BetaCalibration,
    HistogramBinning,
    IsotonicRegression,
    PlattScaling,
)
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


def binary_nll(z, targets):
    return float(np.mean(np.logaddexp(0, z) - targets * z))


@pytest.mark.parametrize("scale", [1.0, 1e30])
@pytest.mark.parametrize("smooth", [False, True])
def test_platt_against_scikit_learn_and_its_gradient(smooth, scale):
    z, labels = binary(2_000)
    fitted = PlattScaling(smooth_targets=smooth).fit(z * scale, labels)
    n_positive, n = labels.sum(), len(labels)
    targets = labels.astype(float)
    if smooth:
        targets = np.where(labels, (n_positive + 1) / (n_positive + 2), 1 / (n - n_positive + 2))
        reference = _SigmoidCalibration().fit(z, labels)
        np.testing.assert_allclose(fitted.predict_proba(z * scale), reference.predict(z), atol=1e-4)
    error = fitted.predict_proba(z * scale) - targets
    assert abs(error.mean()) < 1e-8
    assert abs((error * z).mean()) < 1e-8


@pytest.mark.parametrize("kind", ["inside", "a is 0", "b is 0", "both are 0"])
def test_beta_against_a_bounded_solver(kind):
    rng = np.random.default_rng(5)
    scores = rng.random(3_000)
    probs = {
        "inside": scores**0.7,
        "a is 0": np.clip(0.9 - 0.8 * scores + 0.9 * scores**4, 0.02, 0.98),
        "b is 0": np.clip(0.02 + 2 * scores - 1.6 * scores**2, 0.02, 0.98),
        "both are 0": 1 - scores,
    }[kind]
    labels = (rng.random(3_000) < probs).astype(int)
    fitted = BetaCalibration(inputs="probs").fit(scores, labels)
    features = np.stack([np.log(scores), -np.log1p(-scores), np.ones(3_000)], axis=1)
    best = minimize(
        lambda w: binary_nll(features @ w, labels),
        np.zeros(3),
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-9},
    )
    assert (best.x[0] < 1e-6) == (kind in ("a is 0", "both are 0"))
    assert (best.x[1] < 1e-6) == (kind in ("b is 0", "both are 0"))
    ours = np.array([fitted.a_, fitted.b_, fitted.c_])
    assert binary_nll(features @ ours, labels) <= best.fun + 1e-9
    np.testing.assert_allclose(ours, best.x, atol=2e-3)


def test_a_beta_fit_whose_free_slopes_are_infinite_ends_on_their_bound():
    """Both slopes together separate the classes, if one may be negative; a threshold does not."""
    z, labels = np.array([-6.0, -1.0, 0.5, 1.0, 4.0]), np.array([1, 0, 0, 1, 1])
    fitted = BetaCalibration().fit(z, labels)

    def loss(coefficients):
        a, b, c = coefficients
        odds = a * -np.logaddexp(0, -z) + b * np.logaddexp(0, z) + c
        return (np.logaddexp(0, odds) - labels * odds).mean()

    best = minimize(loss, [0.5, 0.5, 0], bounds=[(0, None), (0, None), (None, None)], tol=1e-14)
    assert min(fitted.a_, fitted.b_) == 0
    assert loss([fitted.a_, fitted.b_, fitted.c_]) <= best.fun + 1e-9


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_a_fit_that_does_not_reach_its_optimum_is_refused(make, monkeypatch):
    monkeypatch.setattr("calib_utils.metrics.logistic_fit._MAX_STEPS", 1)
    with pytest.raises(ValueError, match="did not reach its optimum in 1 steps"):
        make().fit(*binary(500))


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_of_a_rare_class_begins_near_its_optimum(make, weighted, monkeypatch):
    """Every n-th of these samples would hold one of the class, or none: a guess from nothing."""
    rng = np.random.default_rng(1)
    z = rng.normal(-8, 2.5, 50_000)
    labels = (rng.random(50_000) < expit(0.6 * z - 4)).astype(int)
    assert 10 < labels.sum() < 50
    weights = rng.uniform(0.5, 2, 50_000) if weighted else None
    fitted = make().fit(z, labels, sample_weight=weights)
    monkeypatch.setattr("calib_utils.metrics.logistic_fit._MAX_STEPS", 5)
    again = make().fit(z, labels, sample_weight=weights)
    np.testing.assert_array_equal(again.predict_proba(z), fitted.predict_proba(z))


def test_logits_and_scores_are_the_same_to_beta_and_platt():
    z, labels = binary(500)
    for make in (PlattScaling, BetaCalibration):
        of_scores = make(inputs="probs").fit(expit(z), labels).predict_proba(expit(z))
        np.testing.assert_allclose(make().fit(z, labels).predict_proba(z), of_scores, rtol=1e-6)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_separable_samples_get_smooth_targets(make):
    z = np.array([-3.0, -2, -1, 1, 2, 3])
    labels = (z > 0).astype(int)
    with pytest.warns(UserWarning, match="separates"):
        fitted = make().fit(z, labels)
    probs = fitted.predict_proba(z)
    assert (np.diff(probs) > 0).all()
    assert probs.min() > 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        smooth = PlattScaling(smooth_targets=True).fit(z, labels)
    if make is PlattScaling:
        assert fitted.slope_ == smooth.slope_


def test_constant_logits_give_the_base_rate():
    z, labels = np.full(10, 2.0), np.array([1] * 3 + [0] * 7)
    for name in ("platt", "beta", "isotonic", "equal width"):
        np.testing.assert_allclose(BINARY[name]().fit(z, labels).predict_proba(z), 0.3)


@pytest.mark.parametrize("outlier", [-1e6, -1e18])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_platt_and_beta_ignore_certain_negatives_far_away(name, outlier):
    """The NLL of such a sample is 0 wherever the slope is above 0."""
    z, labels = binary(2_000, slope=1.0)
    z[::40], labels[::40] = outlier, 0
    near = np.where(z == outlier, -2_000.0, z)
    expected = BINARY[name]().fit(near, labels)
    found = BINARY[name]().fit(z, labels)
    new = np.linspace(-9, 9, 99)
    np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(new), atol=1e-7)
    assert found.predict_proba(np.array([outlier]))[0] < 1e-300


@pytest.mark.parametrize("outlier", [-1e30, 1e300])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_platt_and_beta_refuse_outliers_beyond_what_they_can_see(name, outlier):
    z, labels = binary(200, slope=1.0)
    z[3] = outlier
    with pytest.raises(ValueError, match="logits: "):
        BINARY[name]().fit(z, labels)
    with pytest.raises(ValueError, match=r"^logits: expected differences of .* found inf"):
        BINARY[name]().fit(np.sign(z) * 1.7e308, labels)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration, IsotonicRegression])
@pytest.mark.parametrize("score", [0.123, 1e-300])
def test_equal_scores_tell_platt_beta_and_isotonic_nothing_of_others(make, score):
    """Where rounding tells two of them apart, a slope between these would be anything."""
    method = make(inputs="probs").fit(np.full(90, score), np.tile([0, 1, 1], 30))
    np.testing.assert_allclose(method.predict_proba([score, 0.01, 0.99]), 2 / 3)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_take_a_class_that_weighs_next_to_nothing(make):
    z, labels = binary(50, slope=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make().fit(z, labels, np.where(labels == 1, 1e150, 1e-150)).predict_proba(z)
    assert found.min() > 1 - 1e-12


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_weigh_scores_of_zero_and_one_the_same(make):
    """What turns the scores and the labels round turns the probabilities round."""
    rng = np.random.default_rng(0)
    scores = expit(2 * rng.standard_normal(500))
    labels = (rng.random(500) < scores).astype(int)
    scores[:5], labels[:5] = 0.0, [0, 0, 0, 0, 1]
    one = make(inputs="probs").fit(scores, labels)
    other = make(inputs="probs").fit(1 - scores, 1 - labels)
    new = np.array([0, 0.1, 0.5, 0.8, 1])
    np.testing.assert_allclose(one.predict_proba(new), 1 - other.predict_proba(1 - new), atol=1e-6)
    # Within a calibrated set, five samples do not move a map far from the identity.
    np.testing.assert_allclose(one.predict_proba(new[1:4]), new[1:4], atol=0.15)


def test_platt_scaling_of_scores_at_the_ends_against_a_plain_search():
    scores, labels = np.array([0.0, 0, 0.3, 0.4, 0.7, 1, 1]), np.array([0, 1, 0, 1, 1, 1, 0])
    least = 1e-3  # which an exact end counts as, among so few
    z = np.clip(scores, least, 1 - least)
    z = np.log(z / (1 - z))
    with pytest.warns(UserWarning, match="57 % of the probabilities are exactly 0 or 1"):
        fitted = PlattScaling(inputs="probs").fit(scores, labels)

    def nll(slope, intercept=fitted.intercept_):
        return np.mean(np.logaddexp(0, slope * z + intercept) - labels * (slope * z + intercept))

    assert nll(fitted.slope_) <= minimize_scalar(nll).fun + 1e-12


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_platt_and_beta_keep_the_log_odds_of_small_float32_scores(make):
    z, labels = binary(slope=0.1, intercept=-1.0)
    z = 6 * z - 40  # no score is near 1, where float32 has no digits
    of_logits = make().fit(z, labels).predict_proba(z)
    scores = expit(z).astype(np.float32)
    assert (scores[scores > 0] < 6e-8).mean() > 0.5
    of_scores = make(inputs="probs").fit(scores, labels).predict_proba(scores)
    held = scores > 1e-37
    np.testing.assert_allclose(of_scores[held], of_logits[held], atol=1e-3)
