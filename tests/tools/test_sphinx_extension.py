"""What the book adds to each page, and how it starts the server that sets formulas."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from sphinxcontrib.katex import KaTeXServer

from tests.tiny_book import write_tiny_book
from tools.finishing.sphinx_extension import CUT, _start_katex, _with_answers, citation
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
def test_cut_ends_a_description_with_a_sentence(cut: str, whole: str) -> None:
    for name in ('name="description"', 'property="og:description"'):
        tag = f'<meta {name} content="{{}}" />'
        assert CUT.sub(r'\1"', tag.format(cut)) == tag.format(whole)


@pytest.mark.parametrize("url", [None, "https://github.com/someone/course"])
def test_citation_says_how_to_cite_a_page(url: str | None, tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path / "book", url=url))
    first, chapter, *_ = book.pages
    course, part = (citation(book, page) for page in (first, chapter))
    assert f'<meta name="citation_title" content="{book.title(chapter)}">' in part
    assert f'<meta name="citation_inbook_title" content="{book.config["title"]}">' in part
    assert "citation_inbook_title" not in course
    assert '<meta name="citation_publication_date" content="2026">' in part
    address = f"https://someone.github.io/course/{chapter}.html"
    assert (f'"citation_fulltext_html_url" content="{address}"' in part) is bool(url)


def test_with_answers_prints_them_at_the_end_of_a_page() -> None:
    question = (
        '<fieldset class="question" aria-live="polite"><legend>Who?</legend>'
        '<details class="is-right"><summary>We</summary><p><b>Right.</b> Us.</p></details>'
        "<details><summary>They</summary><p><b>Wrong.</b> Them.</p></details></fieldset>"
    )
    page = f"<p>Text.</p>{question}<p>More.</p>"
    made = _with_answers(page)
    assert made.startswith(page)
    end = made.removeprefix(page)
    assert end.count("<li>") == 3
    assert end.index("Us.") < end.index("Them.")
    assert "We" not in end
    number = question.replace('class="question"', 'class="question for-number"')
    assert _with_answers(page.replace(question, number)).count("<li>") == 1
    assert _with_answers("No question.") == "No question."


# It binds its file long before it listens.
SLOW = """
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
time.sleep(0.3)
server.listen()
server.accept()[0].sendall(b"here")
"""


def test_start_katex_waits_for_a_server_that_does_not_listen_yet(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(
        KaTeXServer, "build_command", lambda socket: [sys.executable, "-c", SLOW, str(socket)]
    )
    process, client = _start_katex(tmp_path, timeout=60)
    with process, client:
        assert client.recv(4) == b"here"
        assert client.family == socket.AF_UNIX  # a port keeps each formula waiting
