"""The glossary, and what chapters set in bold, for the report of `make lint`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.sources.book import Book
from tools.sources.needs import referred

BOOK = Book()
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(
        r":::\{glossary\}\n(.*?)\n:::", Path("book/glossary.md").read_text("utf-8"), re.DOTALL
    )
]
ENTRIES = [entry for entries in LISTS for entry in entries]
MOST_WORDS = 4  # of a term; what is longer and in bold is a sentence to remember
STEM = 5  # letters that forms of a word share, such as "calibrated" and "calibration"


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


def stems(term: str) -> set[str]:
    return {word[:STEM] for word in re.findall(r"[a-z]+", term.lower())}


def unexplained() -> Iterator[str]:
    """Terms in bold that have no entry; what a sentence only stresses is in italics."""
    known = {stem for entry in ENTRIES for name in english(entry) for stem in stems(name)}
    for page in (page for page in BOOK.chapters if "/solutions/" not in page):
        found = {
            t for t in in_bold(page) if t[0].islower() and not t.endswith((".", ":", "?", ","))
        }
        unknown = {t for t in found if len(t.split()) <= MOST_WORDS and stems(t) - known}
        if unknown:
            yield f"{page}: bold, and not in the glossary: {', '.join(sorted(unknown))}"


def too_early() -> Iterator[str]:
    """Terms that a chapter uses before the one that introduces them, and doesn't say where."""
    numbered = [page for page, number in BOOK.pages.items() if number]
    early: dict[str, list[str]] = {}
    for entry in ENTRIES:
        introduced = referred(BOOK, "\n".join(entry))
        used = re.compile(rf"\b({'|'.join(map(re.escape, english(entry)))})s?\b", re.IGNORECASE)
        for page in numbered if introduced & {*numbered} else []:
            if page in introduced:
                break
            paragraphs = filter(used.search, re.split(r"\n\s*\n", prose(page)))
            if not all(referred(BOOK, text) & introduced for text in paragraphs):
                early.setdefault(page, []).append(entry[0])
    for page, found in early.items():
        yield f"{page}: before the chapter that introduces it: {', '.join(found)}"
