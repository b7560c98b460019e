"""What the keyboard does on the built pages, the menu beside them, and the page of one page."""

from __future__ import annotations

import re
from typing import Any

import pytest

# With scripts that put something else in the place of a button.
PAGES = "book/calibrate-yourself", "notebooks/what-calibration-means"


@pytest.mark.parametrize("page", PAGES)
def test_enter_on_each_button_loses_no_focus(page: str, browser: Any, address: str) -> None:
    """What a button opens or replaces takes the focus with it, or leaves it where it was."""
    tab = browser.new_page()
    tab.goto(f"{address}{page}.html", wait_until="load")
    for group in tab.locator(".bd-article :is(.play, .story)").element_handles():
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


def test_the_menu_shows_where_one_is_after_a_jump(browser: Any, address: str) -> None:
    """Also on a page of a folded part, with the menu scrolled to its top before."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    for page in ("book/intro", "notebooks/solutions/since-2017"):
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


def test_the_course_on_one_page_prints_on_one_page(browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(f"{address}notebooks/card.html", wait_until="load")
    printed = tab.pdf(format="A4", prefer_css_page_size=True)
    assert re.findall(rb"/Count (\d+)", printed) == [b"1"]
    tab.close()
