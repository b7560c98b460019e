"""The search of the book: what the sections of its pages say, and the page that searches in it.

Sphinx's own search finds pages, and asks the server for their text. This one finds sections, and
their text is in a script that only the page for searching loads, so it works from a folder, too.
Pagefind was weighed: it finds sections as well, but it fetches its index, and so needs a server.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import soupsieve
from bs4 import BeautifulSoup, Comment, SoupStrainer, Tag

from tools.finishing.pages import replaced
from tools.sources.book import Book
from tools.sources.errors import MystError

INDEX = "_static/search-index.js"
SCRIPT = "_static/search.js"
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
BLOCKS = {"p", "li", "td", "th", "dd", "div", "pre", "figcaption", "summary"}
# No pictures, and of a formula its drawing, not its source: half of a page, left out unread.
UNREAD = re.compile(r"<(script|style|svg|math)\b.*?</\1>", re.DOTALL)
# No marks that are there for the mouse, nor names of folds; no questions, most of whose answers are
# wrong.
SILENT = (
    "button, fieldset, .headerlink, .tocdepth, .prev-next-area, .caption-number, "
    "details.hide > summary, .notebook-links, .printed-answers, [hidden]"
)
SILENCE = soupsieve.compile(SILENT)
# What the theme has for its own search, and the script that leads the cursor there.
THEIRS = re.compile(r'<div class="bd-search-container">.*?</script>', re.DOTALL)
ARTICLE = SoupStrainer("article", class_="bd-article")
PAGE = """<article class="bd-article">
<h1>Search</h1>
<form id="search-form" role="search" action="search.html">
<label for="search-field">Words to find, or a question, in English or Korean.</label>
<div class="search-line"><input type="search" id="search-field" name="q" autocomplete="off"
 autocapitalize="off" spellcheck="false" aria-controls="search-results">
<button type="submit">Search</button></div>
</form>
<noscript><p>Searching needs JavaScript. The <a href="genindex.html">index</a> and the
<a href="book/glossary.html">glossary</a> do not.</p></noscript>
<p id="search-status" role="status"></p>
<ol id="search-results"></ol>
</article>"""


@dataclass
class Section:
    """A part of a page that a link can lead to."""

    anchor: str
    title: str = ""
    text: str = ""
    code: str = ""
    terms: list[str] = field(default_factory=list)

    def entry(self) -> list[str]:
        """Code behind the text, from which an excerpt is rather taken; then the terms."""
        return [self.anchor, _plain(self.title), _plain(f"{self.text} {self.code}"), *self.terms]


def sections(page: str) -> list[list[str]]:
    """Anchor, title, text and new terms of each section of a built page that says anything.

    A section is what stands below a heading, a term, or a name of the module.
    """
    article = BeautifulSoup(UNREAD.sub("", page), "html.parser", parse_only=ARTICLE)
    found: list[Section] = []

    def read(parent: Tag, section: Section | None, in_title: bool = False) -> None:
        """Add what stands in a node to the section that it is in."""
        for node in parent.children:
            if isinstance(node, Comment):
                continue
            if not isinstance(node, Tag) or _is_formula(node):
                if section and in_title:
                    section.title += node.get_text()
                elif section:
                    section.text += node.get_text()
            elif node.name == "pre":
                if section:
                    section.code += f" {node.get_text()}"
            elif SILENCE.match(node):
                continue
            elif node.name == "section":
                found.append(Section(str(node.get("id", ""))))
                read(node, found[-1])
            else:
                if node.name == "dt" and node.get("id"):
                    section = _entry(str(node["id"]), _is_name(node), found)
                elif section and parent.name == "strong" and _is_term(node):
                    section.terms.append(_plain(node.get_text()))
                elif section and node.name in BLOCKS:
                    section.text += " "
                read(node, section, in_title or _is_title(node))

    read(article, None)
    return [part.entry() for part in found if part.title]


def _entry(anchor: str, is_name: bool, found: list[Section]) -> Section:
    """A term, with which others may share their text; or a name of the module."""
    before = found[-1] if found else None
    if before and before.anchor.startswith("term-") and not is_name and not _plain(before.text):
        before.title += " · "
        return before
    found.append(Section(anchor, anchor.rpartition(".")[2] if is_name else ""))
    return found[-1]


def _is_formula(node: Tag) -> bool:
    return "katex" in node.get_attribute_list("class")


def _is_term(node: Tag) -> bool:
    """Whether it leads to the glossary, as a word does where a chapter explains it."""
    return "glossary.html#term-" in str(node.get("href", ""))


def _is_name(node: Tag) -> bool:
    return "sig" in node.get_attribute_list("class")


def _is_title(node: Tag) -> bool:
    is_term = node.name == "dt" and node.get("id") and not _is_name(node)
    return bool(is_term) or node.name in HEADINGS


def _plain(text: str) -> str:
    return " ".join(text.split())


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
