"""What a page says of itself to who links to it."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.finishing.metadata import citation
from tools.finishing.site import PICTURE, site_config
from tools.finishing.sphinx_extension import CUT
from tools.sources.book import Book


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("It is so. Is it? Nobody kn...", "It is so. Is it?"),
        ("It is so. 1. The first of...", "It is so."),
        ("All of it stands here.", "All of it stands here."),
        ("Not one sentence of 0.5 is...", "Not one sentence of 0.5 is..."),
    ],
)
def test_a_description_ends_with_a_sentence(cut: str, whole: str) -> None:
    for name in ('name="description"', 'property="og:description"'):
        tag = f'<meta {name} content="{{}}" />'
        assert CUT.sub(r'\1"', tag.format(cut)) == tag.format(whole)


def test_the_picture_has_the_size_that_the_tags_say(tmp_path: Path) -> None:
    picture = tmp_path / "card.png"
    subprocess.run([sys.executable, "-m", "book.pictures.card", picture], check=True)
    width, height = struct.unpack(">II", picture.read_bytes()[16:24])
    tags = "".join(Book().config["sphinx"]["config"]["ogp_custom_meta_tags"])
    assert f'og:image:width" content="{width}"' in tags
    assert f'og:image:height" content="{height}"' in tags


def test_what_is_absolute_needs_an_address(tmp_path: Path) -> None:
    here = site_config(Book(write_tiny_book(tmp_path / "a", url=None)))["sphinx"]["config"]
    assert not {"ogp_site_url", *PICTURE} & here.keys()
    url = "https://github.com/someone/course"
    there = site_config(Book(write_tiny_book(tmp_path / "b", url=url)))["sphinx"]["config"]
    assert there["ogp_site_url"] == "https://someone.github.io/course/"
    assert there["ogp_image"] == "_static/card.png"


@pytest.mark.parametrize("url", [None, "https://github.com/someone/course"])
def test_a_page_says_how_to_cite_it(url: str | None, tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path / "book", url=url))
    first, chapter, *_ = book.pages
    course, part = (citation(book, page) for page in (first, chapter))
    assert f'<meta name="citation_title" content="{book.title(chapter)}">' in part
    assert f'<meta name="citation_inbook_title" content="{book.config["title"]}">' in part
    assert "citation_inbook_title" not in course
    assert '<meta name="citation_publication_date" content="2026">' in part
    address = f"https://someone.github.io/course/{chapter}.html"
    assert (f'"citation_fulltext_html_url" content="{address}"' in part) is bool(url)
