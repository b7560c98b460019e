"""The built pages, read as files and in a browser: nothing broken, missing, or from elsewhere."""

from __future__ import annotations

import functools
import gzip
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tools.book import Book

ROOT = Path(__file__).parents[1]
SITE = ROOT / "build/html"
BOOK = Book(ROOT)
PAGES = [f"{page}.html" for page in BOOK.pages]
PAGES += [
    f"{name}.html" for name in ("search", "genindex", "prf-prf", "py-modindex", "404", "index")
]

# What axe-core finds in the theme itself, on every page of every book made with it.
KNOWN_OF_THE_THEME = {"region"}
SILENT = {"script", "style", "pre", "code", "annotation", "title"}
VOID = {"img", "link", "meta", "br", "hr", "input", "source", "wbr"}
PHONE = {"width": 375, "height": 800}


class Page(HTMLParser):
    """What the checks need of a page: anchors, links, pictures, resources, and visible prose."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.resources: list[str] = []
        self.prose = ""
        self.open: list[str] = []
        self.text = path.read_text("utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.anchors |= {value for key in ("id", "name") if (value := attributes.get(key))}
        if tag == "a" and (link := attributes.get("href")):
            self.links.append(link)
        elif tag == "img":
            self.images.append(attributes)
        if tag in {"img", "script", "iframe", "source", "audio", "video", "embed"}:
            self.resources += [source] if (source := attributes.get("src")) else []
        elif tag == "link" and attributes.get("rel") not in {"canonical", "author"}:
            self.resources += [source] if (source := attributes.get("href")) else []

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not SILENT & set(self.open):
            self.prose += data


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


@pytest.mark.parametrize("name", PAGES)
def test_every_image_says_what_it_shows(name: str) -> None:
    silent = [
        image["src"]
        for image in page(name).images
        if not (image.get("alt") or "").strip() or "/" in (image.get("alt") or "").split()[0]
    ]
    assert silent == []


@pytest.mark.parametrize("name", PAGES)
def test_every_formula_is_drawn(name: str) -> None:
    assert re.findall(r"\$\$|\$[^$\n]{1,200}\$|\\[(\[]|\\\w+\{", page(name).prose) == []
    assert "#cc0000" not in page(name).text
    assert "katex-error" not in page(name).text


@pytest.mark.parametrize("chapter", BOOK.chapters)
def test_a_colab_button_only_with_an_address(chapter: str) -> None:
    path = f"{BOOK.repository or ''}/blob/{BOOK.branch}/{chapter}.ipynb".removeprefix(
        "https://github.com"
    )
    button = f"https://colab.research.google.com/github{path}"
    if BOOK.repository:
        assert button in page(f"{chapter}.html").links
    else:
        assert "colab.research.google.com" not in page(f"{chapter}.html").text


# In bytes, packed as a server sends them, and in requests: what comes before a reader scrolls.
BUDGET = {"without figures": 200_000, "with figures": 350_000, "requests": 20}


@pytest.mark.parametrize("name", [f"{chapter}.html" for chapter in BOOK.chapters])
def test_a_chapter_comes_over_a_slow_line(name: str, browser: Any, address: str) -> None:
    tab = browser.new_page(viewport=PHONE)
    answers: list[Any] = []
    tab.on("response", lambda answer: answers.append(answer))
    tab.goto(address + name, wait_until="networkidle")
    sizes = {
        answer.url: len(body if answer.url.endswith("woff2") else gzip.compress(body))
        for answer in answers
        for body in [answer.body()]
    }
    tab.close()
    figures = sum(size for url, size in sizes.items() if "/_images/" in url)
    found = {
        "without figures": sum(sizes.values()) - figures,
        "with figures": sum(sizes.values()),
        "requests": len(answers),
    }
    assert {what: n for what, n in found.items() if n > BUDGET[what]} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_a_page_takes_the_readers_colours(
    scheme: str, browser: Any, address: str
) -> None:
    """The same as with them: of the text, of code, and behind both."""
    colours = """() => ["body", ".bd-article p", "div.highlight pre", "pre .kn"].map(one => {
        const style = getComputedStyle(document.querySelector(one));
        return [style.color, style.backgroundColor];
    })"""
    found = []
    for scripts in (True, False):
        context = browser.new_context(color_scheme=scheme, java_script_enabled=scripts)
        tab = context.new_page()
        tab.goto(address + PAGES[1], wait_until="load")
        found.append(tab.evaluate(colours))
        context.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_in_the_browser(name: str, scheme: str, browser: Any, address: str) -> None:
    """No error in the console, no request that leaves the site, nothing that axe-core objects to.

    Then, on a phone: nothing wider than the screen.
    """
    from axe_playwright_python.sync_playwright import Axe

    errors, requests = [], []

    def note(line: Any) -> None:
        if line.type in ("error", "warning"):
            errors.append(f"{line.text} ({line.location['url']})")

    tab = browser.new_page(color_scheme=scheme, reduced_motion="reduce")
    tab.on("console", note)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: requests.append(request.url))
    tab.goto(address + name, wait_until="load")
    tab.wait_for_function("document.getAnimations().every(one => one.playState != 'running')")
    # Without preload: axe-core would ask for style sheets itself, and at wrong addresses.
    found = Axe().run(tab, options={"resultTypes": ["violations"], "preload": False})
    violations = [
        (rule["id"], node["html"][:200])
        for rule in found.response["violations"]
        if rule["id"] not in KNOWN_OF_THE_THEME
        for node in rule["nodes"]
    ]
    tab.set_viewport_size(PHONE)
    width = tab.evaluate(
        "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
    )
    tab.close()
    assert errors == []
    assert [url for url in requests if not url.startswith((address, "data:"))] == []
    assert violations == []
    assert width <= PHONE["width"]
