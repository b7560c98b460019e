"""Probabilities that are given for logits."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from calib_utils.predictions.scores import LIKE_PROBS, look_like_probs
from tests.recalibration.recalibration_cases import multiclass


@pytest.mark.parametrize("squash", ["rounded softmax", "sigmoid"])
def test_many_rows_from_0_to_1_look_like_probabilities(squash):
    """Rounded to two digits, 100 classes sum to anything; so do sigmoids."""
    logits, _ = multiclass(2_000, 100)
    given = softmax(logits, axis=1).round(2) if squash != "sigmoid" else expit(logits)
    assert look_like_probs(given) == [LIKE_PROBS[2]]
    assert look_like_probs(logits) == []


def test_few_rows_look_like_probabilities_if_each_sums_to_one():
    probs = np.array([[0.7, 0.3], [0.2, 0.8]])
    assert look_like_probs(probs)
    assert not look_like_probs(0.5 * probs)


def test_twenty_log_odds_from_0_to_1_are_no_accident_and_nineteen_may_be():
    z = np.linspace(0, 1, 20)
    assert look_like_probs(z) == [LIKE_PROBS[1]]
    assert look_like_probs(z[1:]) == []
