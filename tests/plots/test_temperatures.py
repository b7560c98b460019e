"""The ECE against the temperature, read from its line."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils import metrics, plots


@pytest.fixture
def logits_and_labels():
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, (500, 4))
    return logits, rng.integers(0, 4, 500)


def test_a_temperature_curve_is_the_ece_of_the_scaled_logits(logits_and_labels):
    logits, labels = logits_and_labels
    temperatures = [0.5, 1.0, 4.0, 50.0]
    expected = []
    for T in temperatures:
        powers = np.exp(logits / T)
        probs = powers / powers.sum(axis=1, keepdims=True)
        expected.append(metrics.expected_calibration_error(probs, labels, 10))
    drawn = plots.temperature_curve(
        logits, labels, temperatures, n_bins=10, marks=[4.0], label="mine", color="red"
    )
    np.testing.assert_allclose(drawn.eces, expected)
    curve, marks = drawn.ax.lines
    np.testing.assert_array_equal(curve.get_xdata(), temperatures)
    np.testing.assert_allclose(curve.get_ydata(), 100 * np.array(expected))
    assert (curve.get_label(), curve.get_color()) == ("mine", "red")
    assert marks.get_xdata() == [4.0]
    np.testing.assert_allclose(marks.get_ydata(), [100 * expected[2]])
    assert drawn.lowest == temperatures[np.argmin(expected)] == 50.0


def test_two_temperature_curves_share_axes(logits_and_labels):
    first = plots.temperature_curve(*logits_and_labels, [1.0, 2.0])
    second = plots.temperature_curve(*logits_and_labels, [1.0, 3.0], ax=first.ax)
    assert second.ax is first.ax
    assert len(plt.get_fignums()) == 1
    assert first.ax.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("temperatures", "message"),
    [
        ([], "temperatures: expected at least one number"),
        ([1.0, 0.0], "temperatures: expected finite numbers above 0, found 0.0"),
    ],
)
def test_a_temperature_that_is_none_is_refused(logits_and_labels, temperatures, message):
    with pytest.raises(ValueError, match=message):
        plots.temperature_curve(*logits_and_labels, temperatures)
    assert plt.get_fignums() == []
