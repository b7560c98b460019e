"""What a page says of itself to Google Scholar and to managers of references: `citation_*`."""

from __future__ import annotations

import html
import re

from tools.sources.book import Book


def citation(book: Book, page: str) -> str:
    """The tags of the course on its first page, and elsewhere those of a part of it."""
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
    return "\n".join(
        f'<meta name="citation_{name}" content="{html.escape(said)}">'
        for name, said in tags.items()
    )
