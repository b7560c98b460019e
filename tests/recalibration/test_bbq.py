"""BBQ, against its formula."""

import math

import numpy as np
import pytest
from scipy.special import expit

from calib_utils.recalibration import BayesianBinningIntoQuantiles
from tests.recalibration.recalibration_cases import BINARY, bbq_by_formula, binary


def test_n_parameters_of_bbq_are_the_bins_between_the_edges_of_all_its_models():
    n = 200
    numbers_of_bins = range(1, min(n // 5, math.ceil(10 * np.cbrt(n))) + 1)
    edges = {m * n // bins for bins in numbers_of_bins for m in range(1, bins)}
    assert BINARY["bbq"]().fit(*binary(n)).n_parameters_ == len(edges) + 1


@pytest.mark.parametrize("ties", [False, True])
def test_bbq_against_the_formula(ties):
    z, labels = binary(400, slope=1.0, intercept=0.5)
    scores = expit(z)
    if ties:
        scores = np.round(scores, 2).clip(0.01, 0.99)
    new = np.linspace(0.003, 0.997, 301)
    expected, weights = bbq_by_formula(scores, labels, new)
    fitted = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels)
    np.testing.assert_allclose(fitted.weights_, weights, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(new), expected, rtol=1e-9)


def test_bbq_prior_keeps_away_from_zero_and_one():
    scores = np.array([0.0, 0, 0.1, 0.2, 0.8, 0.9, 1, 1, 1, 1])
    probs = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, (scores > 0.5) * 1)
    assert ((probs.predict_proba(scores) > 0) & (probs.predict_proba(scores) < 1)).all()


def test_bbq_scores_on_a_threshold_belong_to_the_step_below():
    scores, labels = np.arange(1, 31) / 64, np.repeat([0, 1, 0], 10)
    fitted = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels)
    assert len(fitted.thresholds_) > 3
    on, below = fitted.predict_proba(fitted.thresholds_), fitted.probabilities_[:-1]
    np.testing.assert_array_equal(on, below)
