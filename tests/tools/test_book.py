"""What the book is told by its settings and labels, and which of them are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.sources.book import Book
from tools.sources.errors import MystError

PARAMETERS = "notebooks/parameters/cpu.yml"


def read_settings() -> None:
    book = Book()
    _ = book.labels, book.parameters("notebooks/01-one", "cpu"), book.repository


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        (PARAMETERS, "{a: 1}", "{a: 1", f"{PARAMETERS}:2: this is no YAML: "),
        (PARAMETERS, "01-one: {a: 1}", "- 01-one", f"{PARAMETERS}: `name: value` is expected"),
        (PARAMETERS, "{a: 1}", "1", f"{PARAMETERS}: 01-one needs names and values"),
        (PARAMETERS, "01-one", "one", f"{PARAMETERS}: no chapter one; there is 01-one, 02-two"),
        ("_toc.yml", "Appendix", "[", "_toc.yml:12: this is no YAML: "),
        (
            "_toc.yml",
            "    chapters:\n      - file: notebooks/solutions/01-one\n",
            "",
            "_toc.yml: part 'Solutions' has no chapters",
        ),
        ("_toc.yml", "02-two", "03-three", "notebooks/03-three.md does not exist: write it"),
        ("_config.yml", "title:", "title: [", "_config.yml:"),
        ("_config.yml", "https://github.com/OWNER/REPOSITORY", "someone", "'someone': write "),
    ],
)
def test_book_tells_a_bad_setting_in_a_sentence(
    name: str, old: str, new: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tiny_book(tmp_path))
    text = Path(name).read_text("utf-8")
    assert old in text
    Path(name).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(MystError, match=re.escape(sentence)):
        read_settings()


def test_website_is_where_github_publishes_the_repository(tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path, url="https://github.com/Someone/course"))
    assert book.website == "https://someone.github.io/course/"
    book = Book(write_tiny_book(tmp_path, url="https://github.com/Someone/Someone.github.io"))
    assert book.website == "https://someone.github.io/"


@pytest.mark.parametrize("url", ["https://github.com/a", "https://github.com/a/b.git"])
def test_repository_refuses_an_address_that_is_none(tmp_path: Path, url: str) -> None:
    book = Book(write_tiny_book(tmp_path, url=url))
    with pytest.raises(MystError, match="repository url"):
        _ = book.repository


def test_labels_refuse_one_that_is_used_twice(tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path, two="# Two\n\n(one)=\n## Again\n"))
    with pytest.raises(MystError, match=r"02-two\.md: label 'one' is in notebooks/01-one\.md too"):
        _ = book.labels
