"""What the page's script draws of a small figure, on a page of its own: no built book is needed.

Each of its looks is computed here from the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.book.script_page import FIGURE, PAGE, course_style, script_page
from tools.finishing import interactive as play

GROUND, INK, QUIET = "rgb(255, 255, 255)", "rgb(1, 2, 3)", "rgb(90, 90, 90)"
BLUE, ORANGE = "rgb(0, 114, 178)", "rgb(194, 78, 0)"
COLOURS = {"background": GROUND, "text-base": INK, "text-muted": QUIET, "surface": GROUND}
# In units of a panel: where its axes end.
LEFT, RIGHT, DIAGRAM_TOP, LINES_TOP, HEIGHT = 40, 328, 76, 26, 330
BOTTOM = HEIGHT - 38

# Counts, right answers, summed confidence. The second bin has fewer than a hundred answers, the
# third has as many. Bars are too low, but for the last one, which is too high.
BINS = [[0, 99, 100, 400], [0, 33, 45, 380], [0, 40, 60, 340]]
# The narrowest bin is thinner than a pixel.
UNEQUAL = [[100, 50, 300], [20, 25, 150], [40, 24, 240], [0.1, 0.5, 0.501, 1]]
# The second point stands above the axis, the third on its upper end.
CURVE = ([0, 0.25, 0.5, 1], [0.5, 1.4, 1, 0.2])
# At the start, the second point stands above the axis.
CHANGED = ([0, 0.95, 1], [[0.2, 1.4, 0.8], *[[0.3, 0.5, 0.9]] * 3])


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    """A page with the small figure, as wide as its panels are in their own units."""
    shares = play.axis(0, 1, [0, 1])
    stops = ["1", "2", "3", "4"]
    one = play.play(
        ["fig-a"],
        "Small",
        "A caption.",
        "An alt text.",
        [play.slider("Knob", stops, marks={2: "third"}), play.again("Again", ["x", "y", "z"])],
        [play.number("n", ["1,000", "b", "c", "d"], [0])],
        [
            play.diagram(play.table([BINS] * 3 + [[[0, 1, 0, 0]] * 3], [0]), few=100),
            play.diagram(play.table([UNEQUAL]), "x", few=100, relative=True),
            play.lines(
                "Title",
                shares | {"label": "Across"},
                shares,
                [
                    play.curve(CURVE[0], CURVE[1], "moving", "a", moves=True),
                    play.curve([0, 1], [0.1, 0.9], "squares", "b", dots="s"),
                    play.curve(CHANGED[0], play.table(CHANGED[1], [0]), "both", "c", dots="d+"),
                ],
                at=0,
                marks=[(0.4, "before"), (0.6, "after")],
                height=HEIGHT,
            ),
        ],
    )
    body = course_style(**COLOURS) + play.placed(FIGURE.format("a"), {"fig-a": one})
    size = {"width": 900, "height": 900}
    with script_page(browser, body, "play.js", viewport=size) as tab:
        yield tab


def panel(tab: Any, nth: int, stop: int = 0) -> Any:
    """A panel at a stop of the slider."""
    tab.locator("input").fill(str(stop))
    return tab.locator(".play-panels svg").nth(nth)


def sides(panel: Any, kind: str) -> np.ndarray:
    """Left, top, width and height of the rectangles of a kind, without those of the legend."""
    read = "all => all.map(one => ['x', 'y', 'width', 'height'].map(k => +one.getAttribute(k)))"
    in_legend = 0 if kind == "play-count" else 2
    return np.array(panel.locator(f"rect.{kind}").evaluate_all(read))[in_legend:]


def styles(panel: Any, query: str, key: str) -> list[str]:
    return panel.locator(query).evaluate_all(
        "(all, key) => all.map(one => getComputedStyle(one)[key])", key
    )


@pytest.mark.parametrize(("nth", "frame"), [(0, BINS), (1, UNEQUAL)])
def test_bars_stand_on_their_bins_and_end_at_the_accuracy(
    nth: int, frame: list[list[float]], tab: Any
) -> None:
    counts, right, summed = np.array(frame[:3], dtype=float)
    edges = np.array(frame[3]) if len(frame) > 3 else np.linspace(0, 1, len(counts) + 1)
    full = counts > 0
    starts, widths = (RIGHT - LEFT) * edges[:-1][full] + LEFT, (RIGHT - LEFT) * np.diff(edges)[full]
    up = (BOTTOM - DIAGRAM_TOP) * np.stack([right, summed])[:, full] / counts[full]
    drawn = {kind: sides(panel(tab, nth), f"play-{kind}").T for kind in ("bar", "gap", "count")}
    for x, _, width, _ in drawn.values():
        np.testing.assert_allclose(x, starts + 0.6, atol=0.02)
        # With a gap between two, and never too thin to be seen.
        np.testing.assert_allclose(width, np.maximum(widths - 1.2, 0.8), atol=0.02)
    for kind, low, high in (("bar", 0 * up[0], up[0]), ("gap", up.min(axis=0), up.max(axis=0))):
        _, y, _, height = drawn[kind]
        np.testing.assert_allclose(y, BOTTOM - high, atol=0.02)
        np.testing.assert_allclose(height, high - low, atol=0.02)
    _, y, _, height = drawn["count"]
    np.testing.assert_allclose(height, 40 * counts[full] / counts.max(), atol=0.02)
    np.testing.assert_allclose(y + height, 64, atol=0.02)


def test_the_strip_is_as_high_as_the_fullest_bin_of_all_frames_or_of_its_own(tab: Any) -> None:
    alone = sides(panel(tab, 0, stop=3), "play-count")
    np.testing.assert_allclose(alone[:, 3], 40 / 400, atol=0.01)
    assert "400" in panel(tab, 0, stop=3).locator("text").all_text_contents()
    assert "300" in panel(tab, 1).locator("text").all_text_contents()


def test_bars_of_few_answers_are_pale(tab: Any) -> None:
    """With their gaps; those of as many as the limit are not."""
    seen = "one => +getComputedStyle(one).opacity * +getComputedStyle(one.parentNode).opacity"
    for nth, pale in ((0, [True, False, False]), (1, [False, True, False])):
        for kind in ("bar", "gap"):
            bars = panel(tab, nth).locator(f"g > rect.play-{kind}")
            opacities = bars.evaluate_all(f"all => all.map({seen})")
            assert [one < 0.5 for one in opacities] == pale, (nth, kind)
            assert {one for one in opacities if one >= 0.5} == {1}
    assert set(styles(panel(tab, 0), "rect.play-bar", "fill")) == {BLUE}
    assert set(styles(panel(tab, 0), "rect.play-count", "opacity")) == {"1"}


def test_a_gap_above_its_bar_is_orange_and_one_inside_it_can_be_seen(tab: Any) -> None:
    """Both rise to the right, as the gaps of `reliability_diagram` do."""
    hatch = """one => {
        const name = getComputedStyle(one).fill.match(/#([^"')]+)/)[1];
        const pattern = document.getElementById(name), line = pattern.querySelector("line");
        const { a, b, c, d } = pattern.patternTransform.baseVal.consolidate().matrix;
        const [x, y] = ["x", "y"].map(k => line[k + 2].baseVal.value - line[k + 1].baseVal.value);
        const { stroke, strokeWidth } = getComputedStyle(line);
        return [stroke, parseFloat(strokeWidth), -(b * x + d * y) / (a * x + c * y)];
    }"""
    found = panel(tab, 0).locator("rect.play-gap").evaluate_all(f"all => all.map({hatch})")
    colours, widths, rises = zip(*found, strict=True)
    # First those in the legend.
    assert colours == (ORANGE, GROUND, ORANGE, ORANGE, GROUND)
    assert min(widths) >= 1
    np.testing.assert_allclose(rises, 1)
    assert set(styles(panel(tab, 0), "rect.play-gap", "stroke")) == {ORANGE}


def test_a_line_leaves_out_what_is_above_its_axis(tab: Any) -> None:
    drawn = panel(tab, 2).locator("path.play-line.play-a").first.get_attribute("d")
    points = [[float(side) for side in point.split(",")] for point in drawn[1:].split("L")]
    across, up = np.array(CURVE)[:, [0, 2, 3]]
    np.testing.assert_allclose(
        points,
        np.stack([LEFT + (RIGHT - LEFT) * across, BOTTOM - (BOTTOM - LINES_TOP) * up], axis=1),
        atol=0.02,
    )


@pytest.mark.parametrize("stop", range(4))
def test_a_dot_runs_along_the_line_and_is_not_drawn_above_the_axis(stop: int, tab: Any) -> None:
    here, dot = (panel(tab, 2, stop).locator(f".play-{kind}") for kind in ("here", "dot"))
    x, y = LEFT + (RIGHT - LEFT) * CURVE[0][stop], BOTTOM - (BOTTOM - LINES_TOP) * CURVE[1][stop]
    assert float(here.get_attribute("x1")) == pytest.approx(x, abs=0.02)
    assert dot.count() == (CURVE[1][stop] <= 1)
    if dot.count():
        place = [float(dot.get_attribute(side)) for side in ("cx", "cy")]
        assert place == pytest.approx([x, y], abs=0.02)


def test_the_marks_of_a_slider_stand_at_their_stops_and_lead_there(tab: Any) -> None:
    panel(tab, 0)
    track = tab.locator(".play-track")
    mark, room = track.locator("span").bounding_box(), track.bounding_box()
    thumb = 24  # in pixels: it ends where the track does
    at = room["x"] + thumb / 2 + 2 / 3 * (room["width"] - thumb)
    assert mark["x"] + mark["width"] / 2 == pytest.approx(at, abs=1)
    tab.get_by_role("button", name="third").click()
    knob = tab.locator("input")
    assert knob.input_value() == "2"
    assert knob.get_attribute("aria-valuetext") == "3: n c"
    assert tab.locator("dd").text_content() == "c"


def test_a_button_goes_round(tab: Any) -> None:
    button, value = tab.get_by_role("button", name="Again"), tab.locator("button + output")
    seen = []
    for _ in range(4):
        seen.append(value.text_content())
        button.click()
    assert seen == ["x", "y", "z", "x"]


def test_a_pale_line_shows_how_it_was_at_the_start(tab: Any) -> None:
    """The accuracies of the first frame, as soon as another one is shown; none before."""
    assert panel(tab, 0).locator(".play-ghost").count() == 0
    ends = "all => all.map(one => ['x1', 'x2', 'y1', 'y2'].map(k => +one.getAttribute(k)))"
    in_legend, *ghosts = panel(tab, 0, stop=3).locator("line.play-ghost").evaluate_all(ends)
    assert in_legend[2:] == [9, 9]
    assert max(map(float, styles(panel(tab, 0, stop=3), "line.play-ghost", "opacity"))) < 0.7
    counts, right, _ = np.array(BINS, dtype=float)
    full = counts > 0
    edges = LEFT + (RIGHT - LEFT) * np.linspace(0, 1, len(counts) + 1)
    heights = BOTTOM - (BOTTOM - DIAGRAM_TOP) * right[full] / counts[full]
    expected = np.stack([edges[:-1][full], edges[1:][full], heights, heights], axis=1)
    np.testing.assert_allclose(ghosts, expected, atol=0.02)


def test_a_state_is_an_address(tab: Any) -> None:
    """Which a control writes, and a link, a reload or Back restores, as far as it is known."""

    def shown() -> tuple[str, str]:
        return tab.locator("dd").text_content(), tab.locator("button + output").text_content()

    tab.goto(PAGE)
    assert tab.url == PAGE
    panel(tab, 0, stop=2)
    tab.get_by_role("button", name="Again").click()
    assert tab.url == f"{PAGE}#fig-a?knob=3&again=y"
    tab.reload()
    assert shown() == ("c", "y")
    assert tab.locator("input").input_value() == "2"
    tab.evaluate("location.hash = '#fig-a?knob=2&again=never&other=1'")
    tab.wait_for_function("document.querySelector('dd').textContent == 'b'")
    assert shown() == ("b", "x")
    tab.go_back()
    tab.wait_for_function("document.querySelector('dd').textContent == 'c'")
    assert shown() == ("c", "y")
    tab.evaluate("location.hash = '#elsewhere?knob=1'")
    assert shown() == ("c", "y")
    tab.evaluate("location.hash = '#fig-a?knob=2.00&again=x'")  # as a person types a number
    tab.wait_for_function("document.querySelector('dd').textContent == 'b'")
