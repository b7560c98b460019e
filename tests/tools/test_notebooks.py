"""What is said of edited lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.running.notebooks import doubtful, outdated
from tools.sources.book import Book
from tools.sources.chapter_notebook import write_if_changed
from tools.sources.colab_notebook import colab_notebook
from tools.sources.locations import committed


def test_doubtful_shows_an_edited_line_with_a_number_or_word_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tiny_book(tmp_path))
    page = "notebooks/01-one"
    write_if_changed(colab_notebook(Book(), page), committed(page))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"]
        subprocess.run(["git", *name, *command], check=True)
    assert list(doubtful(page)) == []
    path = Path(f"{page}.md")
    path.write_text(path.read_text("utf-8") + "\nThe first is 0.75, and calibraetd.\n", "utf-8")
    line = len(path.read_text("utf-8").splitlines())
    assert list(doubtful(page)) == [
        f"{page}.md:{line}: no cell has 0.75",
        f"{page}.md:{line}: nowhere else: calibraetd",
    ]


def test_outdated_shows_a_number_that_no_cell_prints_any_more() -> None:
    (said,) = outdated("It is 0.750.\nIt is 0.75.", {"0.75", "12"})
    assert said == "2: no cell prints 0.75 any more: It is 0.75."
