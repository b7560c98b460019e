"""The feed of changes: an entry for each release that CHANGELOG.md gives a date.

A heading there is `## 0.1.0, 1 May 2026`; without a date a release is not out yet.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from tools.sources.book import Book

FEED = "changes.xml"
PAGE = "book/changes.html"
NAMESPACE = "http://www.w3.org/2005/Atom"
HEADING = re.compile(
    r"^## (?P<version>[^,\n]+)(?:, (?P<date>\d{1,2} \w+ \d{4}))?[ \t]*$", re.MULTILINE
)


def releases(changelog: str) -> list[tuple[str, datetime, str]]:
    """Version, date and text of what is out, in the file's order."""
    parts = HEADING.split(changelog)[1:]
    return [
        (version, datetime.strptime(date, "%d %B %Y").replace(tzinfo=UTC), text.strip())
        for version, date, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
        if date
    ]


def feed(changelog: str, website: str, title: str, author: str) -> str | None:
    """An Atom feed (RFC 4287); None where nothing is out."""
    found = releases(changelog)
    if not found:
        return None
    root = ElementTree.Element("feed", xmlns=NAMESPACE)
    _add(root, "title", f"{title}: what changed")
    _add(root, "id", website + FEED)
    _add(root, "updated", max(date for _, date, _ in found).isoformat())
    _add(_add(root, "author"), "name", author)
    _add(root, "link", rel="self", href=website + FEED)
    _add(root, "link", href=website + PAGE)
    for version, date, text in found:
        entry = _add(root, "entry")
        _add(entry, "title", version)
        _add(entry, "id", f"{website}{PAGE}#{version}")
        _add(entry, "updated", date.isoformat())
        _add(entry, "link", href=website + PAGE)
        _add(entry, "content", text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def write_feed(site: Path, book: Book, changelog: Path) -> None:
    """Write the feed, if the site has an address that its links can name."""
    if book.website:
        names = (book.config["title"], book.config["author"])
        text = feed(changelog.read_text("utf-8"), book.website, *names)
        if text:
            (site / FEED).write_text(text, "utf-8")


def _add(
    parent: ElementTree.Element, name: str, text: str | None = None, **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, name, attributes)
    child.text = text
    return child
