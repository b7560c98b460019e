"""Ten samples of known confidence, read from the artists on the axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils.plots import confidence_histogram


def test_a_bar_is_the_share_of_the_samples_in_its_bin(samples):
    ax = confidence_histogram(*samples, n_bins=5).ax
    assert all(shown.get_visible() for shown in (ax, *ax.patches))
    np.testing.assert_allclose([bar.get_x() for bar in ax.patches], [0, 0.2, 0.4, 0.6, 0.8])
    np.testing.assert_allclose([bar.get_y() for bar in ax.patches], 0)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], 0.2)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0, 0.1, 0, 0.4, 0.5])
    assert ax.get_xlim() == (0, 1)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > 0.5


def test_the_axis_and_the_legend_say_what_is_shown(samples, binary):
    ax = confidence_histogram(*samples, n_bins=5).ax
    confidence = "Predicted probability" if binary else "Confidence"
    assert (ax.get_xlabel(), ax.get_ylabel()) == (confidence, "Share of samples")
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    legend = dict(zip(names, [line.get_xdata()[0] for line in ax.lines], strict=True))
    share = "Positives" if binary else "Accuracy"
    assert legend == pytest.approx({f"{share} 50.0 %": 0.5, "Mean confidence 76.0 %": 0.76})


def test_a_histogram_is_drawn_on_the_axes_it_is_given(overconfident):
    _, (left, right) = plt.subplots(1, 2)
    assert confidence_histogram(*overconfident, ax=right).ax is right
    assert not left.has_data()
