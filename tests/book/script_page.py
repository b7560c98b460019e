"""A page of its own for a script of the book: no built book is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parents[2] / "book/assets"
PAGE = "http://book.test/book/page.html"
FIGURE = (
    '<figure class="align-default" id="fig-{}">\n<img src="a.svg"/>\n'
    '<figcaption>\n<span class="caption-text">A</span></figcaption>\n</figure>'
)


def course_style(**colours: str) -> str:
    """The book's style sheet as an element, with these of the theme's colours."""
    theme = "".join(f"--pst-color-{name}: {one};" for name, one in colours.items())
    return f"<style>html {{ {theme} }} {(ASSETS / 'course.css').read_text('utf-8')}</style>"


@contextmanager
def script_page(browser: Any, body: str, *names: str, **options: Any) -> Iterator[Any]:
    """A tab with this body and these scripts, none of which may fail while it is open.

    At `PAGE`, and at any other address. The script that all others need comes first.
    """
    texts = [(ASSETS / name).read_text("utf-8") for name in ("elements.js", *names)]
    scripts = "".join(f"<script>{text}</script>" for text in texts)
    head = '<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8">'
    page = f"{head}<body>{body}{scripts}</body></html>"
    tab = browser.new_page(**options)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.route("**/*", lambda route: route.fulfill(body=page, content_type="text/html"))
    tab.goto(PAGE)
    assert errors == []  # else each test would wait for what was never drawn
    yield tab
    tab.close()
    assert errors == []
