"""Labels by name, rounded rows, masks and kinds of input that metrics and recalibrators share."""

import inspect

import numpy as np
import pytest
import torch
from recalibration_cases import binary, multiclass
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, make_scorer
from sklearn.model_selection import GridSearchCV

from calib_utils import metrics
from calib_utils.metrics import expected_calibration_error, labels_first, negative_log_likelihood
from calib_utils.recalibration import BetaCalibration, TemperatureScaling, VectorScaling

LOGITS, LABELS = multiclass(400, 3, dtype=np.float64)
PROBS = softmax(LOGITS, axis=1)
NAMES = ["cat", "dog", "owl"]
Z, Y = binary(400)
P = 1 / (1 + np.exp(-Z))
BY_LABELS = [
    getattr(metrics, name)
    for name in metrics.__all__
    if "classes" in inspect.signature(getattr(metrics, name)).parameters
    and name != "CalibrationError"
]
OF_PROBS = [metric for metric in BY_LABELS if metric is not metrics.accuracy]


def numbers(found):
    parts = found if isinstance(found, tuple) else [found]
    return np.hstack([np.ravel(part) for part in parts])


def of(metric, probs, labels, **arguments):
    if metric is negative_log_likelihood:
        arguments["inputs"] = "probs"
    return numbers(metric(probs, labels, **arguments))


def test_every_metric_of_labels_takes_their_names():
    names = {metric.__name__ for metric in BY_LABELS}
    of_labels = {
        name
        for name in metrics.__all__
        if "labels" in inspect.signature(getattr(metrics, name)).parameters
    }
    assert names == of_labels
    assert len(names) > 12


@pytest.mark.parametrize("metric", BY_LABELS)
def test_labels_may_be_names(metric):
    expected = of(metric, PROBS, LABELS)
    for labels in (np.array(NAMES)[LABELS], np.array(NAMES, object)[LABELS].tolist()):
        np.testing.assert_array_equal(of(metric, PROBS, labels, classes=NAMES), expected)
    np.testing.assert_array_equal(
        of(metric, PROBS[:, ::-1].copy(), LABELS, classes=[2, 1, 0]),
        of(metric, PROBS[:, ::-1].copy(), 2 - LABELS),
    )
    expected = of(metric, P, Y)
    for labels, positive in ((Y.astype(bool), True), (np.array(["no", "yes"])[Y], "yes")):
        np.testing.assert_array_equal(of(metric, P, labels, positive=positive), expected)
    tensor = torch.tensor(Y, dtype=torch.bool)
    np.testing.assert_array_equal(of(metric, P, tensor, classes=[False, True]), expected)
    negative = of(metric, 1 - P, np.array(["no", "yes"])[Y], classes=("yes", "no"))
    np.testing.assert_array_equal(negative, of(metric, 1 - P, 1 - Y))


@pytest.mark.parametrize(
    ("labels", "arguments", "message"),
    [
        (np.array(["cat", "cow"]), {"classes": NAMES}, "labels: expected the names .*found 'cow'"),
        (np.array(["cat"]), {"classes": NAMES[:2]}, "classes: expected 3 different names"),
        (np.array(["cat"]), {"classes": ["cat"] * 3}, "classes: expected 3 different names"),
        (np.array(["cat"]), {"positive": "cat"}, "positive: expected only with probabilities"),
        (np.array([["cat"]]), {"classes": NAMES}, r"labels: expected shape \(N,\)"),
        (np.array(["cat"] * 3), {"classes": NAMES}, "labels: expected 400"),
    ],
)
def test_names_that_fit_nothing(labels, arguments, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(PROBS, labels, **arguments)
    with pytest.raises(ValueError, match=message):
        VectorScaling().fit(LOGITS, labels, **arguments)


def test_a_positive_class_that_no_label_names():
    with pytest.raises(ValueError, match=r"no label is 'Yes', found '(no', 'yes|yes', 'no)'"):
        expected_calibration_error(P, np.array(["no", "yes"])[Y], positive="Yes")
    with pytest.raises(ValueError, match=r"without classes"):
        expected_calibration_error(P, Y, positive=1, classes=[0, 1])


def test_recalibrators_take_names():
    expected = VectorScaling().fit(LOGITS, LABELS).predict_proba(LOGITS)
    named = VectorScaling().fit(LOGITS, np.array(NAMES)[LABELS], classes=NAMES)
    np.testing.assert_array_equal(named.predict_proba(LOGITS), expected)
    expected = BetaCalibration().fit(Z, Y).predict_proba(Z)
    named = BetaCalibration().fit(Z, Y.astype(bool), positive=True)
    np.testing.assert_array_equal(named.predict_proba(Z), expected)


# ---------------------------------------------------------------- rounded rows


@pytest.mark.parametrize("metric", OF_PROBS)
def test_rounded_rows_are_rescaled_when_asked_and_counted(metric):
    probs = PROBS.round(2)
    sums = probs.sum(axis=1)
    off = np.abs(sums - 1) > 1e-4
    with pytest.raises(ValueError, match=r"expected rows that sum to 1"):
        of(metric, probs, LABELS)
    message = rf"{off.sum()} of 400 rows .* by up to {np.abs(sums - 1).max():.2g}, and"
    with pytest.warns(UserWarning, match=message) as caught:
        found = of(metric, probs, LABELS, rescale=True)
    assert caught[0].filename == __file__
    scaled = np.where(off[:, None], probs / sums[:, None], probs)
    np.testing.assert_array_equal(found, of(metric, scaled, LABELS))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [3, 10])
