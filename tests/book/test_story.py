"""The picture that opens chapter 1: its numbers computed anew, and what its script draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from book.play.images_to_bars import check, frames, story
from book.resnet34 import resnet34
from calib_utils.metrics import accuracy, expected_calibration_error
from calib_utils.records import load_record
from tests.book.script_page import FIGURE, course_style, script_page
from tools.finishing.browser import PHONE
from tools.finishing.interactive import placed

ROOT = Path(__file__).parents[2]
# In units of the drawing: where bars stand, and how high an accuracy of 1 is.
BOTTOM, HEIGHT = 292, 258


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return json.loads(json.dumps(story()))


def softmax_at(T: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the test images, and their classes."""
    record = load_record("resnet34-cifar100", "test")
    odds = np.exp((record.logits - record.logits.max(axis=1, keepdims=True)) / T)
    return odds / odds.sum(axis=1, keepdims=True), record.labels


def test_every_frame_is_a_temperature_from_one_to_the_fitted(told: dict[str, Any]) -> None:
    temperatures = np.linspace(1, resnet34()[2].temperature_, len(told["frames"]))
    for T, shown in zip(temperatures, told["frames"], strict=True):
        probs, labels = softmax_at(T)
        confidences, correct = probs.max(axis=1), probs.argmax(axis=1) == labels
        gap = expected_calibration_error(probs, labels, 10)
        assert (shown["T"], shown["gap"]) == (f"T = {T:.2f}", f"mean gap {100 * gap:.1f}\xa0%")
        for m, (count, share, mean) in enumerate(zip(*shown["bins"], strict=True)):
            within = (confidences > m / 10) & (confidences <= (m + 1) / 10)
            # The temperature is another solver's, so one prediction may lie on the other side.
            assert abs(count - within.sum()) <= 1
            if count > 1:
                assert share == pytest.approx(correct[within].mean(), abs=1 / count)
                assert mean == pytest.approx(confidences[within].mean(), abs=1 / count)


def test_the_dots_are_predictions_of_the_network(told: dict[str, Any]) -> None:
    """Each in the bin of its confidence, each at most as often as the network made it."""
    probs, labels = softmax_at(1)
    correct = probs.argmax(axis=1) == labels
    made = {
        kind: sorted(probs.max(axis=1)[correct == kind].round(3).tolist()) for kind in (True, False)
    }
    for m, pile in enumerate(told["dots"]):
        for kind, dots in zip((True, False), pile, strict=True):
            assert all(m / 10 - 0.0006 <= one <= (m + 1) / 10 + 0.0006 for one in dots)
            found = np.searchsorted(made[kind], dots)
            near = np.array([0, *made[kind], 2])[found[:, None] + np.arange(3)]
            assert (np.abs(near - np.array(dots)[:, None]).min(axis=1) < 0.0011).all()
    assert sum(len(dots) for pile in told["dots"] for dots in pile) == 400


def test_the_words_say_what_the_record_does(told: dict[str, Any]) -> None:
    probs, labels = softmax_at(1)
    first, bins, stretched, _, gap, last = told["steps"]
    assert "400 drawn at random from 10,000" in first
    right, wrong = map(len, told["dots"][-1])
    assert f"catches {right + wrong} of them, and {right} of these are correct" in bins
    (alone,) = [m for m, (some, none) in enumerate(told["dots"]) if len(some) == 1 > len(none)]
    assert f"between {alone / 10:g} and {(alone + 1) / 10:g}, is a single image" in stretched
    assert told["frames"][0]["gap"].removeprefix("mean gap ") in gap
    assert told["frames"][-1]["gap"].removeprefix("mean gap ") in last
    assert f"{round(accuracy(probs, labels) * len(labels)):,} are correct" in last


def test_the_build_stops_when_the_words_would_be_false() -> None:
    first, *_, last = frames()
    check(first, last)
    with pytest.raises(SystemExit, match="no longer true"):
        check(last, first)


