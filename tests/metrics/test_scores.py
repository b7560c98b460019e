"""Scores, their parts and decisions, against scikit-learn and their definitions."""

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from calib_utils import metrics
from calib_utils.metrics import brier_decomposition, decision_curve
from calib_utils.predictions import as_predictions
from tests.metrics.metric_cases import draw
from tests.predictions.bad_input_cases import BINARY, LOGITS, with_value


@pytest.mark.parametrize("metric", [metrics.negative_log_likelihood, metrics.accuracy])
def test_negative_log_likelihood_and_accuracy_refuse_bad_log_odds(metric):
    message = r"^probs \(inputs='logits'\): expected finite values, found nan at row 5"
    with pytest.raises(ValueError, match=message):
        metric(with_value(LOGITS[:, 0], 5, np.nan), BINARY, inputs="logits")
    with pytest.raises(ValueError, match=r"^probs \(inputs='probs'\): .*apply a sigmoid to logits"):
        metric(LOGITS[:, 0], BINARY)


def by_forecasts(confidences, recalibrated, correct):
    """The parts by the scores of three forecasts."""
    own = np.mean((confidences - correct) ** 2)
    best = np.mean((recalibrated - correct) ** 2)
    flat = np.mean((np.mean(correct) - correct) ** 2)
    return own - best, flat - best, flat


# Ten samples, seven of them positive; five could be told from the other five.
TEN = np.array([1, 1, 1, 1, 1, 1, 1, 0, 0, 0])


GROUP = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("forecast", "miscalibration", "resolution"),
    [
        (np.where(GROUP, 1.0, 0.4), 0, 0.09),  # calibrated: what each group has
        (np.full(10, 0.7), 0, 0),  # lazy: the base rate for all
        (np.full(10, 0.5), 0.04, 0),  # lazy and wrong about it
        (np.where(GROUP, 1.0, 0.0), 0.08, 0.09),  # bold: 0.4^2 too far in half of the samples
        (np.where(GROUP, 0.0, 1.0), 0.8 - 0.21, 0),  # upside down: no rising function tells
    ],
)
def test_brier_decomposition_of_forecasters_by_hand(forecast, miscalibration, resolution):
    found = brier_decomposition(forecast, TEN)
    assert found == pytest.approx((miscalibration, resolution, 0.21), abs=1e-15)
    assert {type(part) for part in found} == {float}


@pytest.mark.parametrize("places", [None, 1])
@pytest.mark.parametrize("n", [1, 2, 30, 5_000])
def test_brier_decomposition_against_scikit_learn(n, places):
    confidences, labels = forecasts(n, seed=n, places=places)
    recalibrated = IsotonicRegression().fit_transform(confidences, labels)
    expected = by_forecasts(confidences, recalibrated, labels)
    assert brier_decomposition(confidences, labels) == pytest.approx(expected, abs=1e-13)


def test_brier_decomposition_ties_no_confidences_that_differ_little():
    near = np.array([0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0)])
    assert brier_decomposition(near, [0, 1, 0]).resolution == pytest.approx(2 / 9)
    single = near.astype(np.float32)  # where they are
    assert brier_decomposition(single, [0, 1, 0]).resolution == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=40))
def test_brier_decomposition_adds_up_and_a_rising_function_leaves_its_resolution(samples):
    eighths, labels = np.array(samples).T
    confidences = eighths / 8
    found = brier_decomposition(confidences, labels.astype(int))
    assert min(found) >= 0
    assert found.resolution <= found.uncertainty + 1e-15
    score = found.miscalibration - found.resolution + found.uncertainty
    assert score == pytest.approx(np.mean((confidences - labels) ** 2), abs=1e-12)
    for rising in (confidences**2, (1 + confidences) / 3, np.sin(confidences)):
        changed = brier_decomposition(rising, labels.astype(int))
        assert changed[1:] == found[1:]
    recalibrated = IsotonicRegression().fit_transform(confidences, labels)
    assert brier_decomposition(recalibrated, labels.astype(int)).miscalibration < 1e-14


