"""The binary recalibrators against their formulas, scikit-learn, and known maps."""

import warnings
from decimal import Decimal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression as Isotonic

from calib_utils.metrics import reliability_bins
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    BetaCalibration,
    HistogramBinning,
    IsotonicRegression,
    PlattScaling,
    VennAbers,
)
from tests.recalibration.recalibration_cases import BINARY, bbq_by_formula, binary


def binary_nll(z, targets):
    return float(np.mean(np.logaddexp(0, z) - targets * z))


# ---------------------------------------------------------------- histogram binning


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


# ---------------------------------------------------------------- isotonic regression


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


# ---------------------------------------------------------------- logistic methods


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
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


def test_platt_recovers_a_known_map():
    z, labels = binary(100_000, slope=0.5, intercept=0.3)
    fitted = PlattScaling().fit(z, labels)
    assert fitted.slope_ == pytest.approx(0.5, abs=0.02)
    assert fitted.intercept_ == pytest.approx(0.3, abs=0.03)


def test_beta_recovers_a_known_map():
    rng = np.random.default_rng(0)
    scores = rng.random(200_000)
    probs = expit(0.6 * np.log(scores) - 1.4 * np.log1p(-scores) + 0.2)
    labels = (rng.random(200_000) < probs).astype(int)
    fitted = BetaCalibration(inputs="probs").fit(scores, labels)
    assert [fitted.a_, fitted.b_, fitted.c_] == pytest.approx([0.6, 1.4, 0.2], abs=0.06)


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
def test_scores_of_exactly_zero_and_one(make):
    scores = np.array([0, 0.2, 0.4, 0.6, 1, 1, 0.5, 0.0], np.float32)
    labels = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    probs = make(inputs="probs").fit(scores, labels).predict_proba(scores)
    assert np.isfinite(probs).all()
    assert ((probs > 0) & (probs < 1)).all()


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


# ---------------------------------------------------------------- BBQ


@pytest.mark.parametrize("ties", [False, True])
def test_bbq_against_the_formula(ties):
    z, labels = binary(400, slope=1.0, intercept=0.5)
    scores = expit(z)
    if ties:
        scores = np.round(scores, 2).clip(0.01, 0.99)
    new = np.linspace(0.003, 0.997, 301)
    expected, weights = bbq_by_formula(scores, labels, new)
    fitted = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels)
    np.testing.assert_allclose(fitted.weights_, weights, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(new), expected, rtol=1e-9)


def test_bbq_prior_keeps_away_from_zero_and_one():
    scores = np.array([0.0, 0, 0.1, 0.2, 0.8, 0.9, 1, 1, 1, 1])
    probs = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, (scores > 0.5) * 1)
    assert ((probs.predict_proba(scores) > 0) & (probs.predict_proba(scores) < 1)).all()


def test_bbq_scores_on_a_threshold_belong_to_the_step_below():
    scores, labels = np.arange(1, 31) / 64, np.repeat([0, 1, 0], 10)
    fitted = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels)
    assert len(fitted.thresholds_) > 3
    on, below = fitted.predict_proba(fitted.thresholds_), fitted.probabilities_[:-1]
    np.testing.assert_array_equal(on, below)


def test_bbq_comes_near_a_known_map():
    z, labels = binary(50_000, slope=0.5, intercept=0.3)
    probs = BayesianBinningIntoQuantiles().fit(z, labels).predict_proba(z)
    assert np.abs(probs - expit(0.5 * z + 0.3)).mean() < 0.02


# ---------------------------------------------------------------- properties


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 80), decimals=st.integers(0, 6))
@pytest.mark.parametrize("name", ["isotonic", "beta", "platt", "platt, smooth"])
def test_monotone_methods_keep_order(name, seed, n, decimals):
    rng = np.random.default_rng(seed)
    z = np.round(4 * rng.standard_normal(n), decimals)
    labels = (rng.random(n) < expit(z)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = BINARY[name]().fit(z, labels)
    if "platt" in name and fitted.slope_ < 0:
        return  # chance turned the samples round, and Platt scaling says so by its sign
    probs = fitted.predict_proba(np.sort(np.concatenate([z, 9 * rng.standard_normal(50)])))
    assert (np.diff(probs) >= -1e-15).all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    scores=st.booleans(),
    decimals=st.integers(0, 5),
    single=st.booleans(),
)
@pytest.mark.parametrize("name", BINARY)
def test_probabilities_for_any_data(name, seed, n, scores, decimals, single):
    rng = np.random.default_rng(seed)
    values = np.round(5 * rng.standard_normal(n), decimals)
    if scores:
        values = np.round(expit(values), decimals)
    labels = np.zeros(n, int) if single else rng.integers(2, size=n)
    make = BINARY[name](inputs="probs" if scores else "logits")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        probs = make.fit(values, labels).predict_proba(values)
    assert ((probs >= 0) & (probs <= 1)).all()


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


# ---------------------------------------------------------------- Venn-Abers


def joined(z, labels, weights, x, label):
    """Isotonic regression of all samples and one more, at that one."""
    fit = Isotonic().fit(np.append(z, x), np.append(labels, label), np.append(weights, 1))
    return fit.predict([x])[0]


@pytest.mark.parametrize("seed", range(12))
def test_venn_abers_joins_each_sample_with_both_labels(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 50))
    z = rng.normal(size=n).round(seed % 3)  # with ties
    labels = np.append(rng.random(n - 2) < 1 / (1 + np.exp(-z[2:])), [0, 1]).astype(int)
    weights = rng.integers(1, 4, n) if seed % 2 else np.ones(n)
    fitted = VennAbers().fit(z, labels, weights)
    new = np.concatenate([z, rng.normal(size=5), [-99.0, 99.0]])
    expected = [[joined(z, labels, weights, x, label) for label in (0, 1)] for x in new]
    np.testing.assert_allclose(fitted.predict_interval(new), expected, atol=1e-12)
    p0, p1 = np.transpose(expected)
    np.testing.assert_allclose(fitted.predict_proba(new), p1 / (1 - p0 + p1), atol=1e-12)


def test_venn_abers_by_hand():
    """A new sample at .2: with labels 0, 0 and 1, 0 the four to its right or left are pooled."""
    fitted = VennAbers(inputs="probs").fit([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])
    assert fitted.predict_interval([0.2])[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert fitted.predict_interval([0.05])[0].tolist() == pytest.approx([0, 1 / 2])
    assert fitted.predict_interval([0.95])[0].tolist() == pytest.approx([1 / 2, 1])


def test_venn_abers_keeps_kinds_and_the_interval_holds_the_probability():
    z, labels = binary(500)
    fitted = VennAbers().fit(z, labels)
    ends = fitted.predict_interval(torch.tensor(z, dtype=torch.float32))
    assert isinstance(ends, torch.Tensor)
    assert ends.dtype == torch.float32
    p = fitted.predict_proba(z)
    low, high = fitted.predict_interval(z).T
    assert ((low <= p) & (p <= high)).all()
    assert ((p > 0) & (p < 1)).all()
