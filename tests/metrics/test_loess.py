"""The integrated calibration index, by its definition and beside R's ``loess``."""

import numpy as np
import pytest

from calib_utils.metrics import integrated_calibration_index, loess
from calib_utils.predictions import as_predictions

RNG = np.random.default_rng(0)


def by_definition(confidences, correct, weights=None):
    """One parabola after the other, of rows that are sorted by their distance."""
    weights = np.ones(len(correct)) if weights is None else weights
    gaps = []
    for at in confidences:
        far = np.abs(confidences - at)
        order = np.argsort(far, kind="stable")
        last = np.searchsorted(np.cumsum(weights[order]), 0.75 * weights.sum() * (1 - 1e-9))
        u = far / far[order[last]]
        tricube = np.where(u < 1, (1 - u**3) ** 3, 0)
        held = tricube * weights > 0
        roots = np.sqrt(tricube * weights)[held]
        parabola = np.polyfit(confidences[held] - at, correct[held], 2, w=roots)
        gaps.append(abs(parabola[2] - at))
    return np.average(gaps, weights=weights)


@pytest.mark.parametrize("n", [40, 90])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("places", [2, 9])
def test_it_is_its_definition(n, weighted, places):
    confidences = RNG.random(n).round(places)  # with ties, or none
    correct = (RNG.random(n) < confidences**2).astype(int)
    weights = RNG.random(n) if weighted else None
    given = as_predictions(confidences, correct, sample_weight=weights)
    expected = by_definition(confidences, correct, weights)
    assert integrated_calibration_index(given) == pytest.approx(expected, rel=1e-9)


# The data set "cars" of R, and the values of loess(dist ~ speed, cars) that its help page shows,
# where R solves the regression and does not interpolate.
SPEED = np.repeat(
    [4.0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24, 25],
    [2, 2, 1, 1, 3, 2, 4, 4, 4, 3, 2, 3, 4, 3, 5, 1, 1, 4, 1],
)
DISTANCE = [
    *(2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20),
    *(26, 54, 32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92),
    *(93, 120, 85),
]
R = {8: 15.281082, 10: 21.865315, 12: 29.350386, 13: 33.230660, 14: 37.167935, 15: 41.205226}
R |= {17: 48.355889, 19: 51.986702, 22: 68.569313}


def test_the_curve_is_that_of_r(monkeypatch):
    monkeypatch.setattr(loess, "_SPAN", 37 / 50)  # R rounds 37.5 neighbours down
    speeds, where = np.unique(SPEED, return_inverse=True)
    masses = np.bincount(where).astype(float)
    means = np.bincount(where, DISTANCE) / masses
    curve = dict(zip(speeds, loess._loess(speeds, means, masses, np.arange(19)), strict=True))
    assert {at: curve[at] for at in R} == pytest.approx(R, abs=5e-3)


@pytest.mark.parametrize("shape", [(0.5, 0.5), (5, 0.5), (2, 2)])
def test_it_is_interpolated_where_values_are_many(monkeypatch, shape):
    confidences = RNG.beta(*shape, 1_500)
    correct = (RNG.random(1_500) < confidences**1.5).astype(int)
    found = integrated_calibration_index(confidences, correct)
    monkeypatch.setattr(loess, "_MOST_PLACES", 10_000)
    assert found == pytest.approx(integrated_calibration_index(confidences, correct), rel=2e-3)


def test_it_is_the_mean_gap_of_a_network_whose_chances_are_known():
    confidences = RNG.random(40_000)
    correct = (RNG.random(40_000) < 0.1 + 0.6 * confidences).astype(int)
    expected = np.abs(0.1 - 0.4 * confidences).mean()
    assert integrated_calibration_index(confidences, correct) == pytest.approx(expected, abs=0.01)


def test_few_values_are_their_own_places():
    """Of one value, or of two or three, the curve is how often it happened there."""
    assert integrated_calibration_index([0.3] * 8, [0, 1] * 4) == pytest.approx(0.2)
    probs, labels = [0.3] * 8 + [0.6] + [0.9], [0, 1] * 4 + [1, 1]
    assert integrated_calibration_index(probs, labels) == pytest.approx(0.16 + 0.04 + 0.01)
    assert integrated_calibration_index([0.3, 0.6], [0, 1]) == pytest.approx(0.35)
    assert integrated_calibration_index([0.3], [0]) == pytest.approx(0.3)
