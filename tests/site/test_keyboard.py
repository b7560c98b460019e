"""Tab and Enter through everything that a reader can try: focus enters, and it leaves."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.site.test_site import BOOK, text_of
from tests.thorough import mostly_thorough

PAGES = [
    f"{page}.html"
    for page in BOOK.pages
    if re.search(
        r'data-play=|class="story"|class="play[ "-]|class="yourself', text_of(f"{page}.html")
    )
]
GROUPS = ":is(.bd-article) :is(.play, .story)"
STOPS = ":is(a[href], button, input, select, textarea, summary):not(:disabled)"
WHERE = """([group, stops]) => {
    const all = [...group.querySelectorAll(stops)].filter(one => one.checkVisibility());
    return [all.length, group.contains(document.activeElement)];
}"""


def test_what_can_be_tried_is_on_these_pages() -> None:
    assert len(PAGES) >= 9


@pytest.mark.parametrize("page", mostly_thorough(PAGES, PAGES[:4]))
def test_focus_enters_and_leaves(page: str, browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(address + page, wait_until="load")
    groups = [one for one in tab.locator(GROUPS).element_handles() if one.is_visible()]
    assert groups
    for group in groups:
        first = group.query_selector(f"{STOPS}")
        if first is None or not first.is_visible():
            continue
        # Forwards, from the first control to behind the last.
        first.focus()
        number, inside = group.evaluate("(group, stops) => (" + WHERE + ")([group, stops])", STOPS)
        assert inside
        for _ in range(number + 1):
            tab.keyboard.press("Tab")
        assert not group.evaluate("group => group.contains(document.activeElement)"), page
        # Backwards, through all of them, to before the first.
        for _ in range(2 * number + 2):
            tab.keyboard.press("Shift+Tab")
        assert not group.evaluate("group => group.contains(document.activeElement)"), page
    tab.close()


@pytest.mark.parametrize("page", mostly_thorough(PAGES, PAGES[:4]))
def test_enter_presses_each_button_and_loses_no_focus(
    page: str, browser: Any, address: str
) -> None:
    """What a button opens or replaces takes the focus with it, or leaves it where it was."""
    tab = browser.new_page()
    tab.goto(address + page, wait_until="load")
    for group in tab.locator(GROUPS).element_handles():
        if not group.is_visible():
            continue
        for nth in range(len(group.query_selector_all("button"))):
            buttons = group.query_selector_all("button:not(:disabled)")
            if nth >= len(buttons) or not buttons[nth].is_visible():
                continue
            buttons[nth].focus()
            tab.keyboard.press("Enter")
            assert tab.evaluate("document.activeElement !== document.body"), page
    tab.close()


def test_in_the_story_all_keys_but_the_arrows_are_the_page_s(browser: Any, address: str) -> None:
    """Tab leads on, and no key is kept from the page; the arrows go from state to state."""
    tab = browser.new_page()
    tab.goto(f"{address}notebooks/what-calibration-means.html", wait_until="load")
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
    tab.close()


def test_the_menu_shows_where_one_is_after_a_jump(browser: Any, address: str) -> None:
    """Also on a page of a folded part, with the menu scrolled to its top before."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    for page in ("book/intro", "book/teach", "notebooks/solutions/since-2017", "book/intro"):
        tab.goto(f"{address}{page}.html", wait_until="load")
        tab.wait_for_function(
            """() => {
                const {top, bottom} =
                    [...document.querySelectorAll(".bd-docs-nav li.active > a")].at(-1)
                        .getBoundingClientRect();
                return top >= 0 && bottom <= innerHeight && bottom > top;
            }"""
        )
    context.close()


def test_the_key_for_searching_shows_its_field_at_once(browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(f"{address}book/intro.html", wait_until="load")
    tab.keyboard.press("Control+k")
    assert tab.locator("input[name=q]").first.is_visible()
    assert tab.evaluate("document.activeElement.name") == "q"
    tab.close()


def test_the_course_on_one_page_prints_on_one_page(browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(f"{address}notebooks/card.html", wait_until="load")
    printed = tab.pdf(format="A4", prefer_css_page_size=True)
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]
    tab.close()
