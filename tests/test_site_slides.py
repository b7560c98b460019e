"""The decks of the built site: 10 to 15 slides, the solutions in the teacher's copy alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tools.finishing.slides import MOST
from tools.sources.book import Book

ROOT = Path(__file__).parents[1]
SLIDES = ROOT / "build/html/slides"
BOOK = Book(ROOT)
CHAPTERS = [Path(page).name for page, number in BOOK.pages.items() if number is not None]
FEWEST = 10


def read(name: str) -> BeautifulSoup:
    return BeautifulSoup((SLIDES / f"{name}.html").read_text("utf-8"), "html.parser")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_a_deck_and_a_teachers_copy(name: str) -> None:
    shown, copy = read(name), read(f"{name}-teacher")
    slides, notes = shown.select("section.slide"), copy.select("aside.notes")
    assert FEWEST <= len(slides) <= MOST
    assert not shown.select("aside.notes, details.solution")
    assert any(slide.select("figure svg.drawing, figure img, table") for slide in slides)
    # The opening is its own text, and a section may be a table or a list alone.
    assert sum(bool(note.get_text(strip=True)) for note in notes[: len(slides)]) >= len(slides) - 2
    # The solutions of all exercises are behind the last slide.
    exercises = BOOK.source(f"notebooks/{name}").count("{exercise}")
    assert len(notes) == len(slides) + exercises


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_marks_of_a_drawing_are_in_the_deck(name: str) -> None:
    for page in (read(name), read(f"{name}-teacher")):
        ids = [str(tag["id"]) for tag in page.select("[id]")]
        assert len(ids) == len(set(ids))
        used = {str(tag["href"]) for tag in page.select("use[href]")}
        assert used <= {f"#{one}" for one in ids}


def test_the_arrow_keys_turn_the_slides(browser: Any, address: str) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 720})
    tab.goto(f"{address}slides/{CHAPTERS[0]}.html")
    top = "document.querySelectorAll('.slide')[%d].getBoundingClientRect().top"
    for key, now in [("ArrowRight", 1), (" ", 2), ("ArrowLeft", 1), ("PageUp", 0), ("PageUp", 0)]:
        tab.keyboard.press(key)
        tab.wait_for_function(f"Math.abs({top % now}) < 2")
