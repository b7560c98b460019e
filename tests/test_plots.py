"""Figures are checked by their data: the numbers returned, and the artists on the axes."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from calib_utils import metrics, plots


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def overconfident():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (3_000, 10))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return probs, rng.integers(0, 10, 3_000)


def bars(ax, hatched):
    found = [p for p in ax.patches if isinstance(p, Rectangle) and bool(p.get_hatch()) == hatched]
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


def test_the_box_shows_the_ece(overconfident):
    drawn = plots.reliability_diagram(*overconfident)
    assert drawn.ece == pytest.approx(metrics.expected_calibration_error(*overconfident))
    assert f"ECE = {100 * drawn.ece:.2f} %" in [t.get_text() for t in drawn.ax.texts]


def test_every_bin_says_how_many_samples_it_holds(overconfident):
    drawn = plots.reliability_diagram(*overconfident, n_bins=8)
    assert [t.get_text() for t in drawn.counts_ax.texts] == [str(c) for c in drawn.bins.counts]
    assert drawn.bins.counts.sum() == 3_000


def test_bins_with_few_samples_are_pale(overconfident):
    drawn = plots.reliability_diagram(*overconfident, n_bins=10, min_count=200)
    expected = (drawn.bins.counts > 0) & (drawn.bins.counts < 200)
    assert expected.any()
    np.testing.assert_array_equal(drawn.few, expected)
    alphas = [bar.get_alpha() for bar in bars(drawn.ax, hatched=False)]
    np.testing.assert_array_equal(np.less(alphas, 1), expected[drawn.bins.counts > 0])


def test_binary_probabilities_are_read_as_those_of_the_positive_class():
    probs, labels = np.array([0.1, 0.1, 0.9, 0.9]), np.array([0, 1, 1, 1])
    drawn = plots.reliability_diagram(probs, labels, n_bins=2)
    np.testing.assert_allclose(drawn.bins.accuracy, [0.5, 1.0])
    assert drawn.ax.get_ylabel() == "Frequency of the positive class"


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


def test_bars_of_consistency_of_large_bins_are_normal():
    probs = np.full(10_000, 0.5)
    drawn = plots.reliability_diagram(probs, np.arange(10_000) % 2, n_bins=2, consistency=0.95)
    ends = drawn.ax.collections[0].get_segments()[0][:, 1]
    assert ends == pytest.approx([0.5 - 1.96 * 0.005, 0.5 + 1.96 * 0.005], abs=1e-5)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_of_consistency_is_a_share(level, overconfident):
    with pytest.raises(ValueError, match=r"^consistency: expected a number between 0 and 1"):
        plots.reliability_diagram(*overconfident, consistency=level)


def test_histogram_shares_sum_to_one_and_the_lines_are_the_means(overconfident):
    probs, labels = overconfident
    drawn = plots.confidence_histogram(probs, labels)
    assert drawn.share.sum() == pytest.approx(1)
    assert drawn.mean_confidence == pytest.approx(probs.max(axis=1).mean())
    assert drawn.accuracy == pytest.approx((probs.argmax(axis=1) == labels).mean())
    places = [line.get_xdata()[0] for line in drawn.ax.lines]
    assert places == [drawn.accuracy, drawn.mean_confidence]
    heights = [bar.get_height() for bar in bars(drawn.ax, hatched=False)]
    np.testing.assert_allclose(heights, drawn.share)


@pytest.mark.parametrize("plot", [plots.reliability_diagram, plots.confidence_histogram])
def test_plots_draw_on_the_axes_they_are_given(plot, overconfident):
    _, (left, right) = plt.subplots(1, 2)
    assert plot(*overconfident, ax=right).ax is right
    assert not left.has_data()


@pytest.mark.parametrize("plot", [plots.reliability_diagram, plots.confidence_histogram])
def test_bad_input_is_refused_before_anything_is_drawn(plot):
    with pytest.raises(ValueError, match="labels"):
        plot(np.full((3, 2), 0.5), np.array([0, 1, 2]))
    assert plt.get_fignums() == []


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