def forecasts(n, seed=0, places=None):
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    if places is not None:
        confidences = np.round(confidences, places)
    return confidences, (rng.random(n) < 0.2 + 0.5 * confidences).astype(int)


def test_brier_score_is_its_definition():
    probs, labels, _ = draw(3000, 4)
    one_hot = np.eye(4)[labels]
    written = ((probs - one_hot) ** 2).sum(axis=1).mean()
    assert metrics.brier_score(probs, labels) == pytest.approx(written, abs=1e-14)
    if "scale_by_half" in inspect.signature(brier_score_loss).parameters:  # scikit-learn 1.7
        theirs = brier_score_loss(labels, probs, labels=range(4), scale_by_half=False)
        assert metrics.brier_score(probs, labels) == pytest.approx(theirs, abs=1e-14)
    assert metrics.brier_score(np.array([[0.0, 1.0]]), [0]) == 2
    assert metrics.brier_score(np.array([[0.0, 1.0]]), [1]) == 0


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn():
    probs, labels, _ = draw(300, 2)
    ours = metrics.brier_score(probs[:, 1], labels)
    assert ours == pytest.approx(2 * brier_score_loss(labels, probs[:, 1]), abs=1e-14)
    assert ours == pytest.approx(metrics.brier_score(probs, labels), abs=1e-14)


def test_negative_log_likelihood_is_that_of_scikit_learn_and_torch():
    probs, labels, logits = draw(3000, 4)
    ours = metrics.negative_log_likelihood(logits, labels, inputs="logits")
    assert ours == pytest.approx(log_loss(labels, probs), abs=1e-12)
    tensors = torch.from_numpy(logits), torch.from_numpy(labels)
    assert ours == pytest.approx(torch.nn.functional.cross_entropy(*tensors).item(), abs=1e-12)


def test_negative_log_likelihood_takes_log_odds():
    _, labels, logits = draw(300, 2)
    odds = logits[:, 1] - logits[:, 0]
    ours = metrics.negative_log_likelihood(odds, labels, inputs="logits")
    assert ours == pytest.approx(
        metrics.negative_log_likelihood(logits, labels, inputs="logits"), abs=1e-12
    )
    assert ours == pytest.approx(log_loss(labels, 1 / (1 + np.exp(-odds))), abs=1e-12)
    assert metrics.negative_log_likelihood(np.array([800.0]), [0], inputs="logits") == 800


@pytest.mark.parametrize(
    ("dtype", "zero", "one"),
    [
        ("float16", 2.0**-24, 2.0**-24),
        ("bfloat16", 2.0**-149, 2.0**-24),
        ("float32", 2.0**-149, 2.0**-24),
        ("float64", 2.0**-1074, 2.0**-53),
    ],
)
def test_negative_log_likelihood_counts_exactly_0_or_1_as_the_nearest_number(dtype, zero, one):
    """`one` is how far from 1 the nearest probability is."""
    certain = torch.tensor([0.0, 1.0], dtype=getattr(torch, dtype))
    for labels, wrong in ((1, zero), (0, one)):
        found = metrics.negative_log_likelihood(certain, np.full(2, labels))
        right = -np.log1p(-(one if labels else zero))
        assert found == pytest.approx((right - np.log(wrong)) / 2, rel=1e-6)


def test_negative_log_likelihood_leaves_out_an_infinite_loss_of_weight_zero():
    logits, labels = np.array([[2.0, -np.inf, 1.0], [0.0, 3.0, 1.0]]), np.array([1, 1])
    expected = metrics.negative_log_likelihood(logits[1:], labels[1:], inputs="logits")
    for weights, loss in (([0.0, 1.0], expected), ([1.0, 1.0], np.inf)):
        given = as_predictions(logits=logits, labels=labels, sample_weight=weights)
        assert metrics.negative_log_likelihood(given) == pytest.approx(loss)


