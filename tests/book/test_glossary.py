"""The glossary has both languages, in order, and the terms that the chapters introduce."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.sources.book import Book

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)
TEXT = (ROOT / "book/glossary.md").read_text("utf-8")
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(r":::\{glossary\}\n(.*?)\n:::", TEXT, re.DOTALL)
]
ENTRIES = [entry for entries in LISTS for entry in entries]
CHAPTERS = [page for page in BOOK.chapters if "/solutions/" not in page]
NUMBERED = [page for page, number in BOOK.pages.items() if number]
MOST_WORDS = 4  # of a term; what is longer and in bold is a sentence to remember
# Words in bold that need no entry: the characters of chapter 1, the course's own words for its
# runs and verdicts, and what a sentence only stresses.
NO_TERMS = {
    *("honest", "bold", "timid", "lazy"),
    *("grid", "record", "recipe", "block", "exploratory", "undecided", "holds", "does not hold"),
    *("above", "below", "not", "pointwise", "adaptive", "the bars rise", "exit status"),
    *("boosted trees", "test images", "training images"),
}


def terms(entry: list[str]) -> list[str]:
    return [line for line in entry if not line.startswith("  ")]


def english(entry: list[str]) -> list[str]:
    return [name for name in terms(entry) if not re.search("[\uac00-\ud7a3]", name)]


# Plain words before a chapter makes them terms; chapter 1 says what it is to recalibrate.
PLAIN = {
    *("bin", "coverage", "gap", "intercept", "miscalibration", "parameter", "recalibration"),
    *("score", "slope", "width"),
}


def prose(page: str) -> str:
    """A chapter without its code."""
    return re.sub(r"^(`{3,}).*?^\1", "", BOOK.source(page), flags=re.DOTALL | re.MULTILINE)


def in_bold(page: str) -> list[str]:
    """What a chapter sets in bold, outside of code."""
    found = re.findall(r"(?<!\*)\*\*([A-Za-z][^*]*)\*\*", prose(page))
    return [" ".join(text.split()) for text in found]


def words_of(term: str) -> list[str]:
    return re.findall(r"[a-z]+", term.lower())


def alike(one: str, other: str) -> bool:
    """Whether two words are forms of one, such as "calibrated" and "calibration"."""
    shared = min(len(one), len(other))
    return (
        one[: max(3, shared - 3)] == other[: max(3, shared - 3)] and abs(len(one) - len(other)) < 5
    )


def names(term: str, entry: list[str]) -> bool:
    """Whether a term is one of the names of the entry, in any form."""
    found = [words_of(name) for name in english(entry)]
    return any(
        len(name) == len(words_of(term)) and all(map(alike, name, words_of(term))) for name in found
    )


def begins_or_ends(term: str, entry: list[str]) -> bool:
    """Whether a term and a name begin or end alike: "baseline" and "percentile bootstrap" do."""
    wanted = words_of(term)
    for name in map(words_of, english(entry)):
        n = min(len(name), len(wanted))
        if all(map(alike, name[:n], wanted[:n])) or all(map(alike, name[-n:], wanted[-n:])):
            return True
    return False


def entries_of(term: str) -> list[list[str]]:
    """The entries that a term in bold may mean."""
    same = [entry for entry in ENTRIES if names(term, entry)]
    return same or [entry for entry in ENTRIES if begins_or_ends(term, entry)]


def pages_of(text: str) -> set[str]:
    """The pages that a text refers to."""
    labels = re.findall(r"\{(?:ref|eq|numref|prf:ref)\}`(?:[^`<]*<)?([^`<>]+)>?`", text)
    return {BOOK.labels[label].page for label in labels}


DEFINED = {page: in_bold(page) for page in CHAPTERS}
MEANT = {
    page: [entry[0] for term in found for entry in entries_of(term)]
    for page, found in DEFINED.items()
}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_a_word_has_its_korean_and_an_explanation(entry: list[str]) -> None:
    assert len(terms(entry)) == len(english(entry)) + 1
    assert entry[: len(terms(entry))] == terms(entry)  # all of them before the text
    assert " ".join(entry[len(terms(entry)) :]).rstrip().endswith(".")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_it_leads_to_the_chapter_that_introduces_it(entry: list[str]) -> None:
    """It refers to a chapter that has the term, in bold if any chapter has it in bold."""
    pages = pages_of("\n".join(entry))
    assert pages, "no reference"
    sources = [" ".join(words_of(BOOK.source(page))) for page in pages]
    assert any(
        all(
            re.search(rf"\b{word[:-2] if len(word) > 5 else word}", text) for word in words_of(name)
        )
        for name in english(entry)
        for text in sources
    )
    defining = {page for page, meant in MEANT.items() if entry[0] in meant}
    assert not defining or pages & defining, sorted(defining)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[0])
def test_no_chapter_uses_it_before_the_one_that_introduces_it(entry: list[str]) -> None:
    """Unless the paragraph says where that is."""
    introduced = pages_of("\n".join(entry))
    used = re.compile(rf"\b({'|'.join(map(re.escape, english(entry)))})s?\b", re.IGNORECASE)
    for page in NUMBERED if introduced & {*NUMBERED} and not PLAIN & {*english(entry)} else []:
        if page in introduced:
            break
        paragraphs = re.split(r"\n\s*\n", prose(page))
        early = [text for text in paragraphs if used.search(text)]
        assert all(pages_of(text) & introduced for text in early), early


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_term_in_bold_has_an_entry(page: str) -> None:
    """In a sentence, bold introduces a term; what a sentence only stresses is in italics."""
    found = {t for t in DEFINED[page] if t[0].islower() and not t.endswith((".", ":", "?", ","))}
    found = {t for t in found if len(t.split()) <= MOST_WORDS}
    unknown = {term for term in found - NO_TERMS if not entries_of(term)}
    assert not unknown


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
