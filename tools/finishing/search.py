"""The search of the book: what the sections of its pages say, and the page that searches in it.

Sphinx's own search finds pages, and asks the server for their text. This one finds sections, and
their text is in a script that only the page for searching loads, so it works from a folder, too.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

from tools.finishing.pages import replaced
from tools.sources.book import Book
from tools.sources.errors import MystError

INDEX = "_static/search-index.js"
SCRIPT = "_static/search.js"
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
BLOCKS = {"p", "li", "td", "th", "dd", "div", "pre", "figcaption", "summary"}
VOID = {"img", "link", "meta", "br", "hr", "input", "source", "wbr", "col"}
# Of a formula its drawing, not its source; no marks that are there for the mouse; no questions,
# most of whose answers are wrong.
SILENT_TAGS = {"script", "style", "svg", "button", "math", "fieldset"}
SILENT_CLASSES = {"headerlink", "katex-mathml", "tocdepth", "prev-next-area", "caption-number"}
# What the theme has for its own search, and the script that leads the cursor there.
THEIRS = re.compile(r'<div class="bd-search-container">.*?</script>', re.DOTALL)
ARTICLE = re.compile(r'<article class="bd-article">.*?</article>', re.DOTALL)
PAGE = """<article class="bd-article">
<h1>Search</h1>
<form id="search-form" role="search" action="search.html">
<label for="search-field">Words to find, English or Korean. A section must hold all of them.</label>
<div class="search-line"><input type="search" id="search-field" name="q" autocomplete="off"
 autocapitalize="off" spellcheck="false" aria-controls="search-results">
<button type="submit">Search</button></div>
</form>
<noscript><p>Searching needs JavaScript. The <a href="genindex.html">index</a> and the
<a href="book/glossary.html">glossary</a> do not.</p></noscript>
<p id="search-status" role="status"></p>
<ol id="search-results"></ol>
</article>"""


class Section:
    """A part of a page that a link can lead to."""

    def __init__(self, anchor: str, title: str = "") -> None:
        self.anchor = anchor
        self.title = title
        self.text = ""
        self.code = ""

    def entry(self) -> list[str]:
        """Code behind the text, from which an excerpt is rather taken."""
        return [self.anchor, _plain(self.title), _plain(f"{self.text} {self.code}")]


class Sections(HTMLParser):
    """The sections of an article: what stands below a heading, a term, or a name of the module."""

    def __init__(self, article: str) -> None:
        super().__init__()
        self.found: list[Section] = []
        # The tags that are open; for those that begin a section, the section around it.
        self.open: list[tuple[str, Section | None]] = []
        self.silent = 0
        self.part: Section | None = None
        self.heading = 0
        self.feed(article)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        attributes = {key: value or "" for key, value in attrs}
        classes = set(attributes.get("class", "").split())
        if self.silent or tag in SILENT_TAGS or classes & SILENT_CLASSES:
            self.silent += 1
        if tag == "section" and not self.silent:
            self.open.append((tag, self.part))
            self._begin(attributes.get("id", ""))
            return
        self.open.append((tag, None))
        if self.silent:
            return
        if tag in HEADINGS:
            self.heading += 1
        elif tag == "dt" and attributes.get("id"):
            self._begin_entry(attributes["id"], is_name="sig" in classes)
        elif tag in BLOCKS:
            self.handle_data(" ")

    def _begin(self, anchor: str) -> None:
        self.part = Section(anchor)
        self.found.append(self.part)

    def _begin_entry(self, anchor: str, *, is_name: bool) -> None:
        """A term, with which others may share their text; or a name of the module."""
        before = self.found[-1] if self.found else None
        if is_name:
            self._begin(anchor)
            self.found[-1].title = anchor.rpartition(".")[2]
        elif before and before.anchor.startswith("term-") and not _plain(before.text):
            before.title += " · "
        else:
            self._begin(anchor)
        if not is_name:
            self.heading += 1

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            last, around = self.open.pop()
            if self.silent:
                self.silent -= 1
            elif last in HEADINGS or (last == "dt" and self.heading):
                self.heading -= 1
            elif last == "section":
                self.part = around
            if last == tag:
                return

    def handle_data(self, data: str) -> None:
        if self.part is None or self.silent:
            return
        if self.heading:
            self.part.title += data
        elif any(tag == "pre" for tag, _ in self.open):
            self.part.code += data
        else:
            self.part.text += data


def _plain(text: str) -> str:
    return " ".join(text.split())


def sections(page: str) -> list[list[str]]:
    """Anchor, title and text of each section of a built page that says anything."""
    article = ARTICLE.search(page)
    found = Sections(article[0]).found if article else []
    return [part.entry() for part in found if part.title]


def write_search(site: Path, book: Book) -> None:
    """Write the index of the book's pages, in their order, and the page that searches."""
    index = []
    for name in book.pages:
        found = sections((site / f"{name}.html").read_text("utf-8"))
        if not found:
            raise MystError(f"{name}.html has no section that the search could find")
        index.append([f"{name}.html", found[0][1], found])
    data = json.dumps(index, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    (site / INDEX).write_text(f"window.bookSections = {data};\n", "utf-8")
    path = site / "search.html"
    text = replaced(path.read_text("utf-8"), THEIRS, lambda _: PAGE, path)
    scripts = "".join(f'<script defer src="{name}"></script>\n' for name in (INDEX, SCRIPT))
    path.write_text(replaced(text, "</head>", f"{scripts}</head>", path), "utf-8")
