"""A play that asks for a guess first: what is hidden until then, and what the guess was worth."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.book.script_page import FIGURE, PAGE, course_style, script_page
from tools.finishing import interactive as play

SHARES = play.axis(0, 1, [0, 1])


def small() -> dict[str, Any]:
    """A network and a slider, with which one guesses; a picture of two by one cells."""
    words = [f"{name} at {stop}" for name in ("a", "b") for stop in range(3)]
    values = [[0.1, 0.5, 0.9], [0.9, 0.5, 0.1]]
    return play.play(
        ["fig-a"],
        "Small",
        "A caption.",
        "An alt text.",
        [play.choice("Network", ["a", "b"]), play.slider("Knob", "012", marks={2: "best"})],
        [play.at_once(play.number("seen", "123", [1])), play.number("kept", ["k"], [])],
        [
            play.diagram(play.table([[[1], [1], [0.5]]])),
            play.lines(
                "Title",
                SHARES,
                SHARES,
                [play.curve([0, 0.5, 1], play.table(values, [0]), dots="o", so_far=True)],
                at=1,
            ),
            play.at_once(play.picture("Seen", b"RIFF", 2, 1, play.table([(0, 0), (1, 0)], [0]))),
        ],
        play.guess([1], "Where is it best?", words, [0, 1]),
    )


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    figure = play.placed(FIGURE.format("a"), {"fig-a": small()})
    body, size = course_style(background="white") + figure, {"width": 900, "height": 900}
    with script_page(browser, body, "play.js", viewport=size) as tab:
        yield tab


def shown(tab: Any) -> tuple[list[str], int, int, bool, str]:
    """Numbers, bars and dots that are drawn, whether the answer is marked, and what is said."""
    return (
        tab.locator("dd").all_text_contents(),
        tab.locator("g > rect.play-bar").count(),
        tab.locator("path.play-sign").count(),
        tab.get_by_text("best", exact=True).is_visible(),
        tab.locator(".play-guess > div").text_content(),
    )


def test_what_a_guess_is_about_is_hidden_until_it_is_made(tab: Any) -> None:
    assert shown(tab) == (["1", "?"], 0, 0, False, "Where is it best?")
    tab.locator("input").press("ArrowRight")
    assert shown(tab) == (["2", "?"], 0, 0, False, "Where is it best?")
    tab.get_by_role("button", name="This is my guess").press("Enter")
    # Of a curve that is drawn so far, the points up to the stop.
    assert shown(tab) == (["2", "k"], 1, 2, True, "a at 1")
    assert tab.get_by_role("button", name="This is my guess").count() == 0
    # The guess stays, whatever else is then tried; with another network it has another worth.
    tab.locator("input").press("End")
    assert shown(tab) == (["3", "k"], 1, 3, True, "a at 1")
    tab.locator("select").select_option("b")
    assert shown(tab)[-1] == "b at 1"


def test_a_keyboard_is_not_lost_when_the_button_goes(tab: Any) -> None:
    tab.get_by_role("button", name="This is my guess").press("Enter")
    assert tab.evaluate("document.activeElement.textContent") == "a at 0"
    assert tab.locator(".play-guess > div").get_attribute("aria-live") == "polite"


def test_nothing_jumps(tab: Any) -> None:
    for width in (900, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        before = tab.locator(".play").bounding_box()
        if width == 390:
            tab.get_by_role("button", name="This is my guess").click()
        assert tab.locator(".play").bounding_box()["height"] == before["height"]


def test_a_link_to_a_state_shows_it(tab: Any) -> None:
    tab.goto("about:blank")
    tab.goto(f"{PAGE}#fig-a?network=b&knob=2")
    assert shown(tab) == (["3", "k"], 1, 3, True, "")


def test_a_picture_shows_the_cell_of_the_state(tab: Any) -> None:
    inner = tab.locator("svg svg")
    assert inner.get_attribute("viewBox") == "0 0 1 1"
    tab.locator("select").select_option("b")
    assert inner.get_attribute("viewBox") == "1 0 1 1"
    image = inner.locator("image")
    assert (image.get_attribute("width"), image.get_attribute("height")) == ("2", "1")
    data = base64.b64encode(b"RIFF").decode()
    assert image.get_attribute("href") == f"data:image/webp;base64,{data}"
    style = "one => [getComputedStyle(one).overflow, getComputedStyle(one).width]"
    assert inner.evaluate(style) == ["hidden", "150px"]


def suspects() -> dict[str, Any]:
    """Of two suspects one run has no second level; each is guessed anew."""
    words = [f"{name}, guessed {way}" for name in ("a", "b") for way in ("down", "up")]
    levels = [play.axis(0, 1, [(0, f"{name}0"), (1, f"{name}1")], name) for name in "ab"]
    runs = [
        play.curve(play.table([[0, 1], [1]], [0]), play.table([[0.2, 0.4], [0.5]], [0]), dots="o+"),
        play.curve(play.table([[0, 1], []], [0]), play.table([[0.3, 0.6], []], [0]), dots="s+"),
    ]
    return play.play(
        ["fig-a"],
        "Small",
        "A caption.",
        "An alt text.",
        [play.choice("Suspect", "ab"), play.choice("Error", ["down", "up"])],
        [play.number("kept", ["of a", "of b"], [0])],
        [play.lines("Title", play.table(levels, [0]), SHARES, runs, begins=True)],
        play.guess([1], "Up or down?", words, [0, 1], anew=0),
    )


def test_each_suspect_is_guessed_anew(browser: Any) -> None:
    body = play.placed(FIGURE.format("a"), {"fig-a": suspects()})
    with script_page(browser, body, "play.js") as tab:
        suspect, error = (tab.get_by_label(name) for name in ("Suspect", "Error"))
        made = tab.get_by_role("button", name="This is my guess")

        def state() -> tuple[str, str, list[str], int]:
            return (
                tab.locator("dd").text_content(),
                tab.locator(".play-guess > div").first.text_content(),
                tab.locator("svg text").all_text_contents()[-3:],
                tab.locator("path.play-sign").count(),
            )

        # Where the runs of the first level stand is shown.
        assert state()[:2] == ("?", "Up or down?")
        assert state()[3] == 2
        error.select_option("up")
        made.click()
        assert state()[:2] == ("of a", "a, guessed up")
        assert state()[3] == 4
        assert not error.is_visible()
        suspect.select_option("b")
        assert state() == ("?", "Up or down?", ["b", "Title", "Guess first"], 0)
        error.select_option("down")
        made.press("Enter")
        assert state()[:2] == ("of b", "b, guessed down")
        assert state()[3] == 1
        assert tab.evaluate("document.activeElement.textContent") == "b, guessed down"
        # The guess of the first is kept.
        suspect.select_option("a")
        assert state()[1] == "a, guessed up"
        # No line without a point, and no pale line of another suspect.
        drawn = tab.locator("path.play-line").evaluate_all("all => all.map(one => one.outerHTML)")
        assert not any("ghost" in one or 'd="M"' in one for one in drawn)
