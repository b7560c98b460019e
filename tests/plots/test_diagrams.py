"""Figures are checked by their data: the numbers returned, and the artists on the axes."""

from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import same_color, to_rgba
from matplotlib.patches import Rectangle
from scipy.stats import binomtest

from calib_utils import metrics, plots


def bars(ax, hatched):
    """Those that stand alone, and those of an outline of several."""
    found = []
    for patch in (p for p in ax.patches if bool(p.get_hatch()) == hatched):
        shown = {"alpha": patch.get_alpha(), "visible": patch.get_visible()}
        if isinstance(patch, Rectangle):
            found.append(patch)
        else:
            corners = patch.get_path().vertices.reshape(-1, 5, 2)[:, :4]  # the fifth closes
            found += [Rectangle(c.min(0), *np.ptp(c, axis=0), **shown) for c in corners]
    return sorted(found, key=Rectangle.get_x)


def test_the_bars_are_the_accuracy_and_end_with_the_gap_at_the_confidence(overconfident):
    drawn = plots.reliability_diagram(*overconfident, n_bins=10)
    full = drawn.bins.counts > 0
    for i, bar in zip(np.flatnonzero(full), bars(drawn.ax, hatched=False), strict=True):
        assert bar.get_x() == pytest.approx(drawn.bins.edges[i])
        assert bar.get_height() == pytest.approx(drawn.bins.accuracy[i])
    for i, gap in zip(np.flatnonzero(full), bars(drawn.ax, hatched=True), strict=True):
        ends = {gap.get_y(), gap.get_y() + gap.get_height()}
        expected = {drawn.bins.accuracy[i], drawn.bins.confidence[i]}
        np.testing.assert_allclose(sorted(ends), sorted(expected))


def test_a_gap_inside_a_bar_is_hatched_in_white():
    said, right = np.repeat([0.3, 0.7], 10), np.tile([1] * 5 + [0] * 5, 2)
    drawn = plots.reliability_diagram(said, right, n_bins=2)
    colours = {
        bar.get_path().vertices[0, 0]: bar.get_edgecolor()
        for bar in drawn.ax.patches
        if bar.get_hatch() and len(bar.get_path().vertices)
    }
    assert colours == {0: to_rgba("white"), 0.5: to_rgba(plots.ORANGE)}


@pytest.mark.parametrize("bins", [{}, {"n_bins": 40, "strategy": "quantile"}])
def test_the_box_shows_the_ece_and_its_baseline(overconfident, bins):
    drawn = plots.reliability_diagram(*overconfident, **bins)
    assert drawn.ece == pytest.approx(metrics.expected_calibration_error(*overconfident, **bins))
    confidences, _ = metrics.top_label(*overconfident)
    rng = np.random.default_rng(1)
    by_chance = [
        metrics.expected_calibration_error(
            confidences, (rng.random(len(confidences)) < confidences).astype(int), **bins
        )
        for _ in range(200)
    ]
    assert drawn.baseline == pytest.approx(np.mean(by_chance), rel=0.05)
    words = f"ECE = {100 * drawn.ece:.2f} %\nbaseline {100 * drawn.baseline:.2f} %"
    assert words in [text.get_text() for text in drawn.ax.texts]


def test_bins_with_few_samples_are_pale(overconfident):
    drawn = plots.reliability_diagram(*overconfident, n_bins=10, min_count=200)
    expected = (drawn.bins.counts > 0) & (drawn.bins.counts < 200)
    assert expected.any()
    np.testing.assert_array_equal(drawn.few, expected)
    alphas = [bar.get_alpha() for bar in bars(drawn.ax, hatched=False)]
    np.testing.assert_array_equal(np.less(alphas, 1), expected[drawn.bins.counts > 0])


def test_a_bin_of_just_min_count_samples_is_not_pale():
    probs = np.repeat([0.25, 0.75], [20, 19])
    drawn = plots.reliability_diagram(probs, np.zeros(39, int), n_bins=2, min_count=20)
    assert drawn.few.tolist() == [False, True]


def test_the_numbers_on_the_strip_are_the_counts_over_their_bins():
    probs = np.repeat([0.125, 0.375, 0.625], [9_999, 10_000, 3])
    drawn = plots.reliability_diagram(probs, np.zeros(20_002, int), n_bins=4)
    shown = [(text.get_text(), *text.get_position()) for text in drawn.counts_ax.texts]
    assert shown == [
        ("9999", 0.125, 9_999),
        ("10k", 0.375, 10_000),
        ("3", 0.625, 3),
        ("0", 0.875, 0),
    ]


