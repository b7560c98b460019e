"""SmoothECE, against its definition by plain quadrature and against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.optimize import brentq
from scipy.stats import norm

from calib_utils.metrics import smooth_calibration_error

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
def test_is_the_width_that_equals_its_error(case):
    confidences, labels = cases()[case]
    expected = brentq(lambda s: by_quadrature(confidences, labels, s) - s, 5e-3, 1, xtol=1e-9)
    found = smooth_calibration_error(confidences, labels.astype(int))
    assert found == pytest.approx(expected, abs=2e-6)
    assert 0.01 < found < 1


# With a positive sample just below one half, and a negative one just above, the smoothed
# residuals are the difference of two normal densities: its area is known.
@pytest.mark.parametrize("distance", [0.1, 1e-2, 1e-3, 1e-4, 1e-5, 3e-6, 1e-6])
def test_two_opposite_residuals_in_closed_form(distance):
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


def test_residuals_of_one_sign_do_not_cancel():
    confidences = np.linspace(0.4, 1, 50)
    for labels, error in [(np.zeros(50, int), 0.7), (np.arange(50) * 0 + 1, 0.3)]:
        assert smooth_calibration_error(confidences, labels) == pytest.approx(error, abs=1e-6)
    assert smooth_calibration_error([1.0, 1.0], [0, 0]) == pytest.approx(1, abs=1e-6)


def test_is_zero_where_each_confidence_comes_true():
    confidences = np.repeat([1 / 3, 0.5, 1.0, 0.0], [3, 4, 2, 2])
    labels = np.array([1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0])
    assert smooth_calibration_error(confidences, labels) == pytest.approx(0, abs=1e-15)


def test_calibrated_predictions_approach_zero():
    rng = np.random.default_rng(0)
    found = []
    for n in (100, 10_000, 1_000_000):
        confidences = rng.random(n)
        found.append(smooth_calibration_error(confidences, (rng.random(n) < confidences) * 1))
    assert 0.15 > found[0] > 2 * found[1] > 4 * found[2] > 0


def test_tiny_changes_of_confidence_change_little():
    """Half of the samples at 0.5 are right; a hair's breadth sorts them, and the ECE jumps."""
    labels = np.tile([0, 1], 50)
    sorted_by_label = 0.5 + np.where(labels, -1e-9, 1e-9)
    assert smooth_calibration_error(np.full(100, 0.5), labels) < 1e-15
    assert smooth_calibration_error(sorted_by_label, labels) < 4e-4


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 64), st.booleans()), min_size=1, max_size=30))
def test_lies_between_the_mean_residual_and_its_mean_size(samples):
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
