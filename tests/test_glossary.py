"""The glossary has both languages, in order, and only words that the course uses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.sources.book import Book

ROOT = Path(__file__).parents[1]
BOOK = Book(ROOT)
TEXT = (ROOT / "book/glossary.md").read_text("utf-8")
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(r":::\{glossary\}\n(.*?)\n:::", TEXT, re.DOTALL)
]
ENTRIES = [entry for entries in LISTS for entry in entries]
CHAPTERS = " ".join(
    " ".join(BOOK.source(page).lower().split()) for page, number in BOOK.pages.items() if number
)


def terms(entry: list[str]) -> list[str]:
    return [line for line in entry if not line.startswith("  ")]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_a_word_has_its_korean_and_an_explanation(entry: list[str]) -> None:
    names = terms(entry)
    assert sum(bool(re.search("[\uac00-\ud7a3]", name)) for name in names) == 1
    assert entry[: len(names)] == names  # all of them before the text
    assert " ".join(entry[len(names) :]).rstrip().endswith(".")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_a_word_occurs_in_a_chapter(entry: list[str]) -> None:
    """Whole, or as another form of it: "regularises", "the smooth error"."""
    words = re.findall(r"[a-z]+", entry[0].lower())
    assert all(re.search(rf"\b{word[:-2] if len(word) > 5 else word}", CHAPTERS) for word in words)


def test_words_are_in_order_and_none_comes_twice() -> None:
    for entries in LISTS:
        first = [entry[0].lower() for entry in entries]
        assert first == sorted(first)
    names = [name.lower() for entry in ENTRIES for name in terms(entry)]
    assert len(names) == len(set(names))


def test_every_symbol_says_where_it_comes_first() -> None:
    rows = re.findall(r"^\| (.*) \|$", (ROOT / "book/notation.md").read_text("utf-8"), re.MULTILINE)
    symbols = [row for row in rows if row.startswith(("$", "ECE", "Brier", "NLL", "baseline"))]
    assert len(symbols) > 40
    for row in symbols:
        *_, first = row.split(" | ")
        labels = re.findall(r"\{[a-z:]+\}`([^`]+)`", first)
        assert labels, row
        for label in labels:
            assert BOOK.labels[label].page.startswith("notebooks/")
