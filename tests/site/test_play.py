"""Figures to play with, driven by keyboard in the built book, and compared with `calib_utils`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tests.book.test_play_figures import ANEW, entry
from tests.site.test_site import BOOK, SITE, Watched, text_of, violations
from tools.finishing.browser import PHONE
from tools.finishing.interactive import plays_in

Setting = tuple[int, ...]
TEXTS = {f"{page}.html": text_of(f"{page}.html") for page in BOOK.pages}
PAGES = {
    figure: next((name for name, text in TEXTS.items() if f'id="{figure}"' in text), "")
    for figure in ANEW
}
# With each kind of panel and control; the others are left to a thorough run.
UNLIKE = {
    *("fig-overview", "fig-nll-and-ece-against-temperature", "fig-one-draw", "fig-all-maps"),
    *("fig-cost-threshold", "fig-suspects", "fig-damaged", "fig-stated-and-accuracy"),
}
every_figure = pytest.mark.parametrize(
    "figure",
    [
        pytest.param(
            figure,
            id=f"{figure} {page}",
            marks=[pytest.mark.thorough] * (figure not in UNLIKE),
        )
        for figure, page in PAGES.items()
    ],
)
PLAYS = plays_in(SITE.parent / "play")
# In units of the drawing; below and above the bars of a diagram, and the height of its strip.
AROUND, STRIP, ROUNDING = 38 + 76, 40, 0.011

STATE = """play => {
    const all = (query, read) => [...play.querySelectorAll(query)].map(read);
    const side = name => one => +one.getAttribute(name);
    const diagrams = [...play.querySelectorAll("svg:has(.play-bar)")];
    const of = query => diagrams.map(svg => [...svg.querySelectorAll(query)].map(side("height")));
    return {
        height: (diagrams[0] || play.querySelector("svg")).viewBox.baseVal.height,
        numbers: all("dd", one => one.textContent),
        said: all("input", one => one.getAttribute("aria-valuetext")),
        // Two of each diagram are of its legend.
        bars: of("rect.play-bar").map(one => one.slice(2)),
        gaps: of("rect.play-gap").map(one => one.slice(2)),
        strip: of("rect.play-count"),
        dots: all("circle.play-dot", one => side("cx")(one) + 1000 * side("cy")(one)),
    };
}"""

# No text but the picture and what is tried: a slow machine need not lay out
# the whole page anew for each key.
ALONE = """figure => document.querySelector(".bd-article").replaceChildren(figure)"""

# Numbers below their box, under which they are not read.
TOO_FULL = """play => [...play.querySelectorAll(".play-numbers > div")].filter(
    box => box.scrollHeight > box.clientHeight).map(box => box.textContent)"""


def opened(browser: Any, address: str, figure: str, **options: Any) -> tuple[Any, Any, list[str]]:
    """The page, the figure with what is tried in it, and what the console says of errors."""
    watched = Watched(browser.new_context(reduced_motion="reduce", **options))
    watched.tab.goto(address + PAGES[figure], wait_until="load")
    return watched.tab, watched.tab.locator(f"#{figure}"), watched.errors


# Of each kind of control: one stop back, and one on.
KEYS = {"input": ("ArrowLeft", "ArrowRight"), "select": ("ArrowUp", "ArrowDown")}


class Knobs:
    """The controls of a figure, moved by keys alone from one setting to any other."""

    def __init__(self, figure: Any, last: Setting) -> None:
        self.keyboard = figure.page.keyboard
        self.knobs = figure.locator(
            ".play-controls input, .play-controls select, .play-controls > div > button:first-child"
        )
        self.kinds = self.knobs.evaluate_all("all => all.map(one => one.localName)")
        self.now, self.last = [0] * len(last), last
        self.made = figure.locator(".play-guess button")
        self.guess()
        for k, kind in enumerate(self.kinds):
            if kind in KEYS:
                self.press(k, "Home")

    def guess(self) -> None:
        """Before a guess, what it is about is hidden."""
        if self.made.count() and self.made.is_visible():
            self.made.press("Enter")

    def go(self, setting: Setting) -> None:
        for k, stop in enumerate(setting[: len(self.kinds)]):
            if self.kinds[k] in KEYS:
                # From here, or from an end that is nearer.
                ways = [(self.now[k], ""), (0, "Home"), (self.last[k], "End")]
                start, key = min(ways, key=lambda way: abs(stop - way[0]))
                if key:
                    self.press(k, key)
                self.press(k, KEYS[self.kinds[k]][stop > start], abs(stop - start))
            else:  # behind the last stop comes the first
                self.press(k, "Enter", (stop - self.now[k]) % (self.last[k] + 1))
            self.now[k] = stop
        self.guess()

    def press(self, k: int, key: str, times: int = 1) -> None:
        """As a finger does that stays on a control: each press by itself would look for it anew."""
        if times:
            self.knobs.nth(k).focus()
        for _ in range(times):
            self.keyboard.press(key)


def asks_anew(figure: str) -> bool:
    """Whether a play has a guess for each stop of one of its controls."""
    asked = PLAYS[figure]["guess"]
    return bool(asked) and asked["anew"] is not None


def last_of(figure: str) -> Setting:
    """The last stop of each control; what a guess is made with anew is gone after it."""
    gone = PLAYS[figure]["guess"]["controls"] if asks_anew(figure) else ()
    controls = PLAYS[figure]["controls"]
    return tuple(0 if c in gone else len(one["stops"]) - 1 for c, one in enumerate(controls))


def corners(figure: str) -> list[Setting]:
    """All controls at their first stop, each one then a step, half the way and all of it, and all.

    What the data say is tested in test_play_figures.
    """
    first, last = (0,) * len(last_of(figure)), last_of(figure)
    alone = [
        (*first[:k], stop, *first[k + 1 :])
        for k, end in enumerate(last)
        for stop in sorted({min(1, end), end // 2, end} - {0})
    ]
    return [first, *alone, last]


def same_diagram(drawn: dict[str, list[float]], frame: Any, state: Any) -> None:
    """The heights of the bars, their gaps and the counts above them."""
    counts, right, summed = (np.array(side)[np.array(frame[0]) > 0] for side in frame[:3])
    height = state["height"] - AROUND
    np.testing.assert_allclose(drawn["bars"], height * right / counts, atol=ROUNDING)
    gaps = height * np.abs(right - summed) / counts
    np.testing.assert_allclose(drawn["gaps"], gaps, atol=ROUNDING)
    strip = np.array(drawn["strip"])
    np.testing.assert_allclose(strip, strip.max() * counts / counts.max(), atol=ROUNDING)
    assert strip.max() <= STRIP


@every_figure
def test_every_stop_shows_its_part_of_the_data(figure: str, browser: Any, address: str) -> None:
    one = PLAYS[figure]
    tab, drawn, errors = opened(browser, address, figure)
    drawn.evaluate(ALONE)
    knobs = Knobs(drawn, last_of(figure))
    play = drawn.locator(".play")
    dots, chosen = set(), corners(figure)
    for setting in chosen:
        knobs.go(setting)
        state = play.evaluate(STATE)
        numbers = [entry(number, one["controls"], setting) for number in one["numbers"]]
        assert state["numbers"] == numbers, setting
        for said in state["said"]:
            assert all(number in said for number in numbers)
        dots.add(tuple(state["dots"]))
        frames = [panel["frames"] for panel in one["panels"] if panel["kind"] == "bins"]
        assert len(state["bars"]) == len(frames)
        for nth, table in enumerate(frames):
            drawn_bins = {name: state[name][nth] for name in ("bars", "gaps", "strip")}
            same_diagram(drawn_bins, entry(table, one["controls"], setting), state)
    tab.context.close()
    assert dots == {()} or len(dots) > 0.2 * len(chosen)  # the dots, if any, move
    assert errors == []


# Of the stage with the figure, and without.
HEIGHTS = """stage => {
    const play = stage.querySelector(".play"), after = stage.offsetHeight;
    play.remove();
    const before = stage.offsetHeight;
    stage.append(play);
    return [after, before];
}"""
SIZES = """play => ({
    wide: document.documentElement.scrollWidth,
    text: Math.min(...[...play.querySelectorAll(".play-panels > svg")].map(
        svg => parseFloat(getComputedStyle(svg).fontSize) * svg.clientWidth / 340)),
    overlaps: [...play.querySelectorAll(".play-panels > svg")].flatMap(svg => {
        const words = [...svg.querySelectorAll("text")];
        const boxes = words.map(one => one.getBoundingClientRect());
        return boxes.flatMap((a, i) => boxes.slice(0, i).filter(b =>
            Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5
        ).map(() => words[i].textContent));
    }),
    targets: [...play.querySelectorAll("input, button, select")].filter(
        one => one.checkVisibility()).map(one => Math.min(one.offsetWidth, one.offsetHeight)),
})"""


def seen(tab: Any, figure: str) -> tuple[bool, bool, bool]:
    """Whether the still picture is seen, what is tried, and the caption."""
    parts = ("img.drawing", ".play-stage", ".caption-text")
    one = tab.locator(f"#{figure}")
    still, tried, caption = (one.locator(part).first.is_visible() for part in parts)
    return still, tried, caption


@every_figure
@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.thorough), "dark"])
def test_a_play_takes_the_place_of_the_picture(
    figure: str, scheme: str, browser: Any, address: str
) -> None:
    """In its figure, with its number and caption; print shows the picture.

    Without the script the stage is about as high as with it. Nothing that axe-core objects to; on a
    phone nothing cut, targets for a finger, text to read, a focus to see.
    """
    tab, drawn, errors = opened(browser, address, figure, color_scheme=scheme)
    drawn.evaluate(ALONE)
    assert seen(tab, figure) == (False, True, True)
    for width in (PHONE["width"], 1280):
        tab.set_viewport_size({"width": width, "height": 800})
        after, before = drawn.locator(".play-stage").evaluate(HEIGHTS)
        assert abs(after - before) <= 0.25 * after, width
    for knob in drawn.locator("input").all():
        knob.press("End")
    Knobs(drawn, last_of(figure))
    rules = {"target-size": {"enabled": True}}
    assert violations(tab, f"#{figure}", rules=rules) == []
    play = drawn.locator(".play")
    assert play.evaluate(TOO_FULL) == []
    tab.set_viewport_size(PHONE)
    assert play.evaluate(TOO_FULL) == []
    sizes = play.evaluate(SIZES)
    assert sizes["wide"] <= PHONE["width"]
    assert sizes["text"] >= 9
    assert sizes["overlaps"] == []
    assert min(sizes["targets"]) >= 24
    for control in play.locator(":is(input, button, select):visible").all():
        control.focus()
        tab.keyboard.press("Shift+Tab")
        tab.keyboard.press("Tab")
        outline = control.evaluate("one => getComputedStyle(one).outline")
        assert "solid 3px" in outline or "3px solid" in outline, outline
    tab.emulate_media(media="print")
    assert seen(tab, figure)[::2] == (True, True)
    assert not play.is_visible()
    tab.context.close()
    assert errors == []


# On a phone the first knob and the picture that it turns share a screen.
TOGETHER = """play => {
    const [picture, knob] = [".play-first", "input, select, button"].map(
        query => play.querySelector(query).getBoundingClientRect());
    return knob.bottom - picture.top;
}"""


@every_figure
def test_on_a_phone_knob_and_picture_share_a_screen(
    figure: str, browser: Any, address: str
) -> None:
    tab, drawn, errors = opened(browser, address, figure, viewport={"width": 390, "height": 664})
    assert drawn.locator(".play").evaluate(TOGETHER) <= 664 - 56  # below the buttons of the page
    tab.context.close()
    assert errors == []


@pytest.mark.parametrize("viewport", [(1280, 800), (390, 664)])
def test_the_first_screen_has_the_knob(
    viewport: tuple[int, int], browser: Any, address: str
) -> None:
    """The title, what there is to do, the diagram and the knob; wide, the guess and tiles too."""
    size = dict(zip(("width", "height"), viewport, strict=True))
    tab, drawn, errors = opened(browser, address, "fig-overview", viewport=size)
    parts = ["h1", "h1 + p", "#fig-overview .play-first", "#fig-overview input"]
    parts += ["#fig-overview .play-guess", "#fig-overview .play-numbers"] * (viewport[0] > 1000)
    for part in parts:
        box = tab.locator(f".bd-article {part}").first.bounding_box()
        assert box["y"] >= 0, part
        assert box["y"] + box["height"] <= viewport[1], part
    assert "85 % sure" in tab.locator(".bd-article h1 + p").inner_text().replace("\xa0", " ")
    assert drawn.locator("dd").all_text_contents()[2] == "?"
    tab.context.close()
    assert errors == []


@pytest.mark.parametrize("page", sorted({*PAGES.values()}))
def test_without_scripts_the_pictures_are_alone(page: str, browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(address + page, wait_until="load")
    figures = [figure for figure, its_page in PAGES.items() if its_page == page]
    assert [seen(tab, figure) for figure in figures] == [(True, False, True)] * len(figures)
    context.close()


def test_each_kind_of_panel_and_control_is_tried_in_every_run() -> None:
    def kinds(figures: Iterable[str]) -> set[str]:
        parts = [
            part for of in figures for key in ("panels", "controls") for part in PLAYS[of][key]
        ]
        return {part["kind"] for part in parts}

    assert kinds(UNLIKE) == kinds(ANEW)


def test_the_data_is_in_the_pages_alone() -> None:
    assert list(SITE.rglob("*.json")) == []


def test_figures_work_without_a_server(browser: Any) -> None:
    tab, drawn, errors = opened(browser, f"file://{SITE}/", "fig-overview")
    before = drawn.locator("dd").all_text_contents()
    drawn.locator(".play-guess button").press("Enter")
    assert drawn.locator("dd").all_text_contents() != before
    tab.context.close()
    assert errors == []
