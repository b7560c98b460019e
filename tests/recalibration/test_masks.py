"""Masked classes and outliers: every method is right, or refuses."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

from calib_utils.recalibration import (
    BetaCalibration,
    EnsembleTemperatureScaling,
    IsotonicRegression,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
)
from tests.recalibration.recalibration_cases import (
    ALL_MULTICLASS,
    BINARY,
    MULTICLASS,
    binary,
    multiclass,
)

MASKS = [-1e4, -1e9, float(np.finfo(np.float32).min), -np.inf]
every_mask = pytest.mark.parametrize("mask", MASKS)
every_method = pytest.mark.parametrize("make", ALL_MULTICLASS.values(), ids=ALL_MULTICLASS)


def masked(logits, labels, mask, seed=3):
    """Half of the rows lose up to a third of the classes, never that of the label."""
    rng = np.random.default_rng(seed)
    hidden = rng.random(logits.shape) < 0.3
    hidden[np.arange(len(labels)), labels] = False
    hidden[rng.random(len(labels)) < 0.5] = False
    return np.where(hidden, mask, logits.astype(np.float64)), hidden


def loss(probs, labels):
    return -np.log(np.maximum(probs[np.arange(len(labels)), labels], 1e-6)).mean()


# ---------------------------------------------------------------- masks in prediction


@every_mask
@every_method
def test_a_masked_class_gets_nothing_and_the_others_nearly_what_they_had(make, mask):
    fitted = make().fit(*multiclass(600, 6))
    logits, labels = multiclass(600, 6, seed=5, dtype=np.float64)
    new, hidden = masked(logits, labels, mask)
    probs = fitted.predict_proba(new)
    assert (probs[hidden] == 0).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    # Without masks, and then without the masked classes: what the probabilities should be near.
    expected = np.where(hidden, 0, fitted.predict_proba(logits))
    expected /= np.maximum(expected.sum(axis=1, keepdims=True), 1e-12)
    assert loss(probs, labels) < loss(expected, labels) + 0.01
    untouched = ~hidden.any(axis=1)
    np.testing.assert_allclose(probs[untouched], expected[untouched], atol=1e-12)


@pytest.mark.parametrize("make", MULTICLASS.values(), ids=MULTICLASS)
def test_all_masks_are_one_mask(make):
    fitted = make().fit(*multiclass(400, 6))
    logits, labels = multiclass(100, 6, seed=5)
    found = [fitted.predict_proba(masked(logits, labels, mask)[0]) for mask in MASKS]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-12)


def test_a_row_of_one_possible_class_is_certain():
    for make in ALL_MULTICLASS.values():
        fitted = make().fit(*multiclass(400, 3))
        probs = fitted.predict_proba([[0.0, -np.inf, -np.inf]])
        np.testing.assert_allclose(probs, [[1, 0, 0]], rtol=1e-15)


# ---------------------------------------------------------------- masks in the fit


@every_mask
@every_method
def test_a_fit_on_masked_logits_is_as_good_as_one_without(make, mask):
    logits, labels = multiclass(1_500, 6)
    new_logits, new_labels = multiclass(1_500, 6, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = make().fit(masked(logits, labels, mask)[0], labels)
    plain = make().fit(logits, labels)
    found = loss(fitted.predict_proba(new_logits), new_labels)
    assert found < loss(plain.predict_proba(new_logits), new_labels) + 0.02


@pytest.mark.parametrize("mask", [-1e4, -1e9, -np.inf])
@pytest.mark.parametrize("name", ["temperature", "vector", "matrix", "dirichlet", "ensemble"])
def test_classes_masked_everywhere_are_as_if_they_were_not_there(name, mask):
    logits, labels = multiclass(2_000, 4, dtype=np.float64)
    wide = np.concatenate([logits, np.full((2_000, 3), mask)], axis=1)
    expected = ALL_MULTICLASS[name]().fit(logits, labels).predict_proba(logits)
    with pytest.warns(UserWarning, match="3 of 7 classes have no sample"):
        fitted = ALL_MULTICLASS[name]().fit(wide, labels)
    found = fitted.predict_proba(wide)
    # The penalties of Dirichlet calibration depend on the number of classes.
    atol = 0.02 if name == "dirichlet" else 1e-4
    np.testing.assert_allclose(found[:, :4], expected, atol=atol)
    assert (found[:, 4:] == 0).all()


@every_method
def test_a_label_that_is_masked_is_refused(make):
    logits, labels = multiclass(100, 4)
    logits[7, labels[7]] = -np.inf
    with pytest.raises(ValueError, match=r"labels: sample 7 has class \d, which is masked"):
        make().fit(logits, labels)


@pytest.mark.parametrize("row", [[-np.inf] * 4, [0, np.nan, 0, 0], [0, np.inf, 0, 0]])
@every_method
def test_rows_without_a_possible_class_are_refused(make, row):
    logits, labels = multiclass(100, 4)
    logits[7] = row
    with pytest.raises(ValueError, match=r"logits: expected finite values.* in row 7"):
        make().fit(logits, labels)


def test_masks_do_not_change_the_user_s_array():
    logits, labels = multiclass(100, 4)
    logits[:, 3] = np.where(labels == 3, logits[:, 3], -1e9)
    before = logits.copy()
    ALL_MULTICLASS["vector"]().fit(logits, labels).predict_proba(logits)
    np.testing.assert_array_equal(logits, before)


def test_the_uniform_part_of_the_ensemble_leaves_masked_classes_out():
    fitted = EnsembleTemperatureScaling().fit(*multiclass(400, 4))
    fitted.temperature_, fitted.weights_ = 1.0, np.array([0.4, 0.0, 0.6])
    probs = fitted.predict_proba([[0.0, 0.0, -np.inf, -np.inf], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(probs, [[0.5, 0.5, 0, 0], [0.25] * 4])


# ---------------------------------------------------------------- outliers of binary logits


@pytest.mark.parametrize("outlier", [-1e6, -1e9, -1e18])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_certain_negatives_far_away_change_no_fit(name, outlier):
    """The NLL of such a sample is 0 wherever the slope is above 0."""
    z, labels = binary(2_000, slope=1.0)
    z[::40], labels[::40] = outlier, 0
    near = np.where(z == outlier, -2_000.0, z)
    expected = BINARY[name]().fit(near, labels)
    found = BINARY[name]().fit(z, labels)
    new = np.linspace(-9, 9, 99)
    np.testing.assert_allclose(found.predict_proba(new), expected.predict_proba(new), atol=1e-7)
    assert found.predict_proba(np.array([outlier]))[0] < 1e-300


@pytest.mark.parametrize("outlier", [-1e30, -1e100, 1e300])
@pytest.mark.parametrize("name", ["platt", "beta"])
def test_outliers_beyond_what_a_fit_can_see_are_refused(name, outlier):
    z, labels = binary(200, slope=1.0)
    z[3] = outlier
    with pytest.raises(ValueError, match="logits: "):
        BINARY[name]().fit(z, labels)
    with pytest.raises(ValueError, match=r"^logits: expected differences of .* found inf"):
        BINARY[name]().fit(np.sign(z) * 1.7e308, labels)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration, IsotonicRegression])
@pytest.mark.parametrize("score", [0.123, 1e-5, 1e-300, 0.5])
def test_equal_scores_tell_nothing_of_others(make, score):
    """Where rounding tells two of them apart, a slope between these would be anything."""
    method = make(inputs="probs").fit(np.full(90, score), np.tile([0, 1, 1], 30))
    np.testing.assert_allclose(method.predict_proba([score, 0.01, 0.99]), 2 / 3)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_a_class_may_weigh_next_to_nothing(make):
    z, labels = binary(50, slope=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = make().fit(z, labels, np.where(labels == 1, 1e150, 1e-150)).predict_proba(z)
    assert found.min() > 1 - 1e-12


def test_float32_holds_the_sums_of_no_large_logits():
    z, labels = multiclass(400, 3, dtype=np.float64)
    z *= 3e38 / np.abs(z).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TemperatureScaling().fit(z.astype(np.float32), labels).temperature_
    assert found == pytest.approx(TemperatureScaling().fit(z / 1e30, labels).temperature_ * 1e30)


@pytest.mark.parametrize("size", [1e18, 1e300, 1.7e308])
def test_isotonic_sees_only_the_order(size):
    z, labels = binary(500)
    expected = IsotonicRegression().fit(z, labels).predict_proba(z)
    z[z.argmin()], z[z.argmax()] = -size, size
    found = IsotonicRegression().fit(z, labels).predict_proba(z)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_a_score_of_zero_and_one_of_one_weigh_the_same(make):
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


# ---------------------------------------------------------------- logits of any size


@settings(max_examples=20, deadline=None)
@given(power=st.integers(-1_070, 1_020), seed=st.integers(0, 99))
@pytest.mark.parametrize(
    "make",
    [TemperatureScaling, *BINARY.values(), *ALL_MULTICLASS.values()],
    ids=["temperature of two", *BINARY, *ALL_MULTICLASS],
)
def test_logits_of_any_size_give_probabilities_or_a_value_error(make, power, seed, request):
    name = request.node.callspec.id
    if name in ALL_MULTICLASS:
        logits, labels = multiclass(60, 3, seed=seed, dtype=np.float64)
        labels = np.arange(60) % 3
    else:
        logits, labels = binary(60, seed=seed)
    logits = np.ldexp(logits, power)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        try:
            probs = make().fit(logits, labels).predict_proba(logits)
        except ValueError as error:
            message = str(error)
        else:
            message = ""
            assert np.isfinite(probs).all()
            assert (probs.sum(axis=1) if probs.ndim == 2 else 1) == pytest.approx(1)
    assert message == "" or message.startswith(("logits: expected", "labels: sample"))


def test_one_versus_rest_leaves_masked_rows_out_of_a_class_s_fit():
    logits, labels = multiclass(600, 4, dtype=np.float64)
    new, hidden = masked(logits, labels, -np.inf)
    fitted = OneVersusRest(PlattScaling(inputs="probs")).fit(new, labels)
    powers = np.exp(new)
    scores = powers / powers.sum(axis=1, keepdims=True)
    for k, calibrator in enumerate(fitted.calibrators_):
        seen = ~hidden[:, k]
        alone = PlattScaling(inputs="probs").fit(scores[seen, k], (labels[seen] == k).astype(int))
        assert calibrator.slope_ == pytest.approx(alone.slope_, rel=1e-9)
