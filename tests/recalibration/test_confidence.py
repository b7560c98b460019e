"""A map for the confidence, put together by hand, and what it keeps."""

import numpy as np
import pytest

from calib_utils.metrics import accuracy, expected_calibration_error
from calib_utils.recalibration import BetaCalibration, BetaOnConfidence, TemperatureScaling
from calib_utils.records import load_recalibrated, load_record
from tests.recalibration.recalibration_cases import multiclass


def by_hand(logits, labels, new):
    """A temperature, then beta calibration of its confidences, and the rest shared out."""
    scaling = TemperatureScaling().fit(logits, labels)
    probs = scaling.predict_proba(logits.astype(np.float64))
    right = (probs.argmax(axis=1) == labels).astype(int)
    beta = BetaCalibration(inputs="probs").fit(probs.max(axis=1), right)
    result = scaling.predict_proba(new.astype(np.float64))
    for row in result:
        top = row.argmax()
        confidence = beta.predict_proba(row[top : top + 1])[0]
        row *= (1 - confidence) / (row.sum() - row[top])
        row[top] = confidence
    return result


@pytest.mark.parametrize("k", [2, 5, 100])
def test_it_is_what_one_does_by_hand(k):
    logits, labels = multiclass(1_000, k)
    new = multiclass(300, k, seed=5)[0]
    fitted = BetaOnConfidence().fit(logits, labels)
    found = fitted.predict_proba(new.astype(np.float64))
    np.testing.assert_allclose(found, by_hand(logits, labels, new), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(new)), found, rtol=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_the_others_keep_their_proportions_and_may_overtake():
    fitted = BetaOnConfidence().fit(*multiclass(1_000, 4))
    fitted.temperature_, fitted.a_, fitted.b_, fitted.c_ = 2.0, 1.0, 1.0, -3.0
    found = fitted.predict_proba(np.array([[4.0, 3.0, 1.0, 0.0]]))[0]
    powers = np.exp([2.0, 1.5, 0.5, 0.0])
    odds = powers[0] / powers[1:].sum() * np.exp(-3)
    assert found[0] == pytest.approx(odds / (1 + odds), rel=1e-12)
    np.testing.assert_allclose(found[1:] / found[1], powers[1:] / powers[1], rtol=1e-12)
    assert found.argmax() == 1


def test_a_sure_prediction_keeps_its_digits():
    """In float64 a softmax of it is 1, and nothing would be left to share out."""
    fitted = BetaOnConfidence().fit(*multiclass(1_000, 3))
    logs = fitted.predict_log_proba(np.array([[900.0, 0.0, -10.0]]))[0] * fitted.temperature_
    odds = 900.0
    assert np.isfinite(logs).all()
    assert logs[1] - logs[2] == pytest.approx(10)
    margin = fitted.b_ * odds + fitted.c_ * fitted.temperature_
    assert logs[1] == pytest.approx(-margin, rel=1e-3)


def test_a_row_of_one_possible_class():
    logits, labels = multiclass(400, 3)
    logits[::5, 1:] = -np.inf
    labels[::5] = 0
    fitted = BetaOnConfidence().fit(logits, labels)
    kept = np.arange(400) % 5 > 0
    other = BetaOnConfidence().fit(logits[kept], labels[kept])
    assert (fitted.a_, fitted.b_, fitted.c_) == pytest.approx((other.a_, other.b_, other.c_))
    assert fitted.predict_proba(logits[:1]).tolist() == [[1, 0, 0]]
    assert fitted.predict_log_proba(logits[:1]).tolist() == [[0, -np.inf, -np.inf]]


@pytest.mark.filterwarnings("ignore:temperature")
@pytest.mark.parametrize("right", [True, False])
def test_without_both_kinds_of_predictions_it_says_so(right):
    logits = np.eye(3)[np.arange(60) % 3] * 2.0
    labels = (np.arange(60) + (not right)) % 3
    with pytest.warns(UserWarning, match="confidence: of correct predictions and others, a class"):
        probs = BetaOnConfidence().fit(logits, labels).predict_proba(logits)
    assert (probs.max(axis=1) > 0.9).all() == right


def test_the_course_has_measured_it():
    rows = {row.method: row for row in load_recalibrated("course", "cifar100")[0]
            if row.network == "ResNet-34"}  # fmt: skip
    validation, test = (load_record("resnet34-cifar100", s) for s in ("validation", "test"))
    fitted = BetaOnConfidence().fit(validation.logits.astype(np.float64), validation.labels)
    probs = fitted.predict_proba(test.logits.astype(np.float64))
    stored = rows["beta on confidence"]
    assert expected_calibration_error(probs, test.labels) == pytest.approx(stored.ece, rel=1e-6)
    assert accuracy(probs, test.labels) == pytest.approx(stored.accuracy, abs=1e-9)