@pytest.fixture(scope="module")
def tab(browser: Any, told: dict[str, Any]) -> Iterator[Any]:
    """The picture on a page of its own, on a phone, for who prefers no movement.

    It then goes from state to state, so that no test waits for a window that scrolls.
    """
    figure = FIGURE.format("images-to-bars")
    story = placed(figure, {"fig-images-to-bars": told}).replace('src="../_static/story.js"', "")
    style = course_style(**{"background": "white", "text-base": "black"})
    body = (
        f"{style}<article class='bd-article'><div style='height: 50vh'></div>{story}"
        "<div style='height: 90vh'></div></article>"
    )
    with script_page(browser, body, "story.js", viewport=PHONE, reduced_motion="reduce") as tab:
        yield tab


def go_to(tab: Any, step: int) -> None:
    """From the first step by the keyboard alone."""
    words = tab.locator(".story-steps > p")
    tab.get_by_role("button", name="Next").focus()
    for _ in range(words.count()):
        tab.keyboard.press("ArrowLeft")
    for _ in range(step):
        tab.keyboard.press("ArrowRight")
    assert tab.locator("output").text_content().startswith(f"{step + 1} of")


def heights(tab: Any, kind: str) -> np.ndarray:
    read = "all => all.map(one => +one.getAttribute('height'))"
    return np.array(tab.locator(f".story rect.{kind}").evaluate_all(read))


def test_the_keyboard_leads_from_the_dots_to_bars_on_the_diagonal(
    tab: Any, told: dict[str, Any]
) -> None:
    dots = tab.locator(".story-right")
    go_to(tab, 0)
    cloud = dots.get_attribute("d")
    assert cloud.count("M") == sum(len(right) for right, _ in told["dots"])
    go_to(tab, 2)
    assert dots.get_attribute("d") != cloud
    share = [len(right) / max(len(right + wrong), 1) for right, wrong in told["dots"]]
    np.testing.assert_allclose(heights(tab, "play-bar"), HEIGHT * np.array(share), atol=0.02)
    for step, frame in ((4, told["frames"][0]), (5, told["frames"][-1])):
        go_to(tab, step)
        _, accuracies, confidences = np.array(frame["bins"])
        np.testing.assert_allclose(heights(tab, "play-bar"), HEIGHT * accuracies, atol=0.5)
        gaps = HEIGHT * np.abs(accuracies - confidences)
        np.testing.assert_allclose(heights(tab, "play-gap"), gaps, atol=0.5)
        assert {frame["T"], frame["gap"]} <= {*tab.locator(".story text").all_text_contents()}


def test_the_picture_stays_in_sight_while_the_words_go_by(tab: Any) -> None:
    tab.emulate_media(reduced_motion="no-preference")
    for width in (1280, PHONE["width"]):
        tab.set_viewport_size({"width": width, "height": 800})
        for words in tab.locator(".story-steps > p").all():
            words.evaluate("one => one.scrollIntoView({ block: 'center', behavior: 'instant' })")
            box = tab.locator(".story svg").bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= 800
    tab.emulate_media(reduced_motion="reduce")


def test_on_paper_the_still_picture_is_shown(tab: Any) -> None:
    still, moving = tab.locator("figure > img"), tab.locator(".story")
    assert (still.is_visible(), moving.is_visible()) == (False, True)
    tab.emulate_media(media="print")
    assert not moving.is_visible()
    assert still.evaluate("one => getComputedStyle(one).display") != "none"
    tab.emulate_media(media="screen")


def test_who_prefers_no_movement_steps_from_state_to_state(tab: Any) -> None:
    """The buttons show one state and its words after another, and nothing scrolls."""
    words = tab.locator(".story-steps > p")
    while not words.first.is_visible():
        tab.get_by_role("button", name="Back").press("Enter")
    where = tab.evaluate("scrollY")
    for step in range(6):
        visible = [one.is_visible() for one in words.all()]
        assert visible == [k == step for k in range(6)]
        tab.get_by_role("button", name="Next").press("Enter")
    assert tab.evaluate("scrollY") == where


def test_all_keys_but_the_arrows_are_the_page_s(tab: Any) -> None:
    """Tab leads on to what skips the story, and no key is kept from the page."""
    back = tab.get_by_role("button", name="Back")
    back.focus()
    pressed = "(one, key) => one.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true,"
    for key in ("PageDown", "Tab", " "):
        assert back.evaluate(f"{pressed} cancelable: true }}))", key)
    for name in ("Next", "Skip"):
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == name
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.tagName") == "FIGCAPTION"