@pytest.mark.parametrize("inches", [2.4, 3.6, 4.6, 8])
def test_counts_are_upright_in_up_to_two_rows_or_left_out(inches):
    """So that none has to be read sideways, no two meet, and none lies on a bar."""
    counts = [3, 10, 250, 9_999, 12, 7, 400, 5_000, 8, 1_000, 99, 6, 77, 300, 2]
    probs = np.repeat((np.arange(15) + 0.5) / 15, counts)
    _, ax = plt.subplots(figsize=(inches, 0.9 * inches))
    drawn = plots.reliability_diagram(probs, np.zeros(len(probs), int), n_bins=15, ax=ax)
    ax.figure.canvas.draw()
    texts = drawn.counts_ax.texts
    assert len(texts) == (15 if inches > 3 else 0)
    assert {text.get_rotation() for text in texts} <= {0}
    boxes = [text.get_window_extent() for text in texts]
    for a, b in combinations(boxes, 2):
        assert a.x1 < b.x0 or a.y0 >= b.y1 or b.y0 >= a.y1
    edges = drawn.ax.transData.transform([[edge, 0] for edge in drawn.bins.edges])[:, 0]
    tops = drawn.counts_ax.transData.transform([[0, count] for count in counts])[:, 1]
    for box in boxes:
        beneath = (edges[:-1] < box.x1 - 1) & (edges[1:] > box.x0 + 1)
        assert box.y0 >= tops[beneath].max() - 1


@pytest.mark.parametrize(("counts", "apart"), [([200] * 15, True), ([20] * 15, False)])
def test_counts_that_would_touch_are_smaller(counts, apart):
    """Three digits as wide as their bar would read as one number from the first bar to the last."""
    probs = np.repeat((np.arange(15) + 0.5) / 15, counts)
    drawn = plots.reliability_diagram(probs, np.zeros(len(probs), int), n_bins=15)
    drawn.ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in drawn.counts_ax.texts]
    digit = boxes[0].width / len(str(counts[0]))
    assert all(b.x0 - a.x1 > digit / 3 for a, b in pairwise(boxes))
    sizes = {text.get_fontsize() for text in drawn.counts_ax.texts}
    legend = drawn.ax.get_legend().get_texts()[0].get_fontsize()
    assert (max(sizes) < legend) == apart


@pytest.mark.parametrize("min_count", [0, 10_000])
def test_a_legend_explains_the_bars_though_all_are_pale_or_none(overconfident, min_count):
    drawn = plots.reliability_diagram(*overconfident, min_count=min_count)
    shown = drawn.ax.get_legend().get_patches()
    assert [bool(patch.get_hatch()) for patch in shown] == [False, True]
    blue, orange = plots.BLUE, plots.ORANGE
    assert same_color(shown[0].get_facecolor(), blue)
    assert same_color(shown[1].get_edgecolor(), orange)


@pytest.mark.parametrize("inches", [3.6, 4.6])
@pytest.mark.parametrize("consistency", [None, 0.9])
@pytest.mark.parametrize("more", [0.0, 0.6])
def test_no_bar_ends_under_the_legend(more, consistency, inches):
    """Where a model is not sure enough, its bars reach into the upper left."""
    rng = np.random.default_rng(0)
    probs = rng.random(3_000)
    labels = (rng.random(3_000) < probs + more).astype(int)
    _, ax = plt.subplots(figsize=(inches, inches))
    drawn = plots.reliability_diagram(probs, labels, ax=ax, consistency=consistency)
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent().transformed(ax.transData.inverted())
    edges, bins = drawn.bins.edges, drawn.bins
    for left, right, *tops in zip(
        edges[:-1], edges[1:], bins.accuracy, bins.confidence, strict=True
    ):
        beside = right < box.x0 or box.x1 < left
        assert beside or not box.y0 < max(tops) < box.y1
    if more == 0 and inches > 4:  # where it is free, in the usual place
        assert box.x0 < 0.1


