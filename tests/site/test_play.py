"""Figures to play with, each in its page of the built book.

What the script draws is tested on pages of its own (tests/book), and the numbers that it is given
in test_play_numbers.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.site.test_play_numbers import ANEW, FOUND, entry
from tests.site.test_site import Watched, violations
from tests.thorough import mostly_thorough
from tools.finishing.browser import PHONE

# With each kind of panel and control; the others are left to a thorough run.
UNLIKE = {
    *("fig-overview", "fig-nll-and-ece-against-temperature", "fig-one-draw", "fig-all-maps"),
    *("fig-cost-threshold", "fig-suspects", "fig-damaged", "fig-stated-and-accuracy"),
}
# No text but the picture and what is tried: a slow machine need not lay out
# the whole page anew for each key.
ALONE = """figure => document.querySelector(".bd-article").replaceChildren(figure)"""

# Numbers below their box, under which they are not read.
TOO_FULL = """play => [...play.querySelectorAll(".play-numbers > div")].filter(
    box => box.scrollHeight > box.clientHeight).map(box => box.textContent)"""


def opened(browser: Any, address: str, figure: str, **options: Any) -> tuple[Any, Any, list[str]]:
    """The page, the figure with what is tried in it, and what the console says of errors."""
    watched = Watched(browser.new_context(reduced_motion="reduce", **options))
    watched.tab.goto(address + FOUND[figure][0], wait_until="load")
    return watched.tab, watched.tab.locator(f"#{figure}"), watched.errors


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


# On a phone the first knob and the picture that it turns share a screen.
TOGETHER = """play => {
    const [picture, knob] = [".play-first", "input, select, button"].map(
        query => play.querySelector(query).getBoundingClientRect());
    return knob.bottom - picture.top;
}"""


@pytest.mark.parametrize("figure", mostly_thorough(ANEW, UNLIKE))
@pytest.mark.parametrize("scheme", mostly_thorough(["light", "dark"], ["dark"]))
def test_a_play_takes_the_place_of_the_picture(
    figure: str, scheme: str, browser: Any, address: str
) -> None:
    """In its figure, with its number and caption; print shows the picture.

    Without the script the stage is about as high as with it. Nothing that axe-core objects to; on a
    phone nothing cut, targets for a finger, text to read, a focus to see.
    """
    tab, drawn, errors = opened(browser, address, figure, color_scheme=scheme)
    drawn.evaluate(ALONE)
    play, made = drawn.locator(".play"), drawn.locator(".play-guess button")
    assert seen(tab, figure) == (False, True, True)
    for width in (PHONE["width"], 1280):
        tab.set_viewport_size({"width": width, "height": 800})
        after, before = drawn.locator(".play-stage").evaluate(HEIGHTS)
        assert abs(after - before) <= 0.25 * after, width
    if made.count():  # before a guess, what it is about is hidden
        made.press("Enter")
    one = FOUND[figure][1]
    start = tuple(control["start"] for control in one["controls"])
    numbers = [entry(number, one["controls"], start) for number in one["numbers"]]
    assert play.locator("dd").all_text_contents() == numbers
    for knob in play.locator("input").all():
        said = knob.get_attribute("aria-valuetext")
        assert all(number in said for number in numbers)
    for knob in play.locator("input").all():
        knob.press("End")
    rules = {"target-size": {"enabled": True}}
    assert violations(tab, f"#{figure}", rules=rules) == []
    assert play.evaluate(TOO_FULL) == []
    tab.set_viewport_size(PHONE)
    assert play.evaluate(TOO_FULL) == []
    assert play.evaluate(TOGETHER) <= 664 - 56  # of a phone's page, below the buttons
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


def test_without_scripts_the_pictures_are_alone(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    page = FOUND["fig-number-of-bins"][0]
    tab.goto(address + page, wait_until="load")
    figures = [figure for figure, (its_page, _) in FOUND.items() if its_page == page]
    assert [seen(tab, figure) for figure in figures] == [(True, False, True)] * len(figures)
    context.close()
