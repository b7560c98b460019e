"""Where a cell of any notebook stands in its source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook
from tools.sources.colab_notebook import colab_notebook
from tools.sources.locations import place


def test_place_of_a_cell_is_the_same_in_all_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book(write_tiny_book(tmp_path, url="https://github.com/someone/course"))
    monkeypatch.chdir(tmp_path)
    page = "notebooks/01-one"
    lines = book.source(page).splitlines()
    places = [
        f"{page}.md:{lines.index('a = 1') + 1}: code cell 1",
        f"{page}.md:{lines.index('import calib_utils') + 1}: code cell 2",
    ]
    own, colab = (
        [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (page_notebook(book, page), colab_notebook(book, page))
    )
    assert [place(page, code) for code in own] == places
    assert [place(page, code) for code in colab] == [
        # Neither what installs the module is in the source, nor the reader's answer.
        *("notebooks/made/01-one.ipynb", places[0], "notebooks/made/01-one.ipynb", places[1]),
    ]