def test_negative_log_likelihood_survives_large_logits():
    # Probabilities in float32 would be 0 here, and their logarithm lost.
    logits = np.array([[0, 300], [200, 0]], np.float32)
    assert metrics.negative_log_likelihood(logits, [0, 1], inputs="logits") == 250
    _, labels, logits = draw(200, 3)
    expected = metrics.negative_log_likelihood(logits, labels, inputs="logits")
    for offset in (1e4, -1e4):
        shifted = metrics.negative_log_likelihood(logits + offset, labels, inputs="logits")
        assert shifted == pytest.approx(expected, abs=1e-10)


def test_accuracy_is_that_of_scikit_learn():
    probs, labels, logits = draw(3000, 4)
    expected = accuracy_score(labels, probs.argmax(axis=1))
    assert metrics.accuracy(probs, labels) == expected
    assert metrics.accuracy(logits, labels, inputs="logits") == expected
    halves = torch.from_numpy(logits).bfloat16()
    assert metrics.accuracy(halves, labels, inputs="logits") == pytest.approx(expected, abs=0.02)
    assert metrics.accuracy(np.array([0.2, 0.7, 0.9]), [0, 1, 0]) == pytest.approx(2 / 3)
    odds = logits[:, 0] - logits[:, 1]
    binary = (labels == 0).astype(int)
    expected = accuracy_score(binary, odds > 0)
    assert metrics.accuracy(odds, binary, inputs="logits") == expected
    assert metrics.accuracy(1 / (1 + np.exp(-odds)), binary) == expected


RNG = np.random.default_rng(0)


ROUNDED = RNG.random(500).round(2)  # with ties, and values on the thresholds


OUTCOMES = (RNG.random(500) < ROUNDED).astype(int)


def by_counting(probs, labels, threshold, weights):
    """What each case brings: one if it was needed, and less of what acting costs if not."""
    benefit = cases = 0.0
    for chance, positive, weight in zip(probs, labels, weights, strict=True):
        cases += weight
        if chance >= threshold:
            benefit += weight * (1 if positive else -threshold / (1 - threshold))
    return benefit / cases


@pytest.mark.parametrize("weights", [None, RNG.random(500)])
def test_decision_curve_is_its_definition(weights):
    curve = decision_curve(as_predictions(ROUNDED, OUTCOMES, sample_weight=weights))
    np.testing.assert_array_equal(curve.thresholds, [k / 100 for k in range(1, 100)])
    weights = np.ones(500) if weights is None else weights
    for at, found, of_all in zip(*curve, strict=True):
        assert found == pytest.approx(by_counting(ROUNDED, OUTCOMES, at, weights), abs=1e-12)
        expected = by_counting(np.ones(500), OUTCOMES, at, weights)
        assert of_all == pytest.approx(expected, abs=1e-12)


def test_decision_curve_by_hand():
    """Of ten, four get 0.5 and one of those is needed; two get 0.9, and both are."""
    probs = [0.1] * 4 + [0.5] * 4 + [0.9] * 2
    labels = [0] * 4 + [1, 0, 0, 0] + [1, 1]
    curve = decision_curve(probs, labels, [0.05, 0.5, 0.6, 0.95])
    expected = [0.3 - 0.7 / 19, 0.3 - 0.3, 0.2, 0.0]
    np.testing.assert_allclose(curve.net_benefit, expected, atol=1e-12)
    np.testing.assert_allclose(curve.treat_all, [0.3 - 0.7 / 19, -0.4, -0.75, -13.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_decision_curve_acts_on_a_probability_at_the_threshold(dtype):
    for at in (0.1, 0.2, 0.3, 0.7, 0.9):
        curve = decision_curve(np.full(4, at, dtype), [1, 1, 1, 0], [at])
        assert curve.net_benefit == curve.treat_all


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        ([0.0], "0.0"),
        ([0.2, 1.0], "1.0"),
        ([np.nan], "nan"),
        (0.5, r"shape \(\)"),
        ([], r"shape \(0,\)"),
    ],
)
def test_decision_curve_takes_thresholds_between_zero_and_one(bad, found):
    with pytest.raises(ValueError, match=rf"^thresholds: expected \(M,\) .*found {found}"):
        decision_curve(ROUNDED, OUTCOMES, bad)
