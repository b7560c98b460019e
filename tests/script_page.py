"""A page of its own for a script of the book: no built book is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parents[1] / "book/assets"


def scripts(*names: str) -> str:
    """Scripts of the book behind the one that all others need, as elements of a page."""
    texts = ((ASSETS / name).read_text("utf-8") for name in ("elements.js", *names))
    return "".join(f"<script>{text}</script>" for text in texts)


@contextmanager
def script_page(browser: Any, body: str, *names: str, **options: Any) -> Iterator[Any]:
    """A tab with this body and these scripts, none of which may fail while it is open."""
    tab = browser.new_page(**options)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.set_content(f"{body}{scripts(*names)}")
    yield tab
    tab.close()
    assert errors == []
