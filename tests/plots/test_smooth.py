"""The smooth reliability curve, against a kernel regression written out and simple cases."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from calib_utils.metrics import smooth_calibration_error, smooth_reliability
from calib_utils.predictions import as_predictions


def written_out(confidences, correct, places, sigma, weights):
    """(accuracy, density) by summing the kernels of all samples and of their mirror images."""
    kernels = np.zeros((len(places), len(confidences)))
    for shift in range(-10, 12, 2):
        for images in (shift + confidences, shift - confidences):
            kernels += norm.pdf(places[:, None], images, sigma)
    kernels *= weights
    return kernels @ correct / kernels.sum(axis=1), kernels.sum(axis=1) / weights.sum()


def forecasts(n, low, high, seed=0):
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(low, high, n)
    return confidences, (rng.random(n) < confidences**2).astype(int)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.9, 1), (0, 0.05), (0.4, 0.6)])
@pytest.mark.parametrize("weighted", [False, True])
def test_is_a_kernel_regression_with_mirror_images(low, high, weighted):
    confidences, labels = forecasts(300, low, high)
    weights = np.random.default_rng(1).exponential(size=300) if weighted else np.ones(300)
    given = as_predictions(confidences, labels, sample_weight=weights if weighted else None)
    curve = smooth_reliability(given)
    every = slice(None, None, 64)
    accuracy, density = written_out(
        confidences, labels, curve.confidence[every], curve.width, weights
    )
    seen = density > 1e-5
    assert curve.accuracy[every][seen] == pytest.approx(accuracy[seen], abs=1e-4)
    assert curve.density[every] == pytest.approx(density, abs=1e-5 * density.max())
    assert curve.error == smooth_calibration_error(given) == curve.width


def test_the_density_has_an_area_of_one():
    curve = smooth_reliability(*forecasts(1_000, 0.2, 1))
    assert trapezoid(curve.density, curve.confidence) == pytest.approx(1, abs=1e-6)
    assert curve.confidence.tolist() == np.linspace(0, 1, 1025).tolist()
    assert curve.density.min() >= 0


def test_it_is_unknown_far_from_all_confidences():
    confidences, labels = np.full(1000, 0.9), np.tile([0] + 9 * [1], 100)
    curve = smooth_reliability(confidences, labels)
    near = np.abs(curve.confidence - 0.9) < 3 * curve.width
    assert curve.accuracy[near] == pytest.approx(0.9)
    assert np.isnan(curve.accuracy[:512]).all()
    # The error is 0: the kernel has the least width that there is.
    assert curve.error < 1e-12
    assert 1e-4 < curve.width < 1e-3


def test_of_a_large_sample_it_is_the_truth():
    curve = smooth_reliability(*forecasts(400_000, 0, 1))
    inner = slice(200, 825)
    assert curve.accuracy[inner] == pytest.approx(curve.confidence[inner] ** 2, abs=0.035)
