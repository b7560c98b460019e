"""The bars beside an image are checked by the artists on the axes."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import same_color

from calib_utils.plots import BLUE, GREY, ORANGE, probability_bars

IMAGE = np.arange(6).reshape(2, 3)
BEFORE, AFTER = [0.04, 0.95, 0.01], [0.5, 0.3, 0.2]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def colours(ax):
    named = {"blue": BLUE, "orange": ORANGE, "grey": GREY}
    return [
        next(name for name, colour in named.items() if same_color(bar.get_facecolor(), colour))
        for bar in ax.patches
    ]


def test_each_title_has_a_bar_for_each_class():
    drawn = probability_bars(IMAGE, {"before": BEFORE, "after": AFTER}, 0, names="abc")
    for title, probs in {"before": BEFORE, "after": AFTER}.items():
        ax = drawn.axes[title]
        assert ax.get_title() == title
        assert [bar.get_height() for bar in ax.patches] == probs
        assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert drawn.image_ax.get_xlabel() == "True: a"
    np.testing.assert_array_equal(drawn.image_ax.images[0].get_array(), IMAGE)


def test_a_wrong_answer_is_told_from_a_right_one():
    drawn = probability_bars(IMAGE, {"before": BEFORE, "after": AFTER}, 0)
    assert drawn.predicted == {"before": 1, "after": 0}
    wrong, right = drawn.axes.values()
    assert colours(wrong) == ["blue", "orange", "grey"]
    assert [bool(bar.get_hatch()) for bar in wrong.patches] == [False, True, False]
    assert {text.get_text() for text in wrong.texts} == {"4.0 %", "95.0 %"}
    assert colours(right) == ["blue", "grey", "grey"]
    assert not any(bar.get_hatch() for bar in right.patches)
    assert [text.get_text() for text in right.texts] == ["50.0 %"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": {}}, "probs: expected at least one set"),
        ({"probs": {"a": BEFORE, "b": [0.5, 0.5]}}, "probs: expected as many classes"),
        ({"probs": {"a": [0.5, 0.6, 0.1]}}, "probs: .*sum"),
        ({"label": 3}, "label: expected 0 to 2, found 3"),
        ({"names": ["cat"]}, "names: expected 3 names, found"),
        ({"image": [1, 2]}, r"image: expected shape \(H, W\)"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(change, message):
    with pytest.raises(ValueError, match=message):
        probability_bars(**{"image": IMAGE, "probs": {"a": BEFORE}, "label": 0} | change)
    assert plt.get_fignums() == []


def test_no_number_crosses_the_frame():
    both = {"first": np.eye(10)[0], "last": np.eye(10)[9]}
    drawn = probability_bars(np.eye(8), both, 0)
    drawn.image_ax.figure.draw_without_rendering()
    for ax in drawn.axes.values():
        frame = ax.get_window_extent()
        for text in ax.texts:
            box = text.get_window_extent()
            assert frame.x0 < box.x0
            assert box.x1 < frame.x1