@pytest.mark.parametrize("size", [7, 16])
@pytest.mark.parametrize("counts", [True, False])
def test_all_words_of_a_diagram_are_on_the_paper(overconfident, size, counts):
    with plt.rc_context({"font.size": size}):
        drawn = plots.reliability_diagram(*overconfident, counts=counts)
        drawn.counts_ax.set_title("Of a title, too")
        fig = drawn.ax.figure
        fig.canvas.draw()
    words = fig.get_tightbbox().padded(-1e-3)
    assert words.x0 >= 0
    assert words.y0 >= 0
    assert words.x1 <= fig.get_figwidth()
    assert words.y1 <= fig.get_figheight()


def test_equal_mass_bins_are_drawn_at_their_edges(overconfident):
    drawn = plots.reliability_diagram(*overconfident, n_bins=5, strategy="quantile")
    assert np.ptp(drawn.bins.counts) <= 1
    assert [b.get_x() for b in bars(drawn.ax, hatched=False)] == pytest.approx(
        list(drawn.bins.edges[:-1])
    )


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_bars_of_consistency_hold_the_accuracies_of_calibrated_networks(strategy):
    rng = np.random.default_rng(0)
    probs = rng.uniform(0.3, 1, 600)
    labels = (rng.random(600) < probs).astype(int)
    plain = plots.reliability_diagram(probs, labels, n_bins=10, strategy=strategy)
    assert len(plain.ax.collections) == 0
    drawn = plots.reliability_diagram(probs, labels, n_bins=10, strategy=strategy, consistency=0.9)
    bars = np.array(drawn.ax.collections[0].get_segments())  # (bars, 2 ends, x and y)
    full = drawn.bins.counts > 0
    assert bars[:, 0, 0] == pytest.approx((drawn.bins.edges[:-1] + drawn.bins.edges[1:])[full] / 2)
    inside = []
    for _ in range(400):
        again = (rng.random(600) < probs).astype(int)
        accuracy = metrics.reliability_bins(probs, again, 10, strategy).accuracy[full]
        inside.append((bars[:, 0, 1] - 1e-9 <= accuracy) & (accuracy <= bars[:, 1, 1] + 1e-9))
    # Numbers of right answers are whole: so a bar holds 90 % or somewhat more.
    assert (np.mean(inside, axis=0) > 0.86).all()
    assert np.mean(inside) < 0.96


def test_a_diagram_is_drawn_on_the_axes_it_is_given(overconfident):
    _, (left, right) = plt.subplots(1, 2)
    assert plots.reliability_diagram(*overconfident, ax=right).ax is right
    assert not left.has_data()


def interval_lines(ax, name):
    (lines,) = (each for each in ax.collections if each.get_label() == name)
    return np.array(lines.get_segments())[:, :, 1]


def test_intervals_are_wilsons():
    """Wilson's, of 3 of 10 in the first bin and none of 5 in the second."""
    probs, labels = [0.4] * 10 + [0.8] * 5, [1] * 3 + [0] * 7 + [0] * 5
    drawn = plots.reliability_diagram(probs, labels, n_bins=2, intervals=0.95)
    found = interval_lines(drawn.ax, "Interval, 95 %")
    for (low, high), k, n in zip(found, (3, 0), (10, 5), strict=True):
        expected = binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_intervals_and_bars_of_consistency_are_two_diagrams():
    with pytest.raises(ValueError, match="intervals: expected None where"):
        plots.reliability_diagram([0.2, 0.7], [0, 1], intervals=0.9, consistency=0.9)


