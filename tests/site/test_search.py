"""The search of the built book: chapters by their titles, terms by each of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.site.test_html import BOOK, text_of

Search = Callable[[str], list[str]]
GLOSSARY = "book/glossary.html"
PAUSE = 150  # in milliseconds, behind the last key, before it searches


@pytest.fixture(scope="module")
def search(browser: Any, address: str) -> Iterator[Search]:
    """The addresses of the first answers to what is typed."""
    tab = browser.new_page()
    tab.clock.install()
    tab.goto(f"{address}search.html", wait_until="load")

    def found(question: str) -> list[str]:
        tab.locator("#search-field").fill(question)
        tab.clock.run_for(PAUSE)
        links = tab.locator("#search-results > li > a")
        return links.evaluate_all("all => all.slice(0, 5).map(one => one.getAttribute('href'))")

    yield found
    tab.close()


def terms() -> dict[str, str]:
    """Every name of the glossary, in English or Korean, with the address of its entry."""
    page = BeautifulSoup(text_of(GLOSSARY), "html.parser")
    names, entry = {}, ""
    for term in page.select("dl.glossary > :is(dt, dd)"):
        if term.name == "dd":
            entry = ""
            continue
        entry = entry or f"{GLOSSARY}#{term['id']}"
        for link in term.select(".headerlink"):
            link.decompose()
        names[" ".join(term.get_text().split())] = entry
    return names


def found(search: Search, wanted: dict[str, str]) -> float:
    """The share of the questions whose page or section is among the first answers."""
    missed = [
        question
        for question, place in wanted.items()
        if not any(one.startswith(place) for one in search(question))
    ]
    print("Not among the first answers:", *missed, sep="\n")
    return 1 - len(missed) / len(wanted)


def test_the_title_of_a_chapter_leads_to_it(search: Search) -> None:
    titles = {BOOK.title(page): page for page, number in BOOK.pages.items() if number}
    assert found(search, titles) == 1


def test_each_name_of_a_term_leads_to_its_entry(search: Search) -> None:
    names = terms()
    assert len(names) > 100
    assert found(search, names) > 0.95
