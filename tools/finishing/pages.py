"""Where the site is built, its pages, and what is put into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.sources.errors import MystError

BUILD = Path("build")
STAGED, SPHINX = BUILD / "site", "_build"
# The whole site, and one page; and where both are read.
NEW, ONE, SITE = STAGED / SPHINX / "html", STAGED / SPHINX / "page", BUILD / "html"


def pages_of(site: Path) -> Iterator[Path]:
    """All pages in order, but the one that only leads on, and the theme's templates."""
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts and path != site / "index.html":
            yield path


def replaced(
    text: str, old: str | re.Pattern[str], new: str | Callable[[re.Match[str]], str], where: object
) -> str:
    """The text of a page with something else wherever `old` stands.

    Raises:
        MystError: It stands nowhere, as in a page of another theme.
    """
    pattern = re.compile(re.escape(old)) if isinstance(old, str) else old
    made, count = pattern.subn(new if callable(new) else lambda _: new, text)
    if not count:
        raise MystError(
            f"{where} does not contain {old if isinstance(old, str) else old.pattern}: "
            "Sphinx or its theme has changed, so tools/finishing has to follow"
        )
    return made
