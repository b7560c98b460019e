"""Print the whole book: `python -m tools.finishing.pdf build/book.pdf`. `make book` must have run.

The articles of its pages become one page, in whose outline and links a reader finds the way.
"""

from __future__ import annotations

import argparse
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from calib_utils._files import write_text
from tools.finishing.browser import browser
from tools.finishing.pages import SITE
from tools.sources.book import Book
from tools.sources.errors import MystError

ARTICLE = re.compile(r'<article class="bd-article">(.*)</article>', re.DOTALL)
# What is for the mouse, or draws only where scripts run.
SILENT = re.compile(
    r'<script\b.*?</script>|<a class="headerlink".*?</a>|<span class="play-words">.*?</span>',
    re.DOTALL,
)
NAME = re.compile(r' id="([^"]+)"')
LINK = re.compile(r' (href|src)="([^"]+)"')
STYLE = """
@page { size: A4; }
body, .bd-main, .bd-main .bd-content, .bd-main .bd-content .bd-article-container { display: block; }
.bd-main .bd-content .bd-article-container .bd-article { break-before: page; padding-block: 0; }
.bd-main .bd-content .bd-article-container .bd-article h1 { display: block; }
/* Else a heading's lines are run together in the outline. */
.bd-article :is(h1, h2, h3) { white-space: pre-wrap; }
.toctree-wrapper { display: none; }
"""


def part(book: Book, site: Path, page: str) -> str:
    """The article of a page; its names begin with the page's, as those of no other do.

    Raises:
        MystError: The page has no article.
    """
    found = ARTICLE.search((site / f"{page}.html").read_text("utf-8"))
    if found is None:
        raise MystError(f"{page}.html has no article that could be printed")

    def led(link: re.Match[str]) -> str:
        key, (scheme, host, path, _, anchor) = link[1], urlsplit(link[2])
        if scheme or host:
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        name = target.removesuffix(".html")
        if not path or name in book.pages:
            return f' {key}="#{name}{f"--{anchor}" * bool(anchor)}"'
        if key == "src":
            return f' src="{site.name}/{target}"'
        # What is no page of the book, such as slides, leads to the site, if it is published.
        return f' href="{book.website}{target}"' if book.website else ""

    text = NAME.sub(rf' id="{page}--\1"', SILENT.sub("", found[1]))
    text = LINK.sub(led, text)
    return f'<article class="bd-article" id="{page}">{text}</article>'


def joined(book: Book, site: Path) -> str:
    """All pages in one, to be read beside the site's folder."""
    articles = "\n".join(part(book, site, page) for page in book.pages)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8">
<title>{book.config["title"]}</title>
<link rel="stylesheet" href="{site.name}/_static/book.css"><style>{STYLE}</style></head>
<body><main class="bd-main"><div class="bd-content"><div class="bd-article-container">
{articles}
</div></div></main></body></html>
"""


def print_book(book: Book, site: Path, target: Path, started: Any) -> None:
    """Write the PDF with a browser; beside the site's folder stays the page that it prints."""
    page = site.with_name("book.html")
    write_text(page, joined(book, site))
    target.parent.mkdir(parents=True, exist_ok=True)
    tab = started.new_page()
    # As long as it takes, with the fonts of all formulas.
    tab.goto(page.absolute().as_uri(), timeout=0)
    tab.evaluate("document.fonts.ready.then(() => null)")
    tab.pdf(
        path=target,
        prefer_css_page_size=True,
        print_background=True,
        tagged=True,  # without which there is no outline
        outline=True,
    )
    tab.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", type=Path)
    arguments = parser.parse_args()
    if not SITE.exists():
        raise SystemExit(f"{SITE} does not exist: run `make book` first")
    with browser() as started:
        print_book(Book(), SITE, arguments.target, started)
    print(f"The book is in {arguments.target}")


if __name__ == "__main__":
    main()
