"""The glossary, and what chapters set in bold, for the report of `make lint`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.sources.book import Book

BOOK = Book()
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(
        r":::\{glossary\}\n(.*?)\n:::", Path("book/glossary.md").read_text("utf-8"), re.DOTALL
    )
]
ENTRIES = [entry for entries in LISTS for entry in entries]
MOST_WORDS = 4  # of a term; what is longer and in bold is a sentence to remember


def terms(entry: list[str]) -> list[str]:
    return [line for line in entry if not line.startswith("  ")]


def english(entry: list[str]) -> list[str]:
    return [name for name in terms(entry) if not re.search("[\uac00-\ud7a3]", name)]


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


def unexplained() -> Iterator[str]:
    """Terms in bold that have no entry; what a sentence only stresses is in italics."""
    for page in (page for page in BOOK.chapters if "/solutions/" not in page):
        found = {
            t for t in in_bold(page) if t[0].islower() and not t.endswith((".", ":", "?", ","))
        }
        unknown = {t for t in found if len(t.split()) <= MOST_WORDS and not entries_of(t)}
        if unknown:
            yield f"{page}: bold, and not in the glossary: {', '.join(sorted(unknown))}"


def too_early() -> Iterator[str]:
    """Terms that a chapter uses before the one that introduces them, and doesn't say where."""
    numbered = [page for page, number in BOOK.pages.items() if number]
    early: dict[str, list[str]] = {}
    for entry in ENTRIES:
        introduced = pages_of("\n".join(entry))
        used = re.compile(rf"\b({'|'.join(map(re.escape, english(entry)))})s?\b", re.IGNORECASE)
        for page in numbered if introduced & {*numbered} else []:
            if page in introduced:
                break
            paragraphs = filter(used.search, re.split(r"\n\s*\n", prose(page)))
            if not all(pages_of(text) & introduced for text in paragraphs):
                early.setdefault(page, []).append(entry[0])
    for page, found in early.items():
        yield f"{page}: before the chapter that introduces it: {', '.join(found)}"
