"""The decks of the built site: few slides, the solutions in the teacher's copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.thorough import mostly_thorough
from tools.finishing.slides import MOST
from tools.sources.book import Book

ROOT = Path(__file__).parents[2]
SLIDES = ROOT / "build/html/slides"
BOOK = Book(ROOT)
CHAPTERS = [Path(page).name for page, number in BOOK.pages.items() if number is not None]


def read(name: str) -> BeautifulSoup:
    return BeautifulSoup((SLIDES / f"{name}.html").read_text("utf-8"), "html.parser")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_a_deck_and_a_teachers_copy(name: str) -> None:
    shown, copy = read(name), read(f"{name}-teacher")
    slides, notes = shown.select("section.slide"), copy.select("aside.notes")
    assert len(slides) <= MOST
    asked = [slide for slide in slides if slide.h2 and slide.h2.get_text() == "Question"]
    assert len(asked) <= len(slides) / 3
    assert not shown.select("aside.notes, details.solution")
    assert any(slide.select("figure img, table") for slide in slides)
    # The opening is its own text, and a section may be a table or a list alone.
    assert sum(bool(note.get_text(strip=True)) for note in notes[: len(slides)]) >= len(slides) - 2
    # The solutions of all exercises are behind the last slide.
    exercises = BOOK.source(f"notebooks/{name}").count("{exercise}")
    assert len(notes) == len(slides) + exercises


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_the_author_has_marked_is_in_the_deck(name: str) -> None:
    """A step for each further mark."""
    source = BOOK.source(f"notebooks/{name}")
    slides = read(name).select(".slide")
    assert sum(len(one.select(":scope > .later")) for one in slides) == source.count("<!-- and -->")


@pytest.mark.parametrize("width", mostly_thorough([1280, 1920], [1280]))
@pytest.mark.parametrize("name", mostly_thorough(CHAPTERS, CHAPTERS[:2]))
def test_figures_and_formulas_are_large_enough_for_a_room(
    browser: Any, address: str, name: str, width: int
) -> None:
    """A figure takes more than half of the height or width; nothing is larger than its slide."""
    tab = browser.new_page(viewport={"width": width, "height": width * 9 // 16})
    tab.goto(f"{address}slides/{name}.html")
    shares = tab.locator(".slide:not(:has(> .later)) img.drawing").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect())"
        ".map(r => Math.max(r.width / innerWidth, r.height / innerHeight))"
    )
    assert shares
    assert min(shares) > 0.65
    sizes = tab.locator(".slide div.math .katex").evaluate_all(
        "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes, default=width) >= 0.025 * width
    too_high = tab.locator(".slide").evaluate_all(
        "all => all.filter(one => one.offsetHeight > innerHeight).map(one => one.textContent)"
    )
    assert too_high == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.close()


def test_a_heading_stays_where_it_is_and_an_answer_waits(browser: Any, address: str) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 720})
    tab.goto(f"{address}slides/{CHAPTERS[0]}.html")
    tops = tab.locator(".slide").evaluate_all(
        "all => all.filter(one => one.querySelector('h2')).map(one =>"
        " one.querySelector('h2').getBoundingClientRect().top - one.getBoundingClientRect().top)"
    )
    assert max(tops) - min(tops) < 2
    marks = tab.locator(".right")
    assert marks.count() > 0
    assert not any(one.is_visible() for one in marks.all())
    tab.emulate_media(media="print")
    assert not any(one.is_visible() for one in marks.all())
    tab.close()


def test_the_arrow_keys_turn_the_slides(browser: Any, address: str) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 720})
    tab.goto(f"{address}slides/{CHAPTERS[0]}.html")
    tab.evaluate("document.querySelectorAll('.later').forEach(one => one.classList.add('shown'))")
    top = "document.querySelectorAll('.slide')[%d].getBoundingClientRect().top"
    for key, now in [("ArrowRight", 1), (" ", 2), ("ArrowLeft", 1), ("PageUp", 0), ("PageUp", 0)]:
        tab.keyboard.press(key)
        tab.wait_for_function(f"Math.abs({top % now}) < 2")
