"""A reader plays: other seeds and other bins in all of a chapter, and no cell raises an error.

The cells of a page run as one program, as a reader runs them, for whom no claim is strict.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tools.sources.book import Book
from tools.sources.chapter_notebook import is_solutions, page_notebook

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)
VALUE = re.compile(r"\b(?P<name>seed|random_state|n_bins) ?= ?(?P<number>\d+)\b")


def edited(code: str) -> tuple[str, int]:
    """Twice as many bins, and seeds that the author never tried; how many of them there are."""

    def other(found: re.Match[str]) -> str:
        number = int(found["number"])
        return f"{found['name']}={2 * number if found['name'] == 'n_bins' else number + 7}"

    return VALUE.subn(other, code)


def code_of(page: str) -> str:
    cells = page_notebook(BOOK, page).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "code")


PAGES = [page for page in BOOK.chapters if not is_solutions(page) and edited(code_of(page))[1]]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore")  # that a figure cannot be shown here
@pytest.mark.parametrize("page", PAGES)
def test_no_edit_stops_a_reader(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CALIB_CLAIMS", raising=False)
    code, name = edited(code_of(page))[0], str(ROOT / f"{page}.md")
    # `claim` finds its lines as in a kernel.
    lines = code.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (len(code), None, lines, name))
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    finally:
        plt.close("all")
