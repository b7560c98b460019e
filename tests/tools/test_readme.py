"""The table of chapters in the README."""

from __future__ import annotations

from pathlib import Path

from tools.sources.book import Book
from tools.sources.readme import END, START, table_of, update


def test_update_lets_the_table_follow_the_chapters(tmp_path: Path) -> None:
    book, readme = Book(), tmp_path / "README.md"
    readme.write_text(f"# A\n\n{START}\n| 1 | stale |\n{END}\n\n## B\n", "utf-8")
    assert update(book, readme)
    assert readme.read_text("utf-8") == f"# A\n\n{table_of(book)}\n\n## B\n"
    assert not update(book, readme)
    rows = [line for line in table_of(book).splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[1] for row in rows] == [
        book.question(page) for page, number in book.pages.items() if number
    ]
