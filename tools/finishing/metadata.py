"""What a page says of itself to machines: `citation_*` for Google Scholar and for managers of
references, and schema.org for all others.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

from tools.sources.book import Book

LICENCE = "https://creativecommons.org/licenses/by/4.0/"
DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)"')


def citation(book: Book, page: str) -> dict[str, str]:
    """The tags by name: the course on its first page, and elsewhere a part of it."""
    tags = {
        "title": book.title(page),
        "author": book.config["author"],
        "publication_date": re.findall(r"\d{4}", book.config["copyright"])[0],
        "language": book.config["sphinx"]["config"]["language"],
    }
    if page != book.front_page:
        tags["inbook_title"] = book.config["title"]
    if book.website:
        tags["fulltext_html_url"] = f"{book.website}{page}.html"
    return {f"citation_{name}": said for name, said in tags.items()}


def schema(book: Book, page: str, description: str) -> dict[str, Any]:
    """The same in the words of schema.org."""
    author = {"@type": "Organization", "name": book.config["author"]}
    said: dict[str, Any] = {
        "@context": "https://schema.org",
        **_link(book, page),
        "description": description,
        "inLanguage": book.config["sphinx"]["config"]["language"],
        "license": LICENCE,
        "isAccessibleForFree": True,
        "author": author,
    }
    if page == book.front_page:
        chapters = [name for name, number in book.pages.items() if number]
        said |= {"provider": author, "hasPart": [_link(book, name) for name in chapters]}
    else:
        said["isPartOf"] = _link(book, book.front_page)
        said |= {"position": number} if (number := book.pages[page]) else {}
    return said


def _link(book: Book, page: str) -> dict[str, str]:
    """Type, name and, if there is one, address of a page."""
    kind = "Course" if page == book.front_page else "LearningResource"
    link = {"@type": kind, "name": book.title(page)}
    return link | ({"url": f"{book.website}{page}.html"} if book.website else {})


def about(book: Book, page: str, said: str) -> str:
    """The tags of a page, whose description is in `said`; and the feed of releases."""
    found = DESCRIPTION.search(said)
    data = schema(book, page, html.unescape(found[1]) if found else "")
    written = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    tags = [
        f'<meta name="{name}" content="{html.escape(said)}">'
        for name, said in citation(book, page).items()
    ]
    tags.append(f'<script type="application/ld+json">{written}</script>')
    if book.repository:
        feed = f"{book.repository}/releases.atom"
        tags.append(f'<link rel="alternate" type="application/atom+xml" href="{feed}">')
    return "\n".join(tags)
