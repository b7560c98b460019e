"""Errors, tests and orders without bins: by their definitions, and beside other libraries."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import kstest
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from calib_utils.metrics import (
    adaptive_calibration_error,
    calibration_in_the_large,
    classwise_calibration_error,
    confidence_auroc,
    cox_line,
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


def test_z_by_its_definition():
    # z is the distance of the Brier score from its mean under calibration, in its own spread.
    drawn = RNG.random((20_000, 600)) < POSITIVE
    scores = ((drawn - POSITIVE) ** 2).mean(axis=1)
    score = ((BINARY - POSITIVE) ** 2).mean()
    found = spiegelhalter_test(POSITIVE, BINARY)
    assert found.z == pytest.approx((score - scores.mean()) / scores.std(), abs=0.05)
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


# ---------------------------------------------------------------- calibration-in-the-large


def shifted(n=2_000, shift=0.4, slope=1.0, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.5, n)
    return expit(z), (rng.random(n) < expit(slope * z + shift)).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_intercept_at_slope_one_has_the_highest_likelihood(weighted):
    probs, labels = shifted(slope=0.7)
    weights = np.random.default_rng(1).integers(0, 4, len(probs)) if weighted else None
    found = calibration_in_the_large(as_predictions(probs, labels, sample_weight=weights))
    z, w = logit(probs), np.ones(len(probs)) if weights is None else weights

    def nll(a):
        return float(w @ (np.logaddexp(0, z + a) - labels * (z + a)))

    best = minimize_scalar(nll, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10}).x
    assert found.intercept == pytest.approx(best, abs=1e-6)
    assert found.intercept != pytest.approx(cox_line(probs, labels).intercept, abs=0.05)
    # As much is then predicted as happened.
    assert w @ expit(z + found.intercept) == pytest.approx(float(w @ labels))


def test_the_interval_of_the_intercept_is_walds():
    probs, labels = shifted()
    found = calibration_in_the_large(probs, labels)
    chances = expit(logit(probs) + found.intercept)
    half = 1.959963984540054 / math.sqrt((chances * (1 - chances)).sum())
    assert found.interval == pytest.approx((found.intercept - half, found.intercept + half))


def test_repeated_rows_in_blocks_are_no_more_than_single_ones():
    probs, labels = shifted(400)
    single = calibration_in_the_large(probs, labels)
    blocks = np.repeat(np.arange(400), 5)
    five = calibration_in_the_large(np.repeat(probs, 5), np.repeat(labels, 5), blocks=blocks)
    assert five.intercept == pytest.approx(single.intercept)
    assert five.interval == pytest.approx(single.interval, abs=0.02)
    for few in ([1] * 50, [0] * 50):
        with pytest.raises(ValueError, match=r"^probs: found no best intercept"):
            calibration_in_the_large(probs[:50], few)
    alone = np.arange(50) < 5
    with pytest.raises(ValueError, match="equal without some block"):
        calibration_in_the_large(probs[:50], alone.astype(int), blocks=np.arange(50) // 5)


@pytest.mark.parametrize("kind", ["rows", "weights", "blocks"])
def test_the_interval_of_the_intercept_misses_as_often_as_it_says(kind):
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(500):
        z = np.repeat(rng.normal(-1, 1.5, 40), 5)
        luck = np.repeat(rng.random(40), 5)  # half of the blocks share theirs
        alone = np.repeat(rng.random(40) < 0.5, 5) | (kind != "blocks")
        labels = np.where(alone, rng.random(200), luck) < expit(z)
        weights = np.exp(1.5 * rng.normal(size=200)) if kind == "weights" else None
        blocks = np.repeat(np.arange(40), 5) if kind == "blocks" else None
        given = as_predictions(expit(z), labels.astype(int), sample_weight=weights)
        low, high = calibration_in_the_large(given, blocks=blocks).interval
        missed += not low <= 0 <= high
    assert 0.02 < missed / 500 < 0.08