def test_rows_of_four_digits_are_off_by_what_is_just_allowed(k, dtype):
    """Or just not: 0.9999 is 1e-4 from one but for the last bits, which depend on the order."""
    logits = np.random.default_rng(0).normal(size=(20_000, k))
    probs = softmax(logits, axis=1).round(4).astype(dtype)
    labels = np.zeros(len(probs), int)
    with pytest.warns(UserWarning, match="of 20000 rows did not sum to one"):
        found = expected_calibration_error(probs, labels, rescale=True)
    exact = expected_calibration_error(softmax(logits, axis=1), labels)
    assert found == pytest.approx(exact, abs=1e-4)


def test_rows_that_need_no_rescaling_are_left_alone(recwarn):
    for probs in (PROBS, P, torch.tensor(PROBS, dtype=torch.bfloat16)):
        labels = Y if np.ndim(probs) == 1 else LABELS
        found = expected_calibration_error(probs, labels, rescale=True)
        assert found == expected_calibration_error(probs, labels)
    assert not recwarn.list


@pytest.mark.parametrize("probs", [100 * PROBS, LOGITS, 0 * PROBS, np.full((400, 3), np.nan)])
def test_what_was_not_rounded_is_not_rescaled(probs):
    with pytest.raises(ValueError, match=r"^probs: expected rows that sum to one but for rounding"):
        metrics.brier_score(probs, LABELS, rescale=True)


# ---------------------------------------------------------------- NLL and accuracy


def test_the_nll_of_probabilities_is_that_of_scikit_learn():
    probs = PROBS.copy()
    probs[0] = [1, 0, 0]
    labels = np.r_[1, LABELS[1:]]
    found = negative_log_likelihood(probs, labels, inputs="probs")
    assert found == pytest.approx(log_loss(labels, probs), rel=1e-2)
    assert negative_log_likelihood(PROBS, LABELS, inputs="probs") == pytest.approx(
        negative_log_likelihood(LOGITS, LABELS), rel=1e-12
    )
    assert negative_log_likelihood(P, Y, inputs="probs") == pytest.approx(
        negative_log_likelihood(Z, Y), rel=1e-12
    )
    with pytest.warns(UserWarning, match="sum to one, as probabilities are"):
        negative_log_likelihood(PROBS, LABELS)
    with pytest.raises(ValueError, match="inputs: expected 'logits' or 'probs'"):
        negative_log_likelihood(P, Y, inputs="probs")


def test_masked_classes_count_for_nothing():
    masked = LOGITS.copy()
    masked[np.arange(400), (LABELS + 1) % 3] = -np.inf
    kept = np.stack([LOGITS[np.arange(400), (LABELS + k) % 3] for k in (0, 2)], axis=1)
    expected = negative_log_likelihood(kept, np.zeros(400, int))
    assert negative_log_likelihood(masked, LABELS) == pytest.approx(expected, rel=1e-12)
    assert metrics.accuracy(masked, LABELS) == (kept[:, 0] > kept[:, 1]).mean()
    masked[3, LABELS[3]] = -np.inf
    assert negative_log_likelihood(masked, LABELS) == np.inf
    weights = np.arange(400) != 3
    assert np.isfinite(negative_log_likelihood(masked, LABELS, sample_weight=weights))


# ---------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize(
    "metric", [expected_calibration_error, metrics.brier_score, negative_log_likelihood]
)
def test_metrics_as_scorers(metric):
    inputs = {"inputs": "probs"} if metric is negative_log_likelihood else {}
    X, y = load_digits(n_class=4, return_X_y=True)
    names = np.array(["nil", "one", "three", "two"])[y]
    scorer = make_scorer(
        labels_first(metric),
        response_method="predict_proba",
        greater_is_better=False,
        classes=sorted(set(names)),
        **inputs,
    )
    search = GridSearchCV(
        LogisticRegression(max_iter=50), {"C": [1e-6, 1e-3]}, scoring=scorer, cv=2
    )
    search.fit(X[:200], names[:200])
    expected = metric(
        search.predict_proba(X[200:]), np.searchsorted(search.classes_, names[200:]), **inputs
    )
    assert search.score(X[200:], names[200:]) == pytest.approx(-expected)
    with pytest.raises(ValueError, match="expected floating-point numbers, found int64"):
        metric(y, search.predict_proba(X))


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
def test_seeds(seed):
    for use in (
        lambda: metrics.calibration_error_floor(PROBS, seed=seed),
        lambda: metrics.calibration_error_interval(PROBS, LABELS, seed=seed),
    ):
        with pytest.raises(ValueError, match="seed: expected an integer of 0 or more"):
            use()
    with pytest.raises(ValueError, match="level: expected a number"):
        metrics.calibration_error_interval(PROBS, LABELS, level="high")


def test_a_temperature_from_a_list_of_rows():
    rows = LOGITS.tolist()
    assert TemperatureScaling().fit(rows, LABELS.tolist()).temperature_ == pytest.approx(
        TemperatureScaling().fit(LOGITS, LABELS).temperature_
    )