class TestWhatIsDrawn:
    """Ten samples of known confidence, read from the artists on the axes."""

    # In five bins: none, one at 0.3, none, four at 0.7, five at 0.9.
    EDGES = (0.0, 0.2, 0.4, 0.6, 0.8)
    COUNTS = (0, 1, 0, 4, 5)

    @pytest.fixture
    def diagram(self, samples):
        return plots.reliability_diagram(*samples, n_bins=5)

    def assert_bars(self, ax, heights):
        """One for each bin, from 0 to its height, and none cut off by the end of an axis."""
        found = bars(ax, hatched=False)
        assert all(bar.get_visible() for bar in (ax, *found))
        np.testing.assert_allclose([bar.get_x() for bar in found], self.EDGES)
        np.testing.assert_allclose([bar.get_width() for bar in found], 0.2)
        np.testing.assert_allclose([bar.get_y() for bar in found], 0)
        np.testing.assert_allclose([bar.get_height() for bar in found], heights)
        assert ax.get_xlim() == (0, 1)
        assert ax.get_ylim()[0] == 0
        assert ax.get_ylim()[1] >= max(heights)

    def test_the_diagonal_is_where_accuracy_equals_confidence(self, diagram):
        (diagonal,) = diagram.ax.lines
        np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
        assert (diagram.ax.get_xlim(), diagram.ax.get_ylim()) == ((0, 1), (0, 1))
        assert diagonal.get_visible()

    def test_the_axes_and_the_legend_of_a_diagram_say_what_they_show(self, diagram, binary):
        confidence = "Predicted probability" if binary else "Confidence"
        accuracy = "Frequency of the positive class" if binary else "Accuracy"
        assert (diagram.ax.get_xlabel(), diagram.ax.get_ylabel()) == (confidence, accuracy)
        assert diagram.counts_ax.get_ylabel() == "n"
        bar, line = "Positives" if binary else "Accuracy", "Perfect calibration"
        legend = [text.get_text() for text in diagram.ax.get_legend().get_texts()]
        low = "Gap, predicted low" if binary else "Gap, underconfident"
        assert sorted(legend) == sorted([bar, "Gap", low, line])

    def test_a_strip_above_the_diagram_counts_the_samples(self, diagram):
        self.assert_bars(diagram.counts_ax, self.COUNTS)
        assert diagram.counts_ax in diagram.ax.child_axes
        diagram.ax.figure.canvas.draw()
        strip, box = (ax.get_window_extent() for ax in (diagram.counts_ax, diagram.ax))
        assert strip.y0 >= box.y1
        assert (strip.x0, strip.x1) == pytest.approx((box.x0, box.x1))
        numbers = [text for text in diagram.counts_ax.texts if text.get_visible()]
        assert [text.get_text() for text in numbers] == [str(count) for count in self.COUNTS]
        places = [(left + 0.1, count) for left, count in zip(self.EDGES, self.COUNTS, strict=True)]
        np.testing.assert_allclose([text.get_position() for text in numbers], places)

    def test_without_counts_the_strip_keeps_its_bars_and_loses_its_numbers(self, samples):
        drawn = plots.reliability_diagram(*samples, n_bins=5, counts=False)
        self.assert_bars(drawn.counts_ax, self.COUNTS)
        assert [text.get_text() for text in drawn.counts_ax.texts] == []
        (box,) = drawn.ax.texts
        assert box.get_text().startswith("ECE")


@pytest.mark.parametrize(
    ("probs", "name"),
    [([[0.6, 0.4]] * 10, "Gap, underconfident"), ([0.6] * 10, "Gap, predicted low")],
)
def test_a_gap_inside_a_bar_has_a_name_of_its_own(probs, name):
    labels = np.array([0 if np.ndim(probs) == 2 else 1] * 10)
    drawn = plots.reliability_diagram(np.array(probs), labels)
    legend = drawn.ax.get_legend()
    assert legend.get_texts()[-1].get_text() == name
    patch = legend.get_patches()[-1]
    assert patch.get_hatch()
    assert same_color(patch.get_facecolor(), plots.BLUE)
    assert same_color(patch.get_edgecolor(), "white")
    above = plots.reliability_diagram(np.array(probs), 1 - labels)
    assert name not in [text.get_text() for text in above.ax.get_legend().get_texts()]
    # Of several diagrams, those that have one name it for all.
    both = plots.reliability_diagrams({"a": np.array(probs), "b": np.array(probs)}, labels)
    (shared,) = both["a"].ax.figure.legends
    assert [text.get_text() for text in shared.get_texts()].count(name) == 1


@pytest.mark.parametrize("consistency", [None, 0.95])
def test_bins_have_the_edges_that_were_asked_for(consistency):
    probs = np.random.default_rng(0).random(800)
    labels = (np.random.default_rng(1).random(800) < probs).astype(int)
    edges = [0, 0.25, 0.9, 1]
    drawn = plots.reliability_diagram(probs, labels, n_bins=edges, consistency=consistency)
    assert drawn.bins.edges.tolist() == edges
    assert drawn.ece == metrics.expected_calibration_error(probs, labels, edges)
    assert drawn.baseline == metrics.baseline_calibration_error(probs, edges).mean
