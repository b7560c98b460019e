"""What no cell of a chapter may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_book import LABELS, write_tiny_book
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook
from tools.sources.myst import MystError


@pytest.mark.parametrize(
    "cell",
    [
        ":tags: [nbval-ignore-output]\n\nx = 1",
        ":tags: [hide_input]\n\nx = 1",
        "# NBVAL_SKIP\nx = 1",
        "---\nmystnb: {figure: {name: fig-x, caption: No alt text.}}\n---\nx = 1",
        ":tags: [hide-input]\n\nx = 1  # a fold without a name",
        "---\nmystnb: {table: {name: tab-x}}\n---\nx = 1  # a table without a caption",
        "---\nmystnb: {table: {name: tab-x, caption: The $x$.}}\n---\nx = 1",
    ],
)
def test_page_notebook_refuses_cells_that_would_escape_a_check(tmp_path: Path, cell: str) -> None:
    source = f"# One\n\n```{{code-cell}} python\n{cell}\n```\n"
    book = Book(write_tiny_book(tmp_path, source, LABELS))
    lines = book.source("notebooks/01-one").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith(cell.splitlines()[-1]))
    with pytest.raises(MystError, match=rf"^line ({line}|{line - 1}): cell `"):
        page_notebook(book, "notebooks/01-one")
