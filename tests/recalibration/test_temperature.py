"""The temperature and its ensemble, against SciPy, gradients and known mixtures."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax

from calib_utils.recalibration import EnsembleTemperatureScaling, TemperatureScaling
from tests.recalibration.recalibration_cases import binary, fitted, multiclass, nll, sure

FLOAT32 = np.finfo(np.float32)


def relative_gradient(logits, labels, temperature):
    """The NLL's derivative in 1/T, by its formula, over its part that depends on the labels."""
    z = logits.astype(np.float64)
    gaps = z.max(axis=1, keepdims=True) - z
    expected = (softmax(-gaps / temperature, axis=1) * gaps).sum(axis=1).mean()
    of_labels = gaps[np.arange(len(z)), labels].mean()
    return (of_labels - expected) / of_labels


@pytest.mark.parametrize("temperature", [0.05, 2.0, 50.0])
def test_gradient_is_zero_and_known_temperature_recovered(temperature):
    logits, labels = multiclass(20_000, 10, temperature)
    fitted = TemperatureScaling().fit(logits, labels)
    assert abs(relative_gradient(logits, labels, fitted.temperature_)) < 1e-8
    assert fitted.temperature_ == pytest.approx(temperature, rel=0.03)


def test_against_scipy_bounded_search():
    logits, labels = multiclass(2_000, 7)
    found = minimize_scalar(
        lambda t: nll(logits.astype(float) / t, labels),
        bounds=(0.1, 10),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert TemperatureScaling().fit(logits, labels).temperature_ == pytest.approx(found.x, rel=1e-6)


@pytest.mark.parametrize("power", [-126, -30, 120])
def test_logits_of_any_size(power):
    """A power of two changes no digit, so T must follow to the last one."""
    logits, labels = multiclass(3_000, 20, seed=3)
    one = TemperatureScaling().fit(logits, labels).temperature_
    scaled = np.ldexp(logits, power)
    assert np.isfinite(scaled).all()
    fitted = TemperatureScaling().fit(scaled, labels)
    assert fitted.temperature_ == pytest.approx(
        np.ldexp(one, power), rel=1e-8 if power < -120 else 1e-12
    )
    assert abs(relative_gradient(scaled, labels, fitted.temperature_)) < 1e-8
    np.testing.assert_allclose(
        fitted.predict_proba(scaled),
        softmax(logits.astype(float) / one, axis=1),
        rtol=1e-4,
        atol=1e-7,
    )


def test_largest_and_smallest_float32():
    logits = np.array([[1, -1, 0.5], [-1, 1, -0.5], [0.25, 1, -1], [1, 0.5, 0]], np.float32)
    labels = np.array([0, 2, 1, 1])
    for size in (FLOAT32.max, FLOAT32.tiny, FLOAT32.smallest_subnormal * 4):
        scaled = logits * size
        temperature = TemperatureScaling().fit(scaled, labels).temperature_
        assert abs(relative_gradient(scaled, labels, temperature)) < 1e-8


def test_offset_of_all_logits_changes_nothing():
    logits, labels = multiclass(2_000, 10, dtype=np.float64)
    logits = np.round(logits, 3)
    one = TemperatureScaling().fit(logits, labels).temperature_
    for offset in (1e4, -1e4, 1e4 * np.random.default_rng(0).standard_normal((2_000, 1))):
        moved = TemperatureScaling().fit(logits + offset, labels)
        assert moved.temperature_ == pytest.approx(one, rel=1e-8)


def test_masked_classes_and_mixed_scales():
    logits, labels = multiclass(3_000, 10)
    masked = logits.copy()
    masked[:, 7:] = -1e4
    kept = labels < 7
    whole = TemperatureScaling().fit(logits[kept][:, :7], labels[kept]).temperature_
    with pytest.warns(UserWarning, match="no sample"):
        fitted = TemperatureScaling().fit(masked[kept], labels[kept])
    assert fitted.temperature_ == pytest.approx(whole, rel=1e-6)
    mixed = logits.astype(np.float64)
    mixed[::2] *= 1e10
    temperature = TemperatureScaling().fit(mixed, labels).temperature_
    assert abs(relative_gradient(mixed, labels, temperature)) < 1e-8


def test_a_single_mistake():
    """The optimum is finite as soon as one label is not the largest logit."""
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((3_000, 10))
    labels = logits.argmax(axis=1)
    labels[17] = np.argsort(logits[17])[-2]
    temperature = TemperatureScaling().fit(logits, labels).temperature_
    assert abs(relative_gradient(logits, labels, temperature)) < 1e-8


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    k=st.integers(2, 8),
    scale=st.floats(-40, 37),
    noise=st.floats(0, 1),
    decimals=st.sampled_from([0, 1, 8]),
)
def test_optimum_or_bound_whatever_the_data(seed, n, k, scale, noise, decimals):
    rng = np.random.default_rng(seed)
    logits = np.round(rng.standard_normal((n, k)), decimals)
    labels = np.where(rng.random(n) < noise, rng.integers(k, size=n), logits.argmax(axis=1))
    logits = (logits * 10.0**scale).astype(np.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = TemperatureScaling().fit(logits, labels)
    temperature = fitted.temperature_
    assert 0 < temperature < np.inf
    gaps = (logits.max(axis=1, keepdims=True) - logits.astype(np.float64)).mean()
    if not any("temperature:" in str(warning.message) for warning in caught):
        assert abs(relative_gradient(logits, labels, temperature)) < 1e-6
    else:  # no step of a factor 2 lowers the NLL by more than rounding
        here = nll(logits.astype(np.float64) / temperature, labels)
        for factor in (0.5, 2.0) if gaps else ():
            assert here <= nll(logits.astype(np.float64) / (temperature * factor), labels) + 2e-6
    assert (fitted.predict_proba(logits).argmax(axis=1) == logits.argmax(axis=1)).all()


def test_separable_labels_go_to_the_lower_bound():
    logits, _ = multiclass(500, 5)
    with pytest.warns(UserWarning, match="every label has the largest logit"):
        fitted = TemperatureScaling().fit(logits, logits.argmax(axis=1))
    gaps = (logits.max(axis=1, keepdims=True) - logits).mean(axis=1)
    assert fitted.temperature_ == pytest.approx(1e-9 * gaps.min())
    assert (fitted.predict_proba(logits).max(axis=1) == 1).all()


@pytest.mark.parametrize("labels", ["inverted", "random"])
def test_uninformative_logits_go_to_the_upper_bound(labels):
    rng = np.random.default_rng(1)
    logits, _ = multiclass(500, 5)
    given = logits.argmin(axis=1)
    if labels == "random":  # made so that the labels' logits are below the mean
        given = np.where(rng.random(500) < 0.3, given, rng.integers(5, size=500))
    with pytest.warns(UserWarning, match="as T grows"):
        fitted = TemperatureScaling().fit(logits, given)
    gaps = (logits.max(axis=1, keepdims=True) - logits).mean(axis=1)
    assert fitted.temperature_ == pytest.approx(1e6 * gaps.max())
    probs = fitted.predict_proba(logits)
    np.testing.assert_allclose(probs, 0.2, rtol=1e-4)
    assert (probs.argmax(axis=1) == logits.argmax(axis=1)).all()


@pytest.mark.parametrize("label", [0, 1, 2])
def test_one_sample(label):
    logits = np.array([[3.0, 2.0, -4.0]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        temperature = TemperatureScaling().fit(logits, [label]).temperature_
    problems = [str(w.message) for w in caught if "temperature:" in str(w.message)]
    assert len(problems) == (label != 1)
    if label == 1:
        assert abs(relative_gradient(logits, [1], temperature)) < 1e-8


def test_binary_log_odds():
    z, labels = binary(5_000, slope=0.5, intercept=0.0)
    fitted = TemperatureScaling().fit(z, labels)
    found = minimize_scalar(
        lambda t: nll(np.stack([0 * z, z / t], axis=1), labels), bounds=(0.1, 10), method="bounded"
    )
    assert fitted.temperature_ == pytest.approx(found.x, rel=1e-4)
    np.testing.assert_allclose(fitted.predict_proba(z), expit(z / fitted.temperature_), rtol=1e-12)
    assert ((fitted.predict_proba(z.astype(np.float32)) > 0.5) == (z > 0)).all()
    assert fitted.predict([-1e-9, 0.0, 1e-9]).tolist() == [0, 0, 1]


def test_constant_logits_keep_temperature_one():
    with pytest.warns(UserWarning, match="equal"):
        fitted = TemperatureScaling().fit(np.full((4, 3), 7.0), [0, 1, 2, 0])
    assert fitted.temperature_ == 1


def test_fixed_temperature_needs_no_fit():
    logits, labels = multiclass(50, 4)
    fixed = TemperatureScaling(temperature=1.5)
    np.testing.assert_allclose(
        fixed.predict_proba(logits), softmax(logits / 1.5, axis=1), rtol=1e-5
    )
    assert fixed.predict_proba(logits[:, :3]).shape == (50, 3)
    assert fixed.fit(logits, labels).temperature_ == 1.5


@pytest.mark.parametrize("temperature", [1e-3, 3.0, 1e12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_never_changes_a_predicted_class(temperature, dtype):
    """Not even by rounding: logits a few units in the last place apart stay apart."""
    rng = np.random.default_rng(0)
    logits = rng.integers(0, 3, (2_000, 6)).astype(dtype)
    logits += rng.integers(0, 4, logits.shape) * np.finfo(dtype).eps
    probs = TemperatureScaling(temperature=temperature).predict_proba(logits)
    assert probs.dtype == dtype
    assert (probs.argmax(axis=1) == logits.argmax(axis=1)).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-6)
    z = logits[:, 1] - logits[:, 0]
    of_two = TemperatureScaling(temperature=temperature).fit(z, np.arange(len(z)) % 2)
    assert ((of_two.predict_proba(z) > 0.5) == (z > 0)).all()


def test_ensemble_weights_are_optimal():
    """At the best weights the members' mean share of the mixture is 1, or less at weight 0."""
    rng = np.random.default_rng(0)
    logits, labels = multiclass(4_000, 10)
    labels = np.where(rng.random(4_000) < 0.1, rng.integers(10, size=4_000), labels)
    fitted = EnsembleTemperatureScaling().fit(logits, labels)
    assert fitted.temperature_ == TemperatureScaling().fit(logits, labels).temperature_
    assert fitted.weights_.min() >= 0
    assert fitted.weights_.sum() == pytest.approx(1)
    z = logits.astype(np.float64)
    members = [softmax(z / fitted.temperature_, axis=1), softmax(z, axis=1), np.full(z.shape, 0.1)]
    given = np.stack([member[np.arange(4_000), labels] for member in members], axis=1)
    share = (given / (given @ fitted.weights_)[:, None]).mean(axis=0)
    assert (share <= 1 + 2e-9).all()
    assert share[fitted.weights_ > 0] == pytest.approx(1, abs=1e-7)
    mixed = sum(w * member for w, member in zip(fitted.weights_, members, strict=True))
    np.testing.assert_allclose(fitted.predict_proba(logits), mixed, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:temperature. every label")
@pytest.mark.parametrize(("n", "k", "scale"), [(20, 2, 1), (300, 5, 30), (2_000, 50, 300)])
def test_ensemble_weights_are_optimal_for_logits_of_any_size(n, k, scale):
    """No member's mean share of the mixture is above 1, also where some give a label 1e-300."""
    rng = np.random.default_rng(1)
    z = scale * rng.standard_normal((n, k))
    labels = np.where(rng.random(n) < 0.9, z.argmax(axis=1), rng.integers(k, size=n))
    weight = rng.random(n) ** 3
    fitted = EnsembleTemperatureScaling().fit(z, labels, weight)
    members = [
        softmax(z / fitted.temperature_, axis=1),
        softmax(z, axis=1),
        np.full(z.shape, 1 / k),
    ]
    given = np.stack([member[np.arange(n), labels] for member in members], axis=1)
    share = np.average(given / (given @ fitted.weights_)[:, None], axis=0, weights=weight)
    assert share.max() <= 1 + 2e-9


@pytest.mark.filterwarnings("ignore:temperature: ")
def test_ensemble_weights_are_optimal_where_members_are_the_same():
    """With T of about 1, with logits of 0, and with labels that are wrong each time."""
    logits, labels = multiclass(3_000, 4, temperature=1.0)
    weights = EnsembleTemperatureScaling().fit(logits, labels).weights_
    assert weights[:2].sum() == pytest.approx(1, abs=0.05)
    for z in (0 * logits, -logits, -100 * logits):
        probs = EnsembleTemperatureScaling().fit(z, labels).predict_proba(z)
        assert probs == pytest.approx(0.25, abs=1e-6)


def test_a_fit_of_the_ensemble_that_is_not_at_its_optimum_says_so(monkeypatch):
    monkeypatch.setattr("calib_utils.recalibration.temperature._STEPS", 1)
    with pytest.warns(UserWarning, match="weights: the fit ended up to .* above its lowest NLL"):
        EnsembleTemperatureScaling().fit(*multiclass(2_000, 10))


def test_temperature_that_is_fixed_can_be_changed():
    fixed = TemperatureScaling(2.0)
    fixed.temperature = 4.0
    assert fixed.predict_proba([[0.0, 4.0]])[0, 1] == pytest.approx(1 / (1 + math.exp(-1)))
    fixed.temperature = -4.0
    with pytest.raises(ValueError, match="temperature: expected a finite number above 0"):
        fixed.predict_proba([[0.0, 4.0]])


def test_temperature_that_is_fixed_takes_no_row_for_log_odds():
    fixed = TemperatureScaling(2.0)
    for use in (fixed.predict_proba, fixed.predict_log_proba, fixed.predict):
        with pytest.raises(ValueError, match=r"expected shape \(N, K\), found \(3,\), .*call fit"):
            use([1.0, 2.0, 3.0])
    assert fixed.predict_proba([[1.0, 2.0, 3.0]]).shape == (1, 3)
    fixed.fit([-1.0, 1.0], [0, 1])
    assert fixed.predict_proba([2.0])[0] == pytest.approx(1 / (1 + math.exp(-1)))
    with pytest.raises(ValueError, match="may be one row"):
        fixed.fit([[-1.0, 1.0], [1.0, 0.0]], [1, 0]).predict_proba([0.0, 1.0])


def test_ensemble_leaves_masked_classes_out_of_its_uniform_part():
    fitted = EnsembleTemperatureScaling().fit(*multiclass(400, 4))
    fitted.temperature_, fitted.weights_ = 1.0, np.array([0.4, 0.0, 0.6])
    probs = fitted.predict_proba([[0.0, 0.0, -np.inf, -np.inf], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(probs, [[0.5, 0.5, 0, 0], [0.25] * 4])


def test_temperature_of_float32_that_cannot_hold_its_sums():
    z, labels = multiclass(400, 3, dtype=np.float64)
    z *= 3e38 / np.abs(z).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = TemperatureScaling().fit(z.astype(np.float32), labels).temperature_
    assert found == pytest.approx(TemperatureScaling().fit(z / 1e30, labels).temperature_ * 1e30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_temperature_of_a_softmax_is_that_of_its_logits(dtype):
    logits, labels = sure()
    probs = softmax(logits, axis=1).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted(probs, labels, inputs="probs")
    assert found == pytest.approx(fitted(logits, labels), rel=1e-4)
