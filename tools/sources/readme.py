"""The table of chapters in the README: titles, questions and minutes are those of the chapters."""

from __future__ import annotations

from pathlib import Path

from calib_utils._files import write_text
from tools.sources.book import Book
from tools.sources.errors import MystError
from tools.sources.locations import committed
from tools.sources.reading_time import reading_time

README = Path("README.md")
START, END = "<!-- chapters: `make notebooks` writes this table -->", "<!-- end -->"
HEAD = "| | Question | Chapter | Minutes |\n|--:|---|---|--:|"


def table_of(book: Book) -> str:
    """A row for each numbered chapter, between two comments."""
    rows = [
        f"| {number} | {book.question(page)} | [{book.title(page)}]({committed(page)}) "
        f"| {reading_time(book.source(page))} |"
        for page, number in book.pages.items()
        if number
    ]
    return "\n".join([START, HEAD, *rows, END])


def update(book: Book, readme: Path = README) -> bool:
    """Write the table anew where a chapter has changed; whether one has.

    Raises:
        MystError: The README has lost the comments around its table.
    """
    text = readme.read_text("utf-8")
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (start and end):
        raise MystError(f"{readme}: its table of chapters stands between {START} and {END}")
    new = f"{before}{table_of(book)}{after}"
    if new != text:
        write_text(readme, new)
    return new != text
