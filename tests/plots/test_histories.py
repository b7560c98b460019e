"""The panels of a training's history, read from their lines."""

import matplotlib.pyplot as plt
import pytest

from calib_utils import plots

HISTORY = [
    {"epoch": 1, "test_nll": 2.0, "train_loss": 1.5, "seconds": 3.0},
    {"epoch": 2, "test_nll": 1.25, "train_loss": 1.0, "seconds": 3.0},
    {"epoch": 3, "test_nll": 1.5, "train_loss": 0.5, "seconds": 3.0},
]


def test_history_panels_show_each_key_against_the_epoch():
    first, second = plots.history_panels(HISTORY, [["test_nll", "train_loss"], ["seconds"]])
    values = [line.get_xydata().tolist() for line in first.lines]
    assert values == [[[1, 2.0], [2, 1.25], [3, 1.5]], [[1, 1.5], [2, 1.0], [3, 0.5]]]
    assert [text.get_text() for text in first.get_legend().get_texts()] == [
        "Test NLL",
        "Train loss",
    ]
    assert (first.get_title(), second.get_title()) == ("Test NLL", "Seconds")
    assert second.get_legend() is None
    assert (first.get_xlabel(), second.get_xlabel()) == ("", "Epoch")


def test_history_panels_draw_marks_in_each_panel_on_the_axes_they_are_given():
    _, axes = plt.subplots(1, 2)
    assert plots.history_panels(HISTORY, [["seconds"], ["test_nll"]], marks=[2.5], axes=axes) == [
        *axes
    ]
    assert [ax.lines[-1].get_xdata()[0] for ax in axes] == [2.5, 2.5]


def test_a_history_without_the_key_is_refused_before_anything_is_drawn():
    with pytest.raises(ValueError, match="history: entry 0 lacks test_ece; it has epoch, test_nll"):
        plots.history_panels(HISTORY, [["test_nll"], ["test_ece"]])
    with pytest.raises(ValueError, match="history: expected an entry for each epoch, found none"):
        plots.history_panels([], [["test_nll"]])
    assert plt.get_fignums() == []
