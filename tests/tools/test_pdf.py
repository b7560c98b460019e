"""All pages in one, to be printed: each name is that of one element, and each link leads on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.tiny_book import write_tiny_book
from tools.finishing.pdf import joined, print_book
from tools.sources.book import Book
from tools.sources.errors import MystError

PAGE = """<html><body><article class="bd-article"><section id="top"><h1>{title}
<a class="headerlink" href="#top">#</a></h1>
<p><a href="#top">up</a> <a href="{other}.html">on</a> <a href="{other}.html#top">over</a>
<a href="https://a.b/c#d">out</a> <a href="slides/x.html">slides</a></p>
<figure id="fig-a"><img src="a.svg"></figure>
<span class="play-words">To play.</span><script>{{"id": 1}}</script>
<img src="_images/a.png" alt="A"></section></article></body></html>"""


@pytest.fixture
def book(tmp_path: Path) -> Book:
    book = Book(write_tiny_book(tmp_path / "book", url=None))
    for page in book.pages:
        path = tmp_path / f"html/{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        other = "/".join([*[".."] * page.count("/"), list(book.pages)[1]])
        path.write_text(PAGE.format(title=page, other=other), "utf-8")
    return book


def test_joined_has_all_pages_which_lead_to_each_other(book: Book, tmp_path: Path) -> None:
    text = joined(book, tmp_path / "html")
    names = re.findall(r' id="([^"]+)"', text)
    assert len(names) == len(set(names)) == 3 * len(book.pages)
    inside = re.findall(r' href="#([^"]+)', text)
    assert set(inside) <= set(names)
    first, second, *_ = book.pages
    assert f'<a href="#{first}--top">up</a> <a href="#{second}">on</a>' in text
    assert f'<a href="#{second}--top">over</a>\n<a href="https://a.b/c#d">out</a>' in text
    assert "<a>slides</a>" in text
    assert "headerlink" not in text
    assert "To play." not in text
    assert '<img src="html/' in text


def test_joined_refuses_a_page_without_an_article(book: Book, tmp_path: Path) -> None:
    (tmp_path / f"html/{list(book.pages)[1]}.html").write_text("<html></html>", "utf-8")
    with pytest.raises(MystError, match="has no article"):
        joined(book, tmp_path / "html")


def test_print_book_prints_an_outline(book: Book, tmp_path: Path, browser: Any) -> None:
    target = tmp_path / "made/book.pdf"
    print_book(book, tmp_path / "html", target, browser)
    written = target.read_bytes()
    assert written.startswith(b"%PDF-")
    assert b"/Outlines" in written
    # Each page of the book begins one on paper.
    assert len(re.findall(rb"/Type /Page\b", written)) == len(book.pages)
