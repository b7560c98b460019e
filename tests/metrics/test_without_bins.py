"""Measures without bins, against scikit-learn, quadrature and their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import norm, t
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks import blocks as benchmark
from calib_utils.metrics import (
    calibration_in_the_large,
    confidence_auroc,
    cox_line,
    smooth_calibration_error,
)
from calib_utils.metrics.blocks import effective_blocks
from calib_utils.predictions import as_predictions

RNG = np.random.default_rng(0)


PROBS = RNG.dirichlet(np.ones(4), 600)


LABELS = RNG.integers(4, size=600)


TOP, RIGHT = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS


POSITIVE = RNG.random(600).round(2)  # with ties


BINARY = (RNG.random(600) < POSITIVE).astype(int)


WEIGHTS = RNG.random(600)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_confidence_auroc_is_scikit_learns(weights):
    found = confidence_auroc(as_predictions(PROBS, LABELS, sample_weight=weights))
    assert found == pytest.approx(roc_auc_score(RIGHT, TOP, sample_weight=weights), abs=1e-12)
    found = confidence_auroc(as_predictions(POSITIVE, BINARY, sample_weight=weights))
    expected = roc_auc_score(BINARY, POSITIVE, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-12)
    answers = as_predictions(confidence=POSITIVE, correct=BINARY == 1, sample_weight=weights)
    assert confidence_auroc(answers) == found


def test_confidence_auroc_needs_both_outcomes():
    for labels in (np.zeros(600, int), np.ones(600, int)):
        with pytest.raises(ValueError, match=r"^labels: expected both outcomes"):
            confidence_auroc(POSITIVE, labels)


def test_cox_line_is_scikit_learns():
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


def test_cox_line_of_weights_without_each_sample_in_turn():
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


def test_cox_line_through_probabilities_of_exactly_one():
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


def test_cox_line_takes_weights_for_repeated_rows_also_at_zero():
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


def shifted(n=2_000, shift=0.4, slope=1.0, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(-1, 1.5, n)
    return expit(z), (rng.random(n) < expit(slope * z + shift)).astype(int)


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_in_the_large_has_the_highest_likelihood_at_slope_one(weighted):
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


def test_calibration_in_the_large_has_walds_interval():
    probs, labels = shifted()
    found = calibration_in_the_large(probs, labels)
    chances = expit(logit(probs) + found.intercept)
    half = 1.959963984540054 / math.sqrt((chances * (1 - chances)).sum())
    assert found.interval == pytest.approx((found.intercept - half, found.intercept + half))


def test_calibration_in_the_large_of_repeated_rows_in_blocks():
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
def test_calibration_in_the_large_misses_as_often_as_it_says(kind):
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


CASE = (40, 25, 1.0, True, 0.0)  # blocks that are right or wrong as a whole


def drawn(seed, error=0.0, case=CASE):
    everyone = np.linspace(0.05, 0.99, 5_000)
    return benchmark.draw_set(case, error, everyone, np.random.default_rng(seed))


def test_cox_line_without_each_block_in_turn():
    probs, labels, blocks = drawn(4, case=(60, 30, 0.4, False, 0.7))
    probs = np.clip(probs, 0.01, 0.99)
    line = cox_line(probs, labels, blocks=blocks)
    plain = cox_line(probs, labels)
    assert (line.slope, line.intercept) == (plain.slope, plain.intercept)
    lines = np.array(
        [cox_line(probs[blocks != b], labels[blocks != b])[:2] for b in range(blocks.max() + 1)]
    )
    errors = np.sqrt(len(lines) - 1) * lines.std(axis=0)
    for error, ends in zip(errors, (line.slope_interval, line.intercept_interval), strict=True):
        half = t.ppf(0.975, effective_blocks(blocks) - 1) * error
        assert np.diff(ends)[0] / 2 == pytest.approx(half, rel=0.03)
    assert np.diff(line.intercept_interval) > 1.5 * np.diff(plain.intercept_interval)


@pytest.mark.parametrize(
    ("usual", "last"),
    [
        (([0.2, 0.8], [0, 1]), ([0.2, 0.3, 0.7, 0.8], [1, 1, 0, 0])),
        (([0.2, 0.8], [0, 1]), ([0.9], [0])),
        (([0.3, 0.3], [0, 1]), ([0.6, 0.7], [0, 1])),
        (([0.3, 0.7], [1, 1]), ([0.5], [0])),
    ],
)
def test_cox_line_that_only_one_block_tells_is_refused(usual, last):
    probs, labels, blocks = [], [], []
    for block, (p, y) in enumerate([usual] * 7 + [last] + [usual] * 13):
        probs += p
        labels += y
        blocks += [block] * len(p)
    with pytest.raises(ValueError, match=r"^blocks: found one, that of index 14, without which"):
        cox_line(probs, labels, blocks=blocks)
    found = cox_line(
        [*probs, *last[0]], [*labels, *last[1]], blocks=[*blocks, *[99] * len(last[0])]
    )
    assert np.isfinite(found.slope_interval).all()


POINTS = np.linspace(0, 1, 20_001)


def by_quadrature(confidences, labels, sigma):
    """The area between the smoothed residuals and zero, with the mirror images added up."""
    height = np.zeros(len(POINTS))
    for c, y in zip(confidences, labels, strict=True):
        for shift in range(-10, 12, 2):
            for image in (shift + c, shift - c):
                if -10 * sigma < image < 1 + 10 * sigma:
                    height += (y - c) * norm.pdf(POINTS, image, sigma)
    return trapezoid(np.abs(height), POINTS) / len(labels)


def cases():
    rng = np.random.default_rng(0)
    spread, ends, tied = rng.random(30), np.repeat([1.0, 0.0], [20, 10]), np.repeat([0.3, 0.35], 15)
    near = 1 - 0.02 * rng.random(30)
    return {
        "spread out": (spread, rng.random(30) < spread**2),
        "near 1 and right": (near, np.arange(30) > 0),
        "near 1, often wrong": (near, rng.random(30) < 0.8),
        "near 0": (1 - near, rng.random(30) < 0.1),
        "exactly 0 and 1": (ends, rng.random(30) < 0.2 + 0.6 * ends),
        "tied": (tied, rng.random(30) < 1.1 - 2 * tied),
    }


@pytest.mark.parametrize("case", cases())
def test_smooth_calibration_error_is_the_width_that_equals_its_error(case):
    confidences, labels = cases()[case]
    expected = brentq(lambda s: by_quadrature(confidences, labels, s) - s, 5e-3, 1, xtol=1e-9)
    found = smooth_calibration_error(confidences, labels.astype(int))
    assert found == pytest.approx(expected, abs=2e-6)
    assert 0.01 < found < 1


# With a positive sample just below one half, and a negative one just above, the smoothed
# residuals are the difference of two normal densities: its area is known.
@pytest.mark.parametrize("distance", [0.1, 1e-2, 1e-3, 1e-4, 1e-5, 3e-6, 1e-6])
def test_smooth_calibration_error_of_two_opposite_residuals_in_closed_form(distance):
    middle = 0.5012345
    confidences = [middle - distance / 2, middle + distance / 2]
    weights = 1 - confidences[0], confidences[1]

    def area(sigma):
        # Where the two densities, each with its weight, are equal.
        crossing = middle + sigma**2 * np.log(weights[0] / weights[1]) / distance
        a, b = (norm.cdf((crossing - c) / sigma) for c in confidences)
        return (weights[0] * (2 * a - 1) + weights[1] * (1 - 2 * b)) / 2

    expected = brentq(lambda s: area(s) - s, 1e-5, 0.5, xtol=1e-12)
    assert expected < 0.15  # so that 0 and 1 are far
    found = smooth_calibration_error(confidences, [1, 0])
    assert abs(found - expected) < 4e-6 + 6e-12 / found**2


def test_smooth_calibration_error_is_zero_where_each_confidence_comes_true():
    confidences = np.repeat([1 / 3, 0.5, 1.0, 0.0], [3, 4, 2, 2])
    labels = np.array([1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0])
    assert smooth_calibration_error(confidences, labels) == pytest.approx(0, abs=1e-15)


def test_smooth_calibration_error_changes_little_with_confidences():
    """Half of the samples at 0.5 are right; a hair's breadth sorts them, and the ECE jumps."""
    labels = np.tile([0, 1], 50)
    sorted_by_label = 0.5 + np.where(labels, -1e-9, 1e-9)
    assert smooth_calibration_error(np.full(100, 0.5), labels) < 1e-15
    assert smooth_calibration_error(sorted_by_label, labels) < 4e-4


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 64), st.booleans()), min_size=1, max_size=30))
def test_smooth_calibration_error_lies_between_the_mean_residual_and_its_mean_size(samples):
    sixty_fourths, labels = np.array(samples).T
    confidences = sixty_fourths / 64
    found = smooth_calibration_error(confidences, labels)
    residuals = labels - confidences
    assert abs(residuals.mean()) - 1e-6 <= found <= np.abs(residuals).mean() + 1e-6
    # No wider than the error without any smoothing, and the same for the other class.
    sums = [abs(residuals[confidences == c].sum()) for c in set(confidences)]
    assert found <= sum(sums) / len(labels) + 1e-6
    mirrored = smooth_calibration_error(1 - confidences, 1 - labels)
    assert mirrored == pytest.approx(found, abs=1e-12)
