"""What fits make of exact zeros and ones, of rounding, and of one thing taken for another."""

import warnings

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from calib_utils.metrics import accuracy, negative_log_likelihood
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BetaCalibration,
    CalibratedClassifier,
    CalibratedModule,
    HistogramBinning,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    load,
)
from calib_utils.records import load_record
from tests.recalibration.recalibration_cases import ALL_MULTICLASS, binary, multiclass


def sure(seed=0):
    """Logits of a network that is so sure of itself that its softmax falls far below 6e-8."""
    logits, labels = multiclass(4_000, 10, temperature=8.0, seed=seed, dtype=np.float64)
    assert (softmax(logits, axis=1) < 6e-8).mean() > 0.3
    return logits, labels


def fitted(scores, *labels, **arguments):
    return TemperatureScaling(**arguments).fit(scores, *labels).temperature_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_softmax_gives_the_temperature_of_its_logits(dtype):
    logits, labels = sure()
    probs = softmax(logits, axis=1).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted(probs, labels, inputs="probs")
    assert found == pytest.approx(fitted(logits, labels), rel=1e-4)


@pytest.mark.parametrize("make", [PlattScaling, BetaCalibration])
def test_small_float32_scores_keep_their_log_odds(make):
    z, labels = binary(slope=0.1, intercept=-1.0)
    z = 6 * z - 40  # no score is near 1, where float32 has no digits
    of_logits = make().fit(z, labels).predict_proba(z)
    scores = expit(z).astype(np.float32)
    assert (scores[scores > 0] < 6e-8).mean() > 0.5
    of_scores = make(inputs="probs").fit(scores, labels).predict_proba(scores)
    held = scores > 1e-37
    np.testing.assert_allclose(of_scores[held], of_logits[held], atol=1e-3)


