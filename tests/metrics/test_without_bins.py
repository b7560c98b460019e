"""Errors, tests and orders without bins: by their definitions, and beside other libraries."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from calib_utils.metrics import (
    adaptive_calibration_error,
    classwise_calibration_error,
    confidence_auroc,
    cox_line,
    ks_calibration_error,
    observed_to_expected,
    spiegelhalter_test,
)
from calib_utils.predictions import as_predictions

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(4), 600)
LABELS = RNG.integers(4, size=600)
TOP, RIGHT = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS
POSITIVE = RNG.random(600).round(2)  # with ties
BINARY = (RNG.random(600) < POSITIVE).astype(int)
WEIGHTS = RNG.random(600)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_area_is_scikit_learns(weights):
    found = confidence_auroc(as_predictions(PROBS, LABELS, sample_weight=weights))
    assert found == pytest.approx(roc_auc_score(RIGHT, TOP, sample_weight=weights), abs=1e-12)
    found = confidence_auroc(as_predictions(POSITIVE, BINARY, sample_weight=weights))
    expected = roc_auc_score(BINARY, POSITIVE, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-12)
    answers = as_predictions(confidence=POSITIVE, correct=BINARY == 1, sample_weight=weights)
    assert confidence_auroc(answers) == found


def test_there_is_no_order_of_one_kind():
    for labels in (np.zeros(600, int), np.ones(600, int)):
        with pytest.raises(ValueError, match=r"^labels: expected both outcomes"):
            confidence_auroc(POSITIVE, labels)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_ks_error_by_its_definition(weights):
    found = ks_calibration_error(as_predictions(POSITIVE, BINARY, sample_weight=weights))
    share = np.ones(600) / 600 if weights is None else weights / weights.sum()
    gaps = [(share * (POSITIVE - BINARY))[c >= POSITIVE].sum() for c in POSITIVE]
    assert found == pytest.approx(np.abs(gaps).max(), abs=1e-12)


def test_the_line_is_scikit_learns():
    """Without a penalty; its interval is the spread of lines drawn anew."""
    probs = np.clip(POSITIVE, 0.01, 0.99)
    z = np.log(probs / (1 - probs))[:, None]
    line = cox_line(probs, BINARY)
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(z, BINARY)
    assert line.slope == pytest.approx(peer.coef_[0, 0], rel=1e-6)
    assert line.intercept == pytest.approx(peer.intercept_[0], abs=1e-6)
    drawn = RNG.random((300, 600)) < peer.predict_proba(z)[:, 1]
    slopes = [cox_line(probs, labels.astype(int)).slope for labels in drawn]
    assert np.diff(line.slope_interval)[0] / 3.92 == pytest.approx(np.std(slopes), rel=0.15)
    for labels, why in ((probs > 0.5, "threshold"), (probs < 2, "no sample")):
        with pytest.raises(ValueError, match=f"^probs: found no best line .*{why}"):
            cox_line(probs, labels.astype(int))
    with pytest.raises(ValueError, match="all are equal"):
        cox_line([0.3, 0.3], [0, 1])


def test_the_line_of_weights_without_each_sample_in_turn():
    rng = np.random.default_rng(3)
    probs, weights = rng.uniform(0.05, 0.95, 150), rng.lognormal(0, 1, 150)
    labels = (rng.random(150) < probs).astype(int)

    def line(rows):
        return cox_line(as_predictions(probs[rows], labels[rows], sample_weight=weights[rows]))

    whole = line(np.arange(150))
    moved = [np.subtract(line(np.arange(150) != i)[:2], whole[:2]) for i in range(150)]
    freedom = weights.sum() ** 2 / (weights**2).sum() - 1
    expected = student.ppf(0.975, freedom) * np.sqrt(np.square(moved).sum(axis=0))
    half = np.diff([whole.slope_interval, whole.intercept_interval])[:, 0] / 2
    np.testing.assert_allclose(half, expected, rtol=0.03)


def test_a_line_through_probabilities_of_exactly_one():
    """Of 20,000 answers rounded to three digits. A one may not count as the last number below it,
    whose log-odds would be 16 in float32 and 37 in float64.
    """
    rng = np.random.default_rng(0)
    z = rng.normal(3, 3, 20_000)
    exact = 1 / (1 + np.exp(-z))
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-0.7 * z))).astype(int)
    rounded = exact.round(3)
    assert 0.05 < (rounded == 1).mean() < 0.1
    slopes = []
    for probs in (rounded, rounded.astype(np.float32)):
        with pytest.warns(UserWarning, match=r"^probs: .* exactly 0 or 1, and count as") as caught:
            slopes.append(cox_line(probs, labels).slope)
        assert caught[0].filename == __file__
    assert slopes == pytest.approx([cox_line(exact, labels).slope] * 2, rel=0.02)
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-4)


def test_the_ratio_and_z_by_their_definitions():
    assert observed_to_expected(PROBS, LABELS) == pytest.approx(RIGHT.sum() / TOP.sum())
    weighted = as_predictions(POSITIVE, BINARY, sample_weight=WEIGHTS)
    expected = np.average(BINARY, weights=WEIGHTS) / np.average(POSITIVE, weights=WEIGHTS)
    assert observed_to_expected(weighted) == pytest.approx(expected)
    # z is the distance of the Brier score from its mean under calibration, in its own spread.
    drawn = RNG.random((20_000, 600)) < POSITIVE
    scores = ((drawn - POSITIVE) ** 2).mean(axis=1)
    score = ((BINARY - POSITIVE) ** 2).mean()
    found = spiegelhalter_test(POSITIVE, BINARY)
    assert found.z == pytest.approx((score - scores.mean()) / scores.std(), abs=0.05)
    with pytest.raises(ValueError, match=r"^probs: expected some above 0"):
        observed_to_expected(np.zeros(3), [0, 0, 1])
    assert np.isnan(spiegelhalter_test([0.5, 0.5], [0, 1])).all()
    assert spiegelhalter_test([1.0, 0.5], [0, 1]) == (np.inf, 0.0)  # what cannot happen did


def test_of_calibrated_predictions_p_values_are_even():
    probs = RNG.random((500, 400))
    labels = (RNG.random(probs.shape) < probs).astype(int)
    found = [spiegelhalter_test(p, y).p_value for p, y in zip(probs, labels, strict=True)]
    assert kstest(found, "uniform").pvalue > 0.01


def test_the_adaptive_error_by_its_definition():
    """Ten bins of 60 for each class, in the order of its probability."""
    gaps = []
    for k, column in enumerate(PROBS.T):
        for rows in np.split(np.argsort(column), 10):
            gaps.append(abs(column[rows].mean() - (LABELS[rows] == k).mean()))
    found = adaptive_calibration_error(PROBS, LABELS, n_bins=10)
    assert found == pytest.approx(np.mean(gaps), abs=1e-12)
    of_classes = classwise_calibration_error(PROBS, LABELS, 10, "quantile")
    assert found == pytest.approx(of_classes, abs=1e-12)
    tied = adaptive_calibration_error([[0.6, 0.4]] * 6 + [[0.1, 0.9]] * 4, [0] * 10, n_bins=5)
    assert tied == pytest.approx((0.4 + 0.9) / 2)
    with pytest.raises(ValueError, match=r"^probs: expected those of all classes"):
        adaptive_calibration_error(as_predictions(confidence=TOP, correct=RIGHT))


def test_weights_are_repeated_rows_also_for_what_a_zero_counts_as():
    rng = np.random.default_rng(2)
    z = rng.normal(-1, 2.2, 3000)
    probs = expit(1.5 * z).round(2)
    labels, times = (rng.random(3000) < expit(z)).astype(int), np.where(probs == 0, 9, 1)
    weighted = as_predictions(probs, labels, sample_weight=times)
    with pytest.warns(UserWarning, match="are exactly 0"):
        found = cox_line(weighted)
    with pytest.warns(UserWarning, match="are exactly 0"):
        expected = cox_line(np.repeat(probs, times), np.repeat(labels, times))
    assert found.slope == pytest.approx(expected.slope)
    assert found.intercept == pytest.approx(expected.intercept)
