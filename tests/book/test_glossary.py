"""The glossary has both languages, in order, and leads to the chapters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.sources.book import Book
from tools.sources.needs import referred

ROOT = Path(__file__).parents[2]
BOOK = Book()
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(
        r":::\{glossary\}\n(.*?)\n:::", (ROOT / "book/glossary.md").read_text("utf-8"), re.DOTALL
    )
]
ENTRIES = [entry for entries in LISTS for entry in entries]


def terms(entry: list[str]) -> list[str]:
    return [line for line in entry if not line.startswith("  ")]


def english(entry: list[str]) -> list[str]:
    return [name for name in terms(entry) if not re.search("[\uac00-\ud7a3]", name)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_a_word_has_its_korean_and_an_explanation(entry: list[str]) -> None:
    assert len(terms(entry)) == len(english(entry)) + 1
    assert entry[: len(terms(entry))] == terms(entry)  # all of them before the text
    assert " ".join(entry[len(terms(entry)) :]).rstrip().endswith(".")
    assert referred(BOOK, "\n".join(entry)), "no reference"


def test_words_are_in_order_and_none_comes_twice() -> None:
    for entries in LISTS:
        first = [entry[0].lower() for entry in entries]
        assert first == sorted(first)
    found = [name.lower() for entry in ENTRIES for name in terms(entry)]
    assert len(found) == len(set(found))


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
