"""Diagrams beside each other: each as if alone, with one legend for all."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from calib_utils import plots


@pytest.mark.parametrize(("count", "rows"), [(1, 1), (3, 2)])
def test_diagrams_side_by_side_are_those_of_each(overconfident, count, rows):
    probs, labels = overconfident
    several = {f"no. {i}": np.roll(probs, i, axis=0) for i in range(count)}
    drawn = plots.reliability_diagrams(several, labels, n_bins=8, min_count=300)
    fig = plt.gcf()
    assert list(drawn) == list(several)
    assert len(fig.axes) == count
    assert fig.axes[0].get_gridspec().nrows == rows
    for title, each in drawn.items():
        alone = plots.reliability_diagram(several[title], labels, n_bins=8, min_count=300)
        for found, expected in zip(each.bins, alone.bins, strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(each.few, alone.few)
        assert each.ece == alone.ece
        assert each.counts_ax.get_title() == title
        assert list(each.counts_ax.texts) == []
    assert [ax.get_legend() for ax in fig.axes] == [None] * count
    assert len(fig.legends) == 1


def test_bars_of_consistency_stand_in_each_diagram_and_in_the_legend_once(overconfident):
    probs, labels = overconfident
    drawn = plots.reliability_diagrams(dict.fromkeys("ab", probs), labels, consistency=0.9)
    alone = plots.reliability_diagram(probs, labels, consistency=0.9)
    segments = alone.ax.collections[0].get_segments()
    for each in drawn.values():
        np.testing.assert_array_equal(each.ax.collections[0].get_segments(), segments)
    (legend,) = drawn["a"].ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()].count("Calibrated, 90 %") == 1


def test_names_of_axes_stand_at_the_left_and_at_the_lowest_diagrams(overconfident):
    probs, labels = overconfident
    drawn = plots.reliability_diagrams(dict.fromkeys("abc", probs), labels)
    assert [bool(drawn[title].ax.get_ylabel()) for title in "abc"] == [True, False, True]
    assert [bool(drawn[title].ax.get_xlabel()) for title in "abc"] == [False, True, True]


def test_nothing_side_by_side_is_refused():
    with pytest.raises(ValueError, match="probs: expected at least one"):
        plots.reliability_diagrams({})
