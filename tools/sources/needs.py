"""Which chapters a chapter needs: those that it refers back to, as a reader has to know them."""

from __future__ import annotations

import re
from functools import cache

from tools.sources.book import Book

REFERENCE = re.compile(
    r"\{(?:numref|ref|eq|prf:ref|doc)\}`(?:[^`<]*<)?/?(?:notebooks/)?(?P<label>[a-z0-9-]+)>?`"
)


@cache
def needs(book: Book, page: str) -> list[str]:
    """The chapters of part I before this one that it refers to, less those that they need.

    Part II can be read in any order, so a reference from one of its chapters to another is an
    invitation, and no need.
    """
    numbered = [other for other, number in book.pages.items() if number]
    course = [other for other in numbered if book.parts[other] == book.parts[numbered[0]]]
    before = course[: course.index(page)] if page in course else course
    found = {other for other in referred(book, book.source(page)) if other in before}
    implied = {more for other in found for more in _all(book, other)}
    return [other for other in before if other in found - implied]


def _all(book: Book, page: str) -> set[str]:
    """What a chapter needs, and what that needs in turn."""
    direct = needs(book, page)
    return {*direct, *(more for other in direct for more in _all(book, other))}


def referred(book: Book, markdown: str) -> set[str]:
    """The pages of all labels that a text refers to."""
    found = set()
    for match in REFERENCE.finditer(markdown):
        label, page = match["label"], f"notebooks/{match['label']}"
        if label in book.labels:
            found.add(book.labels[label].page)
        elif page in book.pages:
            found.add(page)
    return found
