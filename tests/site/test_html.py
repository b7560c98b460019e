"""The built pages, read as files: nothing broken, missing, or from elsewhere."""

from __future__ import annotations

import functools
import html
import json
import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

from tools.finishing.pdf import joined
from tools.sources.book import Book
from tools.sources.locations import committed

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/html"
BOOK = Book(ROOT)
PAGES = [f"{page}.html" for page in BOOK.pages]
PAGES += [f"{name}.html" for name in ("search", "genindex", "404", "index")]
SILENT = "script, style, pre, code, annotation, title, svg"


class Page:
    """What the checks need of a page: anchors, links, pictures, resources, and visible prose."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text("utf-8")
        found = BeautifulSoup(self.text, "html.parser")
        self.ids = [str(one["id"]) for one in found.select("[id]")]
        self.anchors = {*self.ids, *(str(one["name"]) for one in found.select("[name]"))}
        self.links = [str(one["href"]) for one in found.select("a[href]")]
        loaded = found.select("link[href]:not([rel=canonical], [rel=author])")
        self.resources = [str(one["href"]) for one in loaded]
        self.resources += [str(one["src"]) for one in found.select("[src]")]
        self.images = {
            str(one)[:200]: str(one.get("alt") or one.get("aria-label") or "")
            for one in found.select("img:not(.chapter-cards img)")
        }
        for silent in found.select(SILENT):
            silent.decompose()
        self.prose = found.get_text()


def text_of(name: str) -> str:
    """A page's HTML; nothing where the book is not built, which the tests then say."""
    path = SITE / name
    return path.read_text("utf-8") if path.exists() else ""


@functools.cache
def page(name: str) -> Page:
    path = SITE / name
    if not path.exists():
        pytest.fail(f"build/html/{name} is not there: `make book` first")
    return Page(path)


@pytest.mark.parametrize("name", PAGES)
def test_links_inside_the_site_lead_somewhere(name: str) -> None:
    broken = []
    for link in page(name).links + page(name).resources:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = name
        if parts.path:
            start = "/" if name == "404.html" else f"/{Path(name).parent}/"
            target = os.path.normpath(os.path.join(start, unquote(parts.path))).lstrip("/")
        anchors = page(target).anchors if target.endswith(".html") else set()
        if not (SITE / target).is_file() or parts.fragment not in anchors | {""}:
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    assert [source for source in page(name).resources if urlsplit(source).netloc] == []
    head, policy, _ = page(name).text.partition("Content-Security-Policy")
    assert bool(policy) is (name != "index.html")
    assert "<script" not in head or not policy


@pytest.mark.parametrize("name", PAGES)
def test_every_image_says_what_it_shows(name: str) -> None:
    silent = [
        image
        for image, said in page(name).images.items()
        if not said.strip() or "/" in said.split()[0]
    ]
    assert silent == []


@pytest.mark.parametrize("name", PAGES)
def test_each_id_is_that_of_one_element(name: str) -> None:
    twice = {one for one, times in Counter(page(name).ids).items() if times > 1}
    assert twice == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_formula_is_drawn(name: str) -> None:
    assert re.findall(r"\$\$|\$[^$\n]{1,200}\$|\\[(\[]|\\\w+\{", page(name).prose) == []
    assert "#cc0000" not in page(name).text
    assert "katex-error" not in page(name).text


@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_a_colab_button_only_with_an_address(chapter: str) -> None:
    path = f"{BOOK.repository or ''}/blob/{BOOK.branch}/{committed(chapter)}".removeprefix(
        "https://github.com"
    )
    button = f"https://colab.research.google.com/github{path}"
    if BOOK.repository:
        assert button in page(f"{chapter}.html").links
    else:
        assert "colab.research.google.com" not in page(f"{chapter}.html").text


