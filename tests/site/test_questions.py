"""Every question of the built book, compared with its source; what opens is HTML's own."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from tests.site.test_html import BOOK, text_of
from tools.sources.flatten import Flattener
from tools.sources.myst import Directive, parse
from tools.sources.questions import COMPARE, Question, read_question

CHAPTERS = [page for page, number in BOOK.pages.items() if number]


def asked(markdown: str) -> list[Question]:
    """The questions of a page, in order."""
    return [
        read_question(block.body)
        for block in parse(markdown)
        if isinstance(block, Directive) and block.name == "question"
    ]


def letters(text: str) -> str:
    """Without formulas, and without signs that a page sets in its own way."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\$[^$]+\$", "", text).lower())


def words(one: Tag) -> str:
    return letters(one.get_text())


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_question_asks_and_answers_as_its_source_does(page: str) -> None:
    """Each answer opens its own reason; on paper the reasons are at the end of the chapter."""
    shown, plain = BeautifulSoup(text_of(f"{page}.html"), "html.parser"), Flattener(BOOK, page)
    for formula in shown.select(".katex"):
        formula.decompose()
    questions = asked(BOOK.source(page))
    at_end = shown.select(".printed-answers > ol > li")
    for group, printed, question in zip(
        shown.select("fieldset.question"), at_end, questions, strict=True
    ):
        assert group.legend
        assert words(group.legend) == letters(plain.flatten(question.text))
        folds, reasons = group.select("details"), group.select("details > p")
        assert not any(fold.has_attr("open") for fold in folds)
        options = [COMPARE] if question.is_number else [one.text for one in question.answers]
        summaries = [words(one) for one in group.select("details > summary")]
        assert summaries == [letters(plain.flatten(option)) for option in options]
        said = [f"{question.verdict(one)} {one.reason}" for one in question.answers]
        assert [words(one) for one in reasons] == [letters(plain.flatten(one)) for one in said]
        assert [words(one) for one in printed.select("p")] == [words(one) for one in reasons]
        marked = reasons if question.is_number else folds
        right = ["is-right" in one.get_attribute_list("class") for one in marked]
        assert right == [one.is_right for one in question.answers]


def test_on_paper_the_answers_are_at_the_end_alone(browser: Any, address: str) -> None:
    tab = browser.new_page()
    tab.goto(f"{address}{CHAPTERS[0]}.html", wait_until="load")
    at_end, below = tab.locator(".printed-answers"), tab.locator(".question details > p").first
    tab.locator(".question summary").first.press("Enter")
    assert (at_end.is_visible(), below.is_visible()) == (False, True)
    tab.emulate_media(media="print")
    assert (at_end.is_visible(), below.is_visible()) == (True, False)
    tab.close()
