"""The gate: labels by name, rounded rows, confidences; and the scores of what comes through it."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax

from calib_utils import decisions, metrics, plots
from calib_utils.metrics import expected_calibration_error, negative_log_likelihood
from calib_utils.predictions import as_predictions, gate
from calib_utils.recalibration import TemperatureScaling, VectorScaling
from tests.recalibration.recalibration_cases import ALL_BINARY, ALL_MULTICLASS, binary, multiclass

LOGITS, LABELS = multiclass(400, 3, dtype=np.float64)
PROBS = softmax(LOGITS, axis=1)
NAMES = ["cat", "dog", "owl"]
Z, Y = binary(400)
P = 1 / (1 + np.exp(-Z))
CONFIDENCE = P[:200].astype(np.float32)
RIGHT = Y[:200] == 1


# ---------------------------------------------------------------- labels by name


def same(found, expected):
    np.testing.assert_array_equal(found.labels, expected)
    assert found.labels.dtype == np.int64


def test_labels_may_be_names():
    for labels in (np.array(NAMES)[LABELS], np.array(NAMES, object)[LABELS].tolist()):
        same(as_predictions(PROBS, labels, classes=NAMES), LABELS)
    same(as_predictions(PROBS, LABELS, classes=[2, 1, 0]), 2 - LABELS)
    same(as_predictions(PROBS, LABELS, classes=(2 - k for k in range(3))), 2 - LABELS)
    for labels, positive in ((Y.astype(bool), True), (np.array(["no", "yes"])[Y], "yes")):
        same(as_predictions(P, labels, positive=positive), Y)
        same(as_predictions(logits=Z, labels=labels, positive=positive), Y)
    same(as_predictions(P, torch.tensor(Y, dtype=torch.bool), classes=[False, True]), Y)
    same(as_predictions(P, np.array(["no", "yes"])[Y], classes=("yes", "no")), 1 - Y)


@pytest.mark.parametrize(
    ("labels", "arguments", "message"),
    [
        (np.array(["cat", "cow"]), {"classes": NAMES}, "labels: expected the names .*found 'cow'"),
        (np.array(["cat"]), {"classes": NAMES[:2]}, "classes: expected 3 different names"),
        (np.array(["cat"]), {"classes": ["cat"] * 3}, "classes: expected 3 different names"),
        (np.array(["cat"]), {"positive": "cat"}, "positive: expected only with probabilities"),
        (np.array([["cat"]]), {"classes": NAMES}, r"labels: expected shape \(N,\)"),
        (np.array(["cat"] * 3), {"classes": NAMES}, "labels: expected 400"),
        (None, {"classes": NAMES}, r"labels: expected shape \(N,\)"),
    ],
)
def test_names_that_fit_nothing(labels, arguments, message):
    with pytest.raises(ValueError, match=message):
        as_predictions(PROBS, labels, **arguments)
    with pytest.raises(ValueError, match=message):
        as_predictions(logits=LOGITS, labels=labels, **arguments)


def test_a_positive_class_that_no_label_names():
    with pytest.raises(ValueError, match=r"no label is 'Yes', found '(no', 'yes|yes', 'no)'"):
        as_predictions(P, np.array(["no", "yes"])[Y], positive="Yes")
    with pytest.raises(ValueError, match=r"without classes"):
        as_predictions(P, Y, positive=1, classes=[0, 1])
    with pytest.raises(ValueError, match=r"^positive: expected one label, .* found 400"):
        as_predictions(P, Y, positive=(Y == 1))  # not compared entry by entry


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
def test_a_missing_label_is_no_negative(missing):
    """With ``positive`` all other labels are negative; one that is not there is none of them."""
    for labels, positive in (
        (np.array(["yes", "no", missing, "no"], object), "yes"),
        (np.array([1, 0, np.nan, 0]), 1),
    ):
        with pytest.raises(ValueError, match=r"labels: found .* at index 2, which is missing"):
            as_predictions([0.7, 0.2, 0.6, 0.1], labels, positive=positive)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (np.ma.masked_array([1, 0, 1, 0], [False, True, False, False]), "masked entries"),
        (np.array([[1], [0, 1], [0], [1]], object), "unhashable"),
        (np.zeros(4, [("a", float)]), "texts, found"),
    ],
    ids=["masked", "lists", "records"],
)
def test_what_is_no_name_is_refused(labels, found):
    with pytest.raises(ValueError, match=f"labels: .*{found}"):
        as_predictions([0.7, 0.2, 0.6, 0.1], labels, classes=[0, 1])


def test_names_of_several_types():
    probs = [[0.7, 0.3], [0.4, 0.6]]
    labels = np.array(["a", 1], object)
    assert as_predictions(probs, labels, classes=["a", 1]).labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match="found 'b', 2"):
        as_predictions(probs, np.array(["b", 2], object), classes=["a", 1])


@pytest.mark.parametrize("name", ["structured matrix", "dirichlet", "temperature"])
def test_recalibrators_take_weights_of_any_scale(name):
    """As a whole they tell no number of samples, unlike those that `fit` takes itself."""
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(LABELS))
    counted = ALL_MULTICLASS[name]().fit(LOGITS, LABELS, weights / weights[weights > 0].mean())
    expected = counted.predict_proba(LOGITS)
    for w in (weights, weights / weights.sum(), 1e100 * weights):
        given = as_predictions(logits=LOGITS, labels=LABELS, sample_weight=w)
        found = ALL_MULTICLASS[name]().fit(given).predict_proba(LOGITS)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("name", ["bbq", "platt, smooth", "platt per group"])
def test_binary_recalibrators_take_weights_of_any_scale(name):
    z, labels = binary(400)
    weights = np.where(labels == 1, 2.0, 1.0)
    groups = {"groups": np.arange(400) % 3} if name == "platt per group" else {}
    found = []
    for w in (weights, weights / weights.sum()):
        given = as_predictions(logits=z, labels=labels, sample_weight=w)
        fitted = ALL_BINARY[name]().fit(given, **groups)
        found.append(fitted.predict_proba(z, **groups))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


def test_recalibrators_take_names():
    expected = VectorScaling().fit(LOGITS, LABELS).predict_proba(LOGITS)
    named = as_predictions(logits=LOGITS, labels=np.array(NAMES)[LABELS], classes=NAMES)
    fitted = VectorScaling().fit(named)
    np.testing.assert_array_equal(fitted.predict_proba(LOGITS), expected)
    np.testing.assert_array_equal(fitted.predict_proba(named), expected)
    with pytest.raises(ValueError, match=r"^sample_weight: expected none with Predictions"):
        VectorScaling().fit(named, sample_weight=np.ones(400))


# ---------------------------------------------------------------- rounded rows


def test_rounded_rows_are_rescaled_when_asked_and_counted():
    probs = PROBS.round(2)
    sums = probs.sum(axis=1)
    off = np.abs(sums - 1) > 1e-4
    with pytest.raises(ValueError, match=r"^probs: expected rows that sum to 1"):
        as_predictions(probs, LABELS)
    message = rf"{off.sum()} of 400 rows .* by up to {np.abs(sums - 1).max():.2g}, and"
    with pytest.warns(UserWarning, match=message) as caught:
        found = as_predictions(probs, LABELS, rescale=True)
    assert caught[0].filename == __file__
    scaled = np.where(off[:, None], probs / sums[:, None], probs)
    np.testing.assert_array_equal(found.scores, scaled)
    assert negative_log_likelihood(found) == negative_log_likelihood(scaled, LABELS)
    fitted = TemperatureScaling(inputs="probs").fit(found)
    assert (
        fitted.temperature_ == TemperatureScaling(inputs="probs").fit(scaled, LABELS).temperature_
    )
    np.testing.assert_array_equal(fitted.predict_proba(found), fitted.predict_proba(scaled))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [3, 10])
def test_rows_of_four_digits_are_off_by_what_is_just_allowed(k, dtype):
    """Or just not: 0.9999 is 1e-4 from one but for the last bits, which depend on the order."""
    logits = np.random.default_rng(0).normal(size=(20_000, k))
    probs = softmax(logits, axis=1).round(4).astype(dtype)
    labels = np.zeros(len(probs), int)
    with pytest.warns(UserWarning, match="of 20000 rows did not sum to one"):
        found = expected_calibration_error(as_predictions(probs, labels, rescale=True))
    exact = expected_calibration_error(softmax(logits, axis=1), labels)
    assert found == pytest.approx(exact, abs=1e-4)


def test_rows_that_need_no_rescaling_are_left_alone(recwarn):
    for probs in (PROBS, P, torch.tensor(PROBS, dtype=torch.bfloat16)):
        found = as_predictions(probs, rescale=True)
        assert found.scores is probs
        assert found.labels is None
    assert not recwarn.list


def test_ten_percent_is_the_most_that_rounding_is_taken_for():
    labels = np.zeros(2, int)
    for total in (0.901, 1.099):
        probs = np.array([[0.5, 0.5], [total - 0.4, 0.4]])
        with pytest.warns(UserWarning, match="1 of 2 rows did not sum to one, by up to 0.099"):
            as_predictions(probs, labels, rescale=True)
    for total in (0.899, 1.101):
        probs = np.array([[0.5, 0.5], [total - 0.4, 0.4]])
        with pytest.raises(ValueError, match=f"within 0.1, found {total} in row 1"):
            as_predictions(probs, labels, rescale=True)


@pytest.mark.parametrize("probs", [100 * PROBS, LOGITS, 0 * PROBS, np.full((400, 3), np.nan)])
def test_what_was_not_rounded_is_not_rescaled(probs):
    with pytest.raises(ValueError, match=r"^probs: expected rows that sum to one up to rounding"):
        as_predictions(probs, LABELS, rescale=True)


# ---------------------------------------------------------------- what the gate holds


def test_nothing_is_copied_widened_or_checked_twice(monkeypatch):
    halves = torch.tensor(PROBS).half().numpy()
    tensor = torch.tensor(PROBS, dtype=torch.bfloat16)
    for probs in (PROBS, halves, tensor):
        held = as_predictions(probs, LABELS, sample_weight=np.ones(400))
        assert held.scores is probs
        assert held.labels is LABELS
        expected = expected_calibration_error(probs, LABELS)
        with monkeypatch.context() as patched:
            patched.setattr(gate, "checked_blocks", None)  # which would be called
            assert expected_calibration_error(held) == expected
    assert np.shares_memory(as_predictions(halves).array, halves)


def test_kinds_are_told():
    assert as_predictions(PROBS, LABELS).kind == "multi-class"
    assert (as_predictions(P).kind, as_predictions(logits=Z).inputs) == ("binary", "logits")
    weighted = as_predictions(confidence=P, correct=Y, sample_weight=P)
    assert repr(weighted) == "Predictions of 400 samples: confidence, probs, weighted"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"probs: expected exactly one of .*found \[\]"),
        ({"probs": P, "confidence": P}, r"probs: expected exactly one .*'probs', 'confidence'"),
        ({"probs": PROBS, "rescale": "no"}, "rescale: expected True or False, found 'no'"),
        ({"logits": Z, "rescale": True}, "rescale: expected with probs only, found logits"),
        ({"confidence": P, "labels": Y}, "labels: expected neither"),
        ({"confidence": P, "positive": 1}, "labels: expected neither"),
        ({"probs": P, "correct": Y}, "correct: expected with confidence only, found probs"),
        ({"confidence": PROBS}, r"confidence: expected shape \(N,\), found \(400, 3\)"),
        ({"confidence": 100 * P, "correct": Y}, "confidence: expected values from 0 to 1"),
        ({"confidence": P, "correct": LABELS}, "correct: expected True or False"),
        ({"confidence": P, "correct": Y[1:]}, r"correct: expected shape \(400,\)"),
        ({"probs": P, "labels": Y, "sample_weight": -P}, "sample_weight: expected finite"),
        ({"probs": as_predictions(P)}, "probs: expected real numbers, found Predictions"),
        ({"probs": PROBS, "labels": LABELS, "classes": "cat"}, "classes: expected several in a"),
    ],
)
def test_what_does_not_go_together(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        as_predictions(**arguments)


# ---------------------------------------------------------------- (confidence, correct)


@pytest.mark.parametrize(
    "correct", [RIGHT, RIGHT.tolist(), RIGHT.astype(float), torch.tensor(RIGHT)]
)
def test_measures_of_confidences(correct):
    """Against their definitions: none looks for a class above one half."""
    given = as_predictions(confidence=CONFIDENCE, correct=correct)
    c = CONFIDENCE.astype(float)
    assert metrics.accuracy(given) == RIGHT.mean() != ((c > 0.5) == RIGHT).mean()
    assert metrics.brier_score(given) == pytest.approx(2 * np.mean((c - RIGHT) ** 2))
    said = np.where(RIGHT, c, 1 - c)
    assert negative_log_likelihood(given) == pytest.approx(-np.log(said).mean(), rel=1e-6)
    index = np.ceil(15 * c - 1e-7).astype(int) - 1
    gaps = np.bincount(index, c - RIGHT, 15)
    assert expected_calibration_error(given) == pytest.approx(np.abs(gaps).sum() / 200, abs=1e-6)
    low, high = metrics.calibration_error_interval(given)
    assert 0 <= low < high < 1
    assert metrics.baseline_calibration_error(given) == metrics.baseline_calibration_error(
        CONFIDENCE
    )
    np.testing.assert_array_equal(metrics.top_label(given)[1], RIGHT)
    assert metrics.calibration_test(given, draws=20).p_value > 0


def test_decisions_on_confidences_and_on_two_classes():
    plain = decisions.risk_coverage(CONFIDENCE, RIGHT)
    found = decisions.risk_coverage(as_predictions(confidence=CONFIDENCE, correct=RIGHT))
    assert found.area == plain.area
    # Of two classes the answer is the more probable one: 0.1 is sure of the other.
    of_two = decisions.risk_coverage(as_predictions(P, Y))
    both = decisions.risk_coverage(*metrics.top_label(np.stack([1 - P, P], axis=1), Y))
    assert of_two.area == pytest.approx(both.area, rel=1e-12)
    threshold = decisions.selection_threshold(as_predictions(PROBS, LABELS), risk=0.3)
    assert threshold == decisions.selection_threshold(*metrics.top_label(PROBS, LABELS), risk=0.3)


@pytest.mark.parametrize("make", ALL_BINARY.values(), ids=ALL_BINARY)
def test_recalibrators_of_confidences(make):
    given = as_predictions(confidence=CONFIDENCE, correct=RIGHT)
    fitted = make().set_params(inputs="probs").fit(given)
    expected = make().set_params(inputs="probs").fit(CONFIDENCE, RIGHT.astype(int))
    np.testing.assert_array_equal(fitted.predict_proba(given), expected.predict_proba(CONFIDENCE))
    with pytest.raises(ValueError, match=r"^logits: expected logits, found Predictions of 200"):
        make().fit(given)


def test_pictures_of_confidences_say_accuracy():
    given = as_predictions(confidence=CONFIDENCE, correct=RIGHT)
    drawn = [
        plots.reliability_diagram(given).ax,
        plots.reliability_diagrams({"a": given, "b": given})["a"].ax,
    ]
    assert {ax.get_ylabel() for ax in drawn} == {"Accuracy"}
    assert [ax.get_xlabel() for ax in drawn[:1]] == ["Confidence"]
    histogram = plots.confidence_histogram(given)
    assert histogram.ax.get_xlabel() == "Confidence"
    assert histogram.accuracy == pytest.approx(RIGHT.mean())
    binary = plots.reliability_diagram(as_predictions(P, Y)).ax
    assert binary.get_ylabel() == "Frequency of the positive class"
    plt.close("all")


# ---------------------------------------------------------------- NLL and accuracy


def test_scores_are_of_probabilities_or_of_logits():
    for metric in (negative_log_likelihood, metrics.accuracy):
        for probs, logits, labels in ((PROBS, LOGITS, LABELS), (P, Z, Y)):
            of_logits = metric(logits, labels, inputs="logits")
            assert metric(probs, labels) == pytest.approx(of_logits, rel=1e-12)
    for metric in (negative_log_likelihood, metrics.accuracy):
        for probs, labels in ((PROBS, LABELS), (PROBS.round(2), LABELS), (P, Y), (P.round(2), Y)):
            with pytest.warns(UserWarning, match="like probabilities") as caught:
                metric(probs, labels, inputs="logits")
            assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="inputs: expected 'probs' or 'logits'"):
        negative_log_likelihood(P, Y, inputs="scores")
    with pytest.raises(ValueError, match=r"^probs \(inputs='probs'\): expected values from 0 to 1"):
        negative_log_likelihood(LOGITS, LABELS)
    # Predictions know what they are.
    of_logits = as_predictions(logits=LOGITS, labels=LABELS)
    for metric in (negative_log_likelihood, metrics.accuracy):
        assert metric(of_logits) == metric(LOGITS, LABELS, inputs="logits")
        with pytest.raises(ValueError, match="expected logits, found Predictions of 400 samples"):
            metric(as_predictions(PROBS, LABELS), inputs="logits")
    with pytest.raises(ValueError, match=r"^probs: expected probs, found .*as_predictions\(probs"):
        expected_calibration_error(of_logits)


def test_masked_classes_count_for_nothing():
    masked = LOGITS.copy()
    masked[np.arange(400), (LABELS + 1) % 3] = -np.inf
    kept = np.stack([LOGITS[np.arange(400), (LABELS + k) % 3] for k in (0, 2)], axis=1)
    expected = negative_log_likelihood(kept, np.zeros(400, int), inputs="logits")
    given = as_predictions(logits=masked, labels=LABELS)
    assert negative_log_likelihood(given) == pytest.approx(expected, rel=1e-12)
    assert metrics.accuracy(given) == (kept[:, 0] > kept[:, 1]).mean()
    masked[3, LABELS[3]] = -np.inf
    assert negative_log_likelihood(as_predictions(logits=masked, labels=LABELS)) == np.inf
    weighted = as_predictions(logits=masked, labels=LABELS, sample_weight=np.arange(400) != 3)
    assert np.isfinite(negative_log_likelihood(weighted))


# ---------------------------------------------------------------- how far from one is too far


def test_what_an_array_of_another_shape_may_be_is_told():
    rng = np.random.default_rng(0)
    sigmoids, labels = rng.random((20, 4)), rng.integers(0, 2, (20, 4))
    own = "each label is a question of its own"
    for given in (labels, labels[:, 0]):
        with pytest.raises(ValueError, match=own):
            as_predictions(sigmoids, given)
    members = rng.dirichlet(np.ones(3), (5, 20))
    with pytest.raises(ValueError, match="the mean of the members' probabilities"):
        as_predictions(members, np.arange(20) % 3)


# Equal probabilities of 1/255 and 1/2047 are rounded most, by 2^-8 and 2^-11 of themselves.
@pytest.mark.parametrize("n_classes", [3, 255, 2047])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_as_predictions_takes_a_softmax_in_any_type(dtype, n_classes):
    generator = torch.Generator().manual_seed(n_classes)
    labels = torch.zeros(400, dtype=torch.int64)
    for scale in (0, 1, 5, 30):
        logits = scale * torch.randn(400, n_classes, generator=generator)
        for probs in (torch.softmax(logits.to(dtype), 1), torch.softmax(logits, 1).to(dtype)):
            assert 0 <= expected_calibration_error(probs, labels) <= 1
            assert 0 <= expected_calibration_error(probs[:, 0], labels) <= 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_as_predictions_refuses_a_row_one_per_cent_off(dtype):
    for total in (0.99, 1.01):
        probs = torch.tensor([[0.5, 0.5], [total - 0.25, 0.25]], dtype=dtype)
        with pytest.raises(ValueError, match=r"^probs: .*in row 1; divide each row by its sum"):
            expected_calibration_error(probs, [0, 0])
