"""Risk against coverage: against counting, against all orders of ties, and what it promises."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from calib_utils.comparing import paired_difference
from calib_utils.decisions import risk_coverage, selection_threshold
from calib_utils.predictions import as_predictions


def area_written_out(correct_in_order):
    wrong = 1 - np.array(correct_in_order, float)
    return np.mean([wrong[:k].mean() for k in range(1, len(wrong) + 1)])


def answers(n, seed, power=1.0):
    """Confidences, and answers that are right as often as their power says."""
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    return confidences, rng.random(n) < confidences**power


def test_the_curve_counts_who_is_answered():
    confidences, correct = answers(200, 0)
    confidences = confidences.round(1)
    curve = risk_coverage(confidences, correct)
    assert (np.diff(curve.thresholds) < 0).all()
    for threshold, coverage, risk in zip(*curve[:3], strict=True):
        answered = confidences >= threshold
        assert coverage == pytest.approx(answered.mean())
        assert risk == pytest.approx(1 - correct[answered].mean())


def test_the_area_is_the_mean_risk():
    confidences, correct = answers(500, 1)
    order = np.argsort(-confidences)
    expected = area_written_out(correct[order])
    assert risk_coverage(confidences, correct).area == pytest.approx(expected, abs=1e-12)


def test_ties_count_as_if_chance_ordered_them():
    confidences, correct = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.2]), [1, 0, 1, 1, 0, 0]
    orders = [(0, *middle, 5) for middle in itertools.permutations(range(1, 5))]
    expected = np.mean([area_written_out(np.take(correct, order)) for order in orders])
    assert risk_coverage(confidences, correct).area == pytest.approx(expected, abs=1e-12)
    backwards = risk_coverage(confidences[::-1], correct[::-1])
    assert backwards.area == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("places", [None, 1])
def test_the_parts_are_those_of_the_jackknife(places):
    confidences, correct = answers(400, 2)
    confidences = confidences if places is None else confidences.round(places)
    curve = risk_coverage(confidences, correct)
    n = len(confidences)
    without = [
        risk_coverage(np.delete(confidences, i), np.delete(correct, i)).area for i in range(n)
    ]
    pseudo = n * curve.area - (n - 1) * np.array(without)
    assert curve.parts.mean() == pytest.approx(curve.area, abs=1e-12)
    assert np.corrcoef(pseudo, curve.parts)[0, 1] > 0.999
    assert pseudo.std() == pytest.approx(curve.parts.std(), rel=0.02)


def test_the_interval_of_a_difference_of_areas_holds_the_truth():
    """Two orders of the same answers. The truth is that of all; 200 samples of 1,000."""
    rng = np.random.default_rng(3)
    chance = rng.random(200_000)
    correct = rng.random(len(chance)) < chance
    noisy = np.clip(chance + 0.2 * rng.standard_normal(len(chance)), 0, 1)
    truth = risk_coverage(noisy, correct).area - risk_coverage(chance, correct).area
    assert truth > 0.01
    held = 0
    for start in range(0, len(chance), 1_000):
        some = slice(start, start + 1_000)
        parts = [risk_coverage(sure[some], correct[some]).parts for sure in (chance, noisy)]
        low, high = paired_difference(*parts).interval()
        held += low <= truth <= high
    assert 0.91 <= held / 200 <= 0.985


def test_the_threshold_keeps_its_promise():
    """The true risk above a threshold t of these answers is (1 - t) / 2."""
    broken, found = 0, []
    for seed in range(200):
        threshold = selection_threshold(*answers(1_000, seed), risk=0.2, level=0.8)
        found.append(threshold)
        broken += (1 - threshold) / 2 > 0.2
    assert broken / 200 < 0.2
    assert 0.6 < np.median(found) < 0.75


def test_the_threshold_is_that_of_an_exact_bound():
    confidences, correct = answers(500, 4)
    threshold = selection_threshold(confidences, correct, risk=0.25, level=0.9)
    answered = confidences >= threshold
    m, wrong = answered.sum(), (answered & ~correct).sum()
    slip = 0.1 / np.ceil(np.log2(501))
    # So few errors, or fewer, would be rarer than that if the risk were any higher.
    assert binom.cdf(wrong, m, 0.25) <= slip
    assert threshold in confidences


def test_no_threshold_where_none_can_be_promised():
    assert selection_threshold([0.9, 0.8, 0.7], [1, 1, 1], risk=0.01) == np.inf
    assert selection_threshold([0.5] * 50, [0] * 50, risk=0.5) == np.inf
    # All right, of equal confidence: 1 - (1 - risk)^n is the chance to see an error.
    assert selection_threshold([0.5] * 50, [1] * 50, risk=0.1) == 0.5


@pytest.mark.parametrize("use", [risk_coverage, partial(selection_threshold, risk=0.1)])
def test_bad_input_is_named(use):
    with pytest.raises(ValueError, match=r"^confidences: "):
        use([0.5, 1.5], [1, 0])
    with pytest.raises(ValueError, match=r"^correct: "):
        use([0.5, 0.6], [1])


def test_a_probability_of_one_half_predicts_the_negative_class():
    found = risk_coverage(as_predictions([0.5, 0.9], [1, 1]))
    assert found.risk.tolist() == [0.0, 0.5]
    assert found.area == 0.5 * (0 + 0.5)
