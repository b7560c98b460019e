"""The feed of changes holds the releases that have a date, where the site has an address."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from tiny_book import write_tiny_book

from tools.finishing.feed import feed, releases, write_feed
from tools.sources.book import Book

CHANGELOG = """# What changed

Words before.

## 0.3.0

Not out.

## 0.2.0, 3 June 2026

- A & B.

## 0.1.0, 1 May 2026

The first.
"""
ATOM = "{http://www.w3.org/2005/Atom}"


def test_what_has_no_date_is_not_out() -> None:
    assert releases(CHANGELOG) == [
        ("0.2.0", datetime(2026, 6, 3, tzinfo=UTC), "- A & B."),
        ("0.1.0", datetime(2026, 5, 1, tzinfo=UTC), "The first."),
    ]
    assert feed("# What changed\n\n## 0.3.0\n\nNot out.\n", "https://x.org/", "T", "A") is None


def test_a_feed_is_atom() -> None:
    root = ElementTree.fromstring(feed(CHANGELOG, "https://x.org/", "The book", "We"))
    assert root.findtext(f"{ATOM}updated") == "2026-06-03T00:00:00+00:00"
    assert root.findtext(f"{ATOM}author/{ATOM}name") == "We"
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == ["0.2.0", "0.1.0"]
    assert entries[0].findtext(f"{ATOM}content") == "- A & B."
    ids = [node.text for node in root.iter(f"{ATOM}id")]
    assert len(set(ids)) == 3
    assert all(one.startswith("https://x.org/") for one in ids)


def test_a_site_without_address_has_no_feed(tmp_path: Path) -> None:
    for url, there in ((None, False), ("https://github.com/someone/course", True)):
        book = Book(write_tiny_book(tmp_path / str(there), url=url))
        write_feed(tmp_path, book, book.root / "CHANGELOG.md")
        assert (tmp_path / "changes.xml").exists() is there
