"""Maps of recalibrators are checked by their data: the numbers returned, and the lines."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import expit

from calib_utils.plots import calibration_map
from calib_utils.recalibration import HistogramBinning, PlattScaling, TemperatureScaling


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, 1_000)
    return logits, (rng.random(1_000) < expit(logits / 2)).astype(int)


def test_a_map_that_changes_nothing_is_the_diagonal(samples):
    drawn = calibration_map(TemperatureScaling(1).fit(*samples), *samples)
    np.testing.assert_allclose(drawn.curves[""], drawn.scores, rtol=0, atol=1e-12)
    assert drawn.scores[0] < 1e-5
    assert drawn.scores[-1] > 1 - 1e-5
    x, y = drawn.ax.lines[-1].get_data()
    np.testing.assert_array_equal(x, drawn.scores)
    np.testing.assert_array_equal(y, drawn.curves[""])
    assert drawn.ax.get_legend_handles_labels() == ([], [])


def test_the_map_of_bins_is_a_staircase_of_the_share_of_positives(samples):
    logits, labels = samples
    drawn = calibration_map(HistogramBinning(5).fit(logits, labels), logits, labels)
    for low in np.arange(5) / 5:
        here = (drawn.scores > low) & (drawn.scores < low + 0.2)
        in_bin = (expit(logits) > low) & (expit(logits) < low + 0.2)
        np.testing.assert_allclose(drawn.curves[""][here], labels[in_bin].mean())


def test_the_dots_are_groups_of_equal_size(samples):
    logits, labels = samples
    drawn = calibration_map(PlattScaling().fit(*samples), *samples, n_bins=20)
    groups = np.split(np.argsort(logits), 20)
    x, y = drawn.ax.lines[1].get_data()
    np.testing.assert_allclose(x, [expit(logits[group]).mean() for group in groups])
    np.testing.assert_allclose(y, [labels[group].mean() for group in groups])
    np.testing.assert_array_equal(drawn.bins.counts, 50)


def test_scores_and_log_odds_give_one_picture(samples):
    logits, labels = samples
    scores = expit(logits)
    of_logits = calibration_map(PlattScaling().fit(logits, labels), logits, labels)
    platt = PlattScaling(inputs="probs").fit(scores, labels)
    of_scores = calibration_map(platt, scores, labels)
    np.testing.assert_allclose(of_scores.curves[""], of_logits.curves[""], atol=1e-7)
    np.testing.assert_allclose(of_scores.bins.confidence, of_logits.bins.confidence)


def test_several_maps_have_a_line_and_a_name_each(samples):
    _, (left, right) = plt.subplots(1, 2)
    maps = {"cold": TemperatureScaling(0.5), "warm": TemperatureScaling(2)}
    for one in maps.values():
        one.fit(*samples)
    drawn = calibration_map(maps, *samples, ax=right)
    assert drawn.ax is right
    assert not left.has_data()
    assert right.get_legend_handles_labels()[1] == ["cold", "warm"]
    lines = right.lines[-2:]
    for line, T in zip(lines, [0.5, 2], strict=True):
        odds = drawn.scores / (1 - drawn.scores)
        np.testing.assert_allclose(line.get_ydata(), 1 / (1 + odds ** (-1 / T)))
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 2


def test_bad_input_is_refused_before_anything_is_drawn(samples):
    logits, labels = samples
    warm = TemperatureScaling(2)
    with pytest.raises(ValueError, match="labels: expected 1000"):
        calibration_map(warm, logits, labels[1:])
    with pytest.raises(ValueError, match=r"logits: expected shape \(N,\)"):
        calibration_map(warm, np.stack([-logits, logits], axis=1), labels)
    with pytest.raises(ValueError, match="expected one to three, found 4"):
        calibration_map(dict.fromkeys("abcd", warm), logits, labels)
    binned = HistogramBinning(inputs="probs").fit(expit(logits), labels)
    with pytest.raises(ValueError, match="found both"):
        calibration_map({"a": warm, "b": binned}, logits, labels)
    with pytest.raises(RuntimeError, match="not fitted"):
        calibration_map(PlattScaling(), logits, labels)
    assert plt.get_fignums() == []


def test_scores_in_the_place_of_log_odds_are_doubted(samples):
    logits, labels = samples
    fitted = PlattScaling().fit(logits, labels)
    with pytest.warns(UserWarning, match="logits: all are from 0 to 1, like probabilities"):
        calibration_map(fitted, expit(logits), labels)
