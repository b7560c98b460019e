"""Errors of samples drawn with replacement, against drawing rows and against theory."""

import numpy as np
import pytest

from calib_utils.metrics import expected_calibration_error
from calib_utils.metrics.noise import resampled_gaps


def predictions(n, gap=0.0, seed=0):
    """Probabilities of the positive class, and labels that are positive less often by ``gap``."""
    rng = np.random.default_rng(seed)
    probs = rng.uniform(gap, 1, n)
    return probs, (rng.random(n) < probs - gap).astype(int)


def in_bins(probs, labels, n_bins):
    return np.ceil(n_bins * probs).astype(int) - 1, probs - labels


def test_is_what_drawing_rows_gives_the_same_rows_for_all_sets():
    sets = [predictions(200, 0.1), predictions(200, 0.3, seed=1)]
    found = resampled_gaps([in_bins(*both, 10) for both in sets], repeats=50, seed=3)
    rng = np.random.default_rng(3)
    for row in found:
        rows = rng.integers(200, size=200)
        expected = [expected_calibration_error(probs[rows], y[rows], 10) for probs, y in sets]
        assert row == pytest.approx(expected, abs=1e-12)


def test_in_one_bin_they_spread_as_a_mean_does():
    # With one bin and a large gap the ECE is a mean of n terms.
    probs, labels = predictions(5_000, 0.2)
    excess = probs - labels
    errors = resampled_gaps([in_bins(probs, labels, 1)], repeats=3_000, seed=0)[:, 0]
    deviation = excess.std() / np.sqrt(len(excess))
    assert errors.mean() == pytest.approx(excess.mean(), abs=0.1 * deviation)
    assert errors.std() == pytest.approx(deviation, rel=0.06)


def test_are_the_same_for_one_seed():
    sets = [in_bins(*predictions(300), 15)]
    first = resampled_gaps(sets, repeats=20, seed=1)
    assert first.shape == (20, 1)
    np.testing.assert_array_equal(first, resampled_gaps(sets, repeats=20, seed=1))
    assert (first != resampled_gaps(sets, repeats=20, seed=2)).any()
