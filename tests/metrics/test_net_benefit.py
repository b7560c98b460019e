"""Net benefit: by hand, by counting row after row, and what must hold of it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils.metrics import decision_curve
from calib_utils.plots import decision_curve_plot
from calib_utils.predictions import as_predictions

RNG = np.random.default_rng(0)
PROBS = RNG.random(500).round(2)  # with ties, and values on the thresholds
LABELS = (RNG.random(500) < PROBS).astype(int)


def by_counting(probs, labels, threshold, weights):
    """What each case brings: one if it was needed, and less of what acting costs if not."""
    benefit = cases = 0.0
    for chance, positive, weight in zip(probs, labels, weights, strict=True):
        cases += weight
        if chance >= threshold:
            benefit += weight * (1 if positive else -threshold / (1 - threshold))
    return benefit / cases


@pytest.mark.parametrize("weights", [None, RNG.random(500)])
def test_it_is_its_definition(weights):
    curve = decision_curve(as_predictions(PROBS, LABELS, sample_weight=weights))
    np.testing.assert_array_equal(curve.thresholds, [k / 100 for k in range(1, 100)])
    weights = np.ones(500) if weights is None else weights
    for at, found, of_all in zip(*curve, strict=True):
        assert found == pytest.approx(by_counting(PROBS, LABELS, at, weights), abs=1e-12)
        expected = by_counting(np.ones(500), LABELS, at, weights)
        assert of_all == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    """Of ten, four get 0.5 and one of those is needed; two get 0.9, and both are."""
    probs = [0.1] * 4 + [0.5] * 4 + [0.9] * 2
    labels = [0] * 4 + [1, 0, 0, 0] + [1, 1]
    curve = decision_curve(probs, labels, [0.05, 0.5, 0.6, 0.95])
    expected = [0.3 - 0.7 / 19, 0.3 - 0.3, 0.2, 0.0]
    np.testing.assert_allclose(curve.net_benefit, expected, atol=1e-12)
    np.testing.assert_allclose(curve.treat_all, [0.3 - 0.7 / 19, -0.4, -0.75, -13.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_a_probability_at_the_threshold_is_acted_on(dtype):
    for at in (0.1, 0.2, 0.3, 0.7, 0.9):
        curve = decision_curve(np.full(4, at, dtype), [1, 1, 1, 0], [at])
        assert curve.net_benefit == curve.treat_all


def test_calibrated_probabilities_are_never_worse_than_all_or_none():
    chances = RNG.beta(1, 3, 200_000)
    curve = decision_curve(chances, (RNG.random(200_000) < chances).astype(int))
    assert (curve.net_benefit > np.maximum(curve.treat_all, 0) - 0.003).all()
    # Here the chances are 0.4 too high: acting at 0.5 happens where it was not worth it.
    worse = decision_curve(chances**0.4, (RNG.random(200_000) < chances).astype(int), [0.5])
    assert worse.net_benefit < -0.02


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        ([0.0], "0.0"),
        ([0.2, 1.0], "1.0"),
        ([np.nan], "nan"),
        (0.5, r"shape \(\)"),
        ([], r"shape \(0,\)"),
    ],
)
def test_thresholds_between_zero_and_one(bad, found):
    with pytest.raises(ValueError, match=rf"^thresholds: expected \(M,\) .*found {found}"):
        decision_curve(PROBS, LABELS, bad)


@pytest.mark.parametrize("name", ["", "_mine", None, 3])
def test_a_name_that_no_legend_shows(name):
    with pytest.raises(ValueError, match=r"^name: expected text, found "):
        decision_curve_plot(PROBS, LABELS, name=name)


def test_the_picture_shows_the_curve_beside_all_and_none():
    drawn = decision_curve_plot(PROBS, LABELS, name="A network")
    model, of_all, none = drawn.ax.lines
    np.testing.assert_array_equal(model.get_xydata(), np.transpose(drawn.curve[:2]))
    np.testing.assert_array_equal(of_all.get_ydata(), drawn.curve.treat_all)
    assert set(none.get_ydata()) == {0}
    assert [line.get_label() for line in drawn.ax.lines] == ["A network", "All", "None"]
    low, high = drawn.ax.get_ylim()
    assert low < 0 < drawn.curve.net_benefit.max() < high
    assert decision_curve_plot(PROBS, LABELS, ax=drawn.ax).ax is drawn.ax
    plt.close("all")