@pytest.mark.parametrize("name", [f"{page}.html" for page in BOOK.pages])
def test_a_page_says_of_itself_what_it_is_about(name: str) -> None:
    """In whole sentences, its own; with a picture where the site has an address."""
    said = re.findall(r'<meta name="description" content="([^"]*)" />', page(name).text)
    assert len(said) == 1
    assert said[0].endswith((".", "?", "!"))
    assert not said[0].endswith("...")
    assert 'property="og:site_name" content="Calibration of Neural Networks"' in page(name).text
    assert ('property="og:image"' in page(name).text) is bool(BOOK.website)
    assert "rocket" not in page(name).prose or BOOK.website


def test_every_result_of_a_search_leads_somewhere() -> None:
    text = (SITE / "_static/search-index.js").read_text("utf-8")
    index = json.loads(text.partition("=")[2].strip().rstrip(";"))
    assert [name for name, _, _ in index] == [f"{page}.html" for page in BOOK.pages]
    for name, _, parts in index:
        assert {anchor for anchor, *_ in parts} - page(name).anchors == set()


def test_the_root_goes_on_to_the_first_page() -> None:
    first = f"{BOOK.front_page}.html"
    assert f'<meta http-equiv="refresh" content="0; url={first}">' in page("index.html").text
    assert page("index.html").links == [first]


def test_a_page_that_does_not_exist_leads_on() -> None:
    found = page("404.html")
    assert 'role="search"' in found.text
    assert {f"/{name}.html" for name, number in BOOK.pages.items() if number} <= {
        urlsplit(link).path for link in found.links
    }


@pytest.mark.parametrize("name", PAGES)
def test_no_line_breaks_between_a_number_and_per_cent(name: str) -> None:
    article = (
        page(name).text.partition('<article class="bd-article">')[2].partition("</article>")[0]
    )
    prose = re.sub(r"<(pre|code|script|annotation)\b.*?</\1>", "", article, flags=re.DOTALL)
    assert re.findall(r".{20}\d %", re.sub(r"<[^>]+>", "", prose)) == []


def test_the_copyright_has_the_year_of_the_settings() -> None:
    """Sphinx had put 1970 there, the year of the fixed date of a build."""
    assert f"Copyright {BOOK.config['copyright']}." in page("book/intro.html").text


@pytest.mark.parametrize("name", PAGES)
def test_every_table_has_a_number_and_says_what_it_compares(name: str) -> None:
    """But for the columns of Sphinx's own lists of names."""
    for table in re.findall(r"<table.*?</table>", page(name).text, re.DOTALL):
        if re.match(r'<table[^>]*class="indextable', table):
            assert name == "genindex.html"
            continue
        said = re.search(r"<caption>(.*?)</caption>", table, re.DOTALL)
        assert said, table[:300]
        words = html.unescape(re.sub(r"<[^>]+>", "", said[1]))
        assert re.match(r"Table [\d.]+ \S.*\.", words), words


@pytest.mark.parametrize("name", PAGES)
def test_every_fold_says_what_it_holds(name: str) -> None:
    assert "Toggle hidden content" not in page(name).text
    for title in re.findall(r"<summary.*?>(.*?)</summary>", page(name).text, re.DOTALL):
        assert re.sub(r"<[^>]+>", "", title).strip()


@pytest.mark.parametrize("page", [page for page, number in BOOK.pages.items() if number])
def test_a_chapter_begins_with_a_picture(page: str) -> None:
    article = text_of(f"{page}.html").partition('<article class="bd-article">')[2]
    opening = article.partition("<h2")[0]
    assert re.search(r"<figure\b.*?<img\b", opening, re.DOTALL)


def test_the_book_as_one_page_leads_to_what_is_in_it() -> None:
    """As it is printed: each name is that of one element, and each link inside leads to one."""
    text = joined(BOOK, SITE)
    names = Counter(re.findall(r' id="([^"]+)"', text))
    assert {name for name, times in names.items() if times > 1} == set()
    assert {unquote(one) for one in re.findall(r' href="#([^"]+)"', text)} - set(names) == set()
    for source in re.findall(r' src="(?!data:)([^"]+)"', text):
        assert (SITE.parent / source).is_file()
