"""What the theme's frame around an article lacks: a menu without scripts and with less in it."""

from __future__ import annotations

import html
import re
from itertools import count
from pathlib import Path
from posixpath import relpath

from tools.finishing.pages import pages_of, replaced
from tools.sources.book import Book

HIDDEN = ".pst-js-only { display: none !important; }"
# Without scripts no button opens the menu on a narrow screen: a link shows it above the page.
WITHOUT_SCRIPTS = """.sidebar-toggle { display: none !important; }
      @media (max-width: 991.98px) {
        .bd-container__inner { flex-direction: column; }
        #pst-primary-sidebar { display: none; }
        #pst-primary-sidebar:target { display: block; position: static; visibility: visible;
          margin: 0; max-height: none; max-width: none; opacity: 1; transform: none; width: 100%; }
      }
      @media (min-width: 992px) { .menu-link { display: none; } }"""
# Of docutils, Sphinx and the theme: one is enough.
VIEWPORT = re.compile(r'\s*<meta name="viewport"[^>]*>')
# Of a page without one; the theme prints its title, too.
UNTITLED = re.compile(r"<h1></h1>\s*")
START = '<div class="header-article-items__start">'
MENU = '<noscript><a class="menu-link" href="#pst-primary-sidebar">Menu</a></noscript>'
# The theme's first stop of the Tab key, before its menu.
SKIP = '<a href="#main-content">Skip to main content</a>'
# A name beside which more is to be seen; the button's own text says both.
NAMED = re.compile(
    r'(<button class="[^"]*\bsearch-button-field\b[^"]*") title="Search" aria-label="Search"'
)

# Parts that one looks things up in, where one is seldom led by reading on.
FOLDED = ("Appendix", "Solutions", "Reference", "Teaching")
PART = re.compile(
    r'<p aria-level="2" class="caption" role="heading"><span class="caption-text">'
    rf'(?P<name>{"|".join(FOLDED)})</span></p>\n(?P<pages><ul class="(?P<classes>[^"]*)">.*?</ul>)',
    re.DOTALL,
)


def folded(part: re.Match[str]) -> str:
    """A part of the menu that opens on a click, and is open on its own pages."""
    is_open = " open" * ("current" in part["classes"].split())
    summary = f'<summary class="caption">{part["name"]}</summary>'
    return f'<details class="menu-part"{is_open}>{summary}\n{part["pages"]}</details>'


def framed(text: str, where: object, chapter: str = "", feed: str = "", start: str = "") -> str:
    """The page, with its chapter's name, such as `Chapter 2`, for the style sheet to show.

    `feed` is the address of the feed of releases, if there is one; `start` is that of the first
    chapter, to which the first page leads before its menu.
    """
    text = UNTITLED.sub("", text)
    text = replaced(text, HIDDEN, f"{HIDDEN}\n      {WITHOUT_SCRIPTS}", where)
    text = replaced(text, START, START + MENU, where)
    text = replaced(text, NAMED, lambda found: found[1], where)
    text = replaced(text, PART, folded, where)
    nth = count()
    text = replaced(text, VIEWPORT, lambda found: found[0] * (next(nth) == 0), where)
    if start:
        text = replaced(text, SKIP, f'{SKIP} · <a href="{start}">Start with chapter 1</a>', where)
    if feed:
        link = f'<link rel="alternate" type="application/atom+xml" href="{feed}">'
        text = replaced(text, "</head>", f"{link}\n</head>", where)
    if chapter:
        text = replaced(text, "<h1>", f'<h1 data-chapter="{html.escape(chapter)}">', where)
    return text


def frame(site: Path, book: Book) -> None:
    """Rewrite the pages of a built site."""
    chapters = {site / f"{page}.html": number for page, number in book.pages.items()}
    name = book.config["sphinx"]["config"]["numfig_format"]["section"]
    feed = f"{book.repository}/releases.atom" if book.repository else ""
    front = site / f"{book.front_page}.html"
    one = next(path for path, number in chapters.items() if number)
    for path in pages_of(site):
        number = chapters.get(path)
        chapter = name % number if number else ""
        start = relpath(one, path.parent) if path == front else ""
        path.write_text(framed(path.read_text("utf-8"), path, chapter, feed, start), "utf-8")
