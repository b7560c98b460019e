"""What the weekly check of outside links takes for broken, asked of a server of our own."""

from __future__ import annotations

import http.server
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from tools.finishing.links import addresses, named_in, problem, report

ANSWERS = {"/ok": 200, "/gone": 404, "/refused": 403, "/moved": 301, "/shy": 200, "/down": 503}


class Sites(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[Counter[str]] = Counter()

    def answer(self) -> None:
        self.asked[self.path] += 1
        code = ANSWERS.get(self.path, 404)
        if self.path == "/shy" and self.command == "HEAD":
            code = 404
        if self.path == "/busy":
            code = 503 if self.asked[self.path] < 3 else 200
        self.send_response(code)
        self.send_header("Location", "/ok")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = answer

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sites) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("page", ["ok", "moved", "shy", "busy", "refused", "down"])
def test_what_answers_is_not_broken(site: str, page: str) -> None:
    """Also who refuses machines, knows no HEAD, or is busy all the time."""
    assert problem(f"{site}/{page}", wait=0) == ""


def test_what_is_gone_or_never_answers_is_broken(site: str) -> None:
    assert problem(f"{site}/gone", wait=0) == "404 Not Found"
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # nobody listens
        assert problem(f"http://127.0.0.1:{closed.getsockname()[1]}/", wait=0).startswith(
            "no answer"
        )
    lines = report({f"{site}/gone": ["a.md", "b.md"], f"{site}/ok": ["a.md"]}, wait=0)
    assert lines == [f"- {site}/gone: 404 Not Found (in a.md, b.md)"]


def test_addresses_are_found_without_what_stands_around_them() -> None:
    text = """[a](https://a.org/x_(y)), (https://b.org/z), https://c.org/w#part.
      doi = {10.1175/1520-0450(1973)012<0595:A>2.0.CO;2},
      url = {https://d.org/v}, https://github.com/OWNER/REPOSITORY and http://localhost:80/"""
    assert addresses(text) == {
        "https://a.org/x_(y)",
        "https://b.org/z",
        "https://c.org/w",
        "https://d.org/v",
        "https://doi.org/10.1175/1520-0450%281973%29012%3C0595%3AA%3E2.0.CO%3B2",
    }


def test_the_course_names_papers() -> None:
    named = named_in(Path(__file__).parents[1])
    assert "book/references.bib" in named["https://arxiv.org/abs/1706.04599"]
    assert len(named) > 30