class Softmax(ClassifierMixin, BaseEstimator):
    """Its features are logits, and its answers their softmax in float32."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return softmax(X, axis=1).astype(np.float32)

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]


def test_a_classifier_of_float32_probabilities():
    logits, labels = sure()
    model = CalibratedClassifier(Softmax()).fit(logits, labels)
    assert model.recalibrator_.temperature_ == pytest.approx(fitted(logits, labels), rel=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_likelihood_has_a_floor_at_exact_zeros_alone(dtype):
    small = np.finfo(dtype).smallest_subnormal
    probs = np.array([[1.0, 0.0], [1.0, small]], dtype)
    expected = -np.log(float(small))
    assert negative_log_likelihood(probs, [1, 1]) == pytest.approx(expected, rel=1e-6)
    assert negative_log_likelihood(probs[:, 1], [1, 1]) == pytest.approx(expected, rel=1e-6)
    assert negative_log_likelihood(probs[:, 0], [0, 0]) < 40  # next to 1 there are fewer numbers


def mean_below(step, probs):
    """The mean of values that go on below half a step as densely, by logarithm, as in the step."""
    in_step = np.count_nonzero((probs > step / 2) & (probs < 1.5 * step))
    depth = np.count_nonzero(probs == 0) / (in_step / np.log(3))
    return np.exp(np.linspace(np.log(step / 2) - depth, np.log(step / 2), 200_001)).mean()


@pytest.mark.parametrize(("digits", "within"), [(4, 0.015), (3, 0.05)])
@pytest.mark.parametrize("name", ["resnet34-cifar100", "lenet5-cifar100"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_probabilities_of_networks(name, digits, within, dtype):
    record = load_record(name, "validation")
    probs = softmax(record.logits.astype(float), axis=1).round(digits).astype(dtype)
    share = f"{100 * (probs == 0).mean():.2g} % of the probabilities are exactly 0"
    with pytest.warns(UserWarning, match=f"{share}.* give logits, or probabilities with more"):
        scaling = TemperatureScaling(inputs="probs").fit(
            as_predictions(probs, record.labels, rescale=True)
        )
    assert scaling.zero_ == pytest.approx(mean_below(10.0**-digits, probs), rel=0.05)
    assert scaling.temperature_ == pytest.approx(fitted(record.logits, record.labels), rel=within)


@pytest.fixture(scope="module")
def rounded():
    """Probabilities of the ResNet-34 in thousandths; one row that was not rounded; the labels."""
    record = load_record("resnet34-cifar100", "validation")
    whole = softmax(record.logits.astype(float), axis=1)
    probs = whole.round(3)
    return probs / probs.sum(axis=1, keepdims=True), whole[7], record.labels


def of_probs(probs, *labels_and_weights):
    with pytest.warns(UserWarning, match="are exactly 0"):
        return TemperatureScaling(inputs="probs").fit(probs, *labels_and_weights)


def test_an_odd_row_does_not_decide_what_a_zero_counts_as(rounded):
    probs, odd_row, labels = rounded
    odd = probs.copy()
    odd[7] = odd_row
    expected, found = of_probs(probs, labels), of_probs(odd, labels)
    assert found.zero_ == pytest.approx(expected.zero_, rel=0.01)
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-3)


def test_a_row_of_weight_zero_does_not_count_for_zeros(rounded):
    probs, odd_row, labels = rounded
    odd, weights = probs[:60].copy(), np.ones(60)  # of 60 one row is more than a few
    odd[7], weights[7] = odd_row, 0
    expected = of_probs(np.delete(odd, 7, axis=0), np.delete(labels[:60], 7))
    found = of_probs(odd, labels[:60], weights)
    assert (found.zero_, found.temperature_) == (expected.zero_, expected.temperature_)


def test_weights_are_repeated_rows_for_zeros(rounded):
    probs, _, labels = rounded
    times = np.random.default_rng(0).integers(0, 6, len(labels))
    repeated = np.repeat(np.arange(len(labels)), times)
    expected = of_probs(probs[repeated], labels[repeated])
    found = of_probs(probs, labels, times.astype(float))
    assert found.zero_ == pytest.approx(expected.zero_, rel=1e-9)
    assert found.temperature_ == pytest.approx(expected.temperature_, rel=1e-7)


def test_so_are_those_of_scores():
    z, labels = binary(4_000, slope=0.5)
    scores, times = expit(z).round(2), np.arange(4_000) % 3
    with pytest.warns(UserWarning, match="exactly 0 or 1") as said:
        found = PlattScaling(inputs="probs").fit(scores, labels, times.astype(float))
    scores, labels = np.repeat(scores, times), np.repeat(labels, times)
    with pytest.warns(UserWarning, match="exactly 0 or 1") as same:
        expected = PlattScaling(inputs="probs").fit(scores, labels)
    assert found.zero_ == pytest.approx(expected.zero_, rel=1e-9)
    assert found.slope_ == pytest.approx(expected.slope_, rel=1e-6)
    assert str(said[0].message) == str(same[0].message)


@pytest.mark.parametrize(("digits", "within"), [(4, 0.1), (3, 0.15)])
@pytest.mark.parametrize("seed", range(2))
def test_rounded_probabilities_of_features_with_long_tails(digits, within, seed):
    """Four in five are 0. A tenth of the step, which suits our networks, is too much here."""
    rng = np.random.default_rng(seed)
    calibrated = rng.standard_t(4, (2_000, 16)) @ rng.normal(0, 0.7, (16, 100))
    labels = (calibrated + rng.gumbel(size=calibrated.shape)).argmax(axis=1)
    probs = softmax(2 * calibrated, axis=1).round(digits)
    with pytest.warns(UserWarning, match="are exactly 0"):
        found = fitted(as_predictions(probs, labels, rescale=True), inputs="probs")
    tenth = fitted(np.log(np.maximum(probs, 10.0 ** -(digits + 1))), labels)
    expected = fitted(2 * calibrated, labels)
    assert found == pytest.approx(expected, rel=within)
    assert expected - found < 0.6 * (expected - tenth)


def test_rounded_scores_are_alike_at_both_ends():
    z, labels = binary(4_000, slope=0.5)
    scores = expit(z).round(3)
    assert (scores == 0).any()
    assert (scores == 1).any()
    with pytest.warns(UserWarning, match=r"exactly 0 or 1, and count as 0.0004 from there"):
        one = PlattScaling(inputs="probs").fit(scores, labels)
    with pytest.warns(UserWarning, match="exactly 0 or 1"):
        other = PlattScaling(inputs="probs").fit(1 - scores, 1 - labels)
    assert one.slope_ == pytest.approx(PlattScaling().fit(z, labels).slope_, rel=0.02)
    assert one.slope_ == pytest.approx(other.slope_, rel=1e-9)


def test_a_few_certain_answers_are_fitted_and_said():
    """Of a language model, 56 of 5,999 answers were exactly 1."""
    z, labels = binary(5_000, slope=0.5)
    scores = expit(z)
    scores[:50] = 1.0
    labels[:50] = 1
    for make in (PlattScaling, BetaCalibration, TemperatureScaling):
        with pytest.warns(UserWarning, match="1 % of the probabilities are exactly 1, and count"):
            method = make(inputs="probs").fit(scores, labels)
        assert 0.9 < method.predict_proba(np.array([1.0]))[0] < 1


def test_what_a_zero_counts_as_goes_with_the_fit(tmp_path):
    logits, labels = sure()
    probs = softmax(logits, axis=1)
    probs = np.where(probs < 1e-3, 0, probs)
    probs /= probs.sum(axis=1, keepdims=True)
    with pytest.warns(UserWarning, match="exactly 0"):
        method = TemperatureScaling(inputs="probs").fit(probs, labels)
    expected = method.predict_proba(probs)
    np.testing.assert_array_equal(method.predict_proba(probs[:1]), expected[:1])
    method.save(tmp_path / "method.npz")
    np.testing.assert_array_equal(load(tmp_path / "method.npz").predict_proba(probs), expected)
    module = CalibratedModule(torch.nn.Identity(), method)
    other = CalibratedModule(torch.nn.Identity(), TemperatureScaling(3.0, inputs="probs"))
    other.load_state_dict(module.state_dict())
    for model in (module, other):
        found = model.predict_proba(torch.tensor(probs))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_steps_do_not_care_what_a_zero_counts_as():
    logits, labels = sure()
    probs = softmax(logits, axis=1)
    probs = np.where(probs < probs.max(axis=1, keepdims=True), 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OneVersusRest(HistogramBinning(inputs="probs"), inputs="probs").fit(probs, labels)
        HistogramBinning(inputs="probs").fit(probs[:, 0], (labels == 0).astype(int))


def test_a_forest_s_zeros_are_less_than_one_tree():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_500, 4))
    y = (X.sum(axis=1) + rng.standard_normal(1_500) > 0).astype(int)
    forest = RandomForestClassifier(50, random_state=0)
    with pytest.warns(UserWarning, match="the nearest others are 0.02 away"):
        model = CalibratedClassifier(forest).fit(X[:1_000], y[:1_000])
    assert model.zero_ == pytest.approx(0.001)
    found = negative_log_likelihood(model.predict_proba(X[1_000:]), y[1_000:])
    alone = forest.fit(X[:1_000], y[:1_000]).predict_proba(X[1_000:])
    assert found < negative_log_likelihood(alone, y[1_000:])


# ---------------------------------------------------------------- one thing taken for another


@pytest.mark.parametrize("make", [PlattScaling, TemperatureScaling, BetaCalibration])
def test_scores_taken_for_log_odds_are_doubted(make):
    z, labels = binary()
    with pytest.warns(UserWarning, match="all are from 0 to 1, .* inputs='probs'"):
        make().fit(expit(z), labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(z, labels).predict_proba([0.4])


@pytest.mark.parametrize("name", ["temperature", "vector", "one-versus-rest isotonic"])
def test_a_module_takes_the_last_axis_for_the_classes(name):
    logits, labels = multiclass(600, 5)
    method = ALL_MULTICLASS[name]().fit(logits, labels)
    model = CalibratedModule(torch.nn.Identity(), method)
    found = model.predict_proba(torch.tensor(logits).reshape(20, 3, 10, 5))
    expected = method.predict_proba(logits)
    np.testing.assert_allclose(found.reshape(600, 5), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"found torch\.int64"):
        model(torch.tensor([[3, 2, 1, 0, 0]]))
    with pytest.raises(ValueError, match=r"^network: .* found a single number"):
        model(torch.tensor(0.3))


def test_decision_values_of_pairs_are_refused():
    X, y = load_iris(return_X_y=True)
    for svm in (SVC(decision_function_shape="ovo"), make_pipeline(StandardScaler(), SVC())):
        svm.set_params(**{k: "ovo" for k in svm.get_params() if k.endswith("function_shape")})
        with pytest.raises(ValueError, match=r"estimator: .*'ovo'.* set it to 'ovr'"):
            CalibratedClassifier(svm).fit(X, y)
    assert CalibratedClassifier(SVC()).fit(X, y).score(X, y) > 0.9


def test_a_state_without_the_map_says_so():
    logits, labels = multiclass()
    steps = OneVersusRest(HistogramBinning()).fit(logits, labels)
    model = CalibratedModule(torch.nn.Identity(), steps)
    with pytest.warns(UserWarning, match="parameters of OneVersusRest are in no state_dict"):
        model.load_state_dict(model.state_dict())


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinite_log_odds_lead_to_probabilities(value):
    z, y = np.append(np.linspace(-2, 2, 40), value), np.arange(41) % 2
    advice = r"; remove such rows" + ("$" if np.isnan(value) else r", or .*\(inputs='probs'\)")
    for use in (PlattScaling().fit, lambda z, y: accuracy(z, y, inputs="logits")):
        with pytest.raises(ValueError, match=f"found {value} at row 40{advice}"):
            use(z, y)
    if np.isinf(value):
        with pytest.warns(UserWarning, match="are exactly"):
            fitted = PlattScaling(inputs="probs").fit(1 / (1 + np.exp(-z)), y)
        assert np.isfinite([fitted.slope_, fitted.intercept_]).all()
