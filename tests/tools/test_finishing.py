"""What is put into the built pages finds its place there, or the build stops."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.finishing.answers import with_answers
from tools.finishing.frame import HIDDEN, SKIP, START, frame, framed
from tools.finishing.lighten import with_one_sheet_and_script
from tools.finishing.pages import pages_of, replaced
from tools.finishing.policy import guard, guarded
from tools.finishing.search import write_search
from tools.sources.book import Book
from tools.sources.errors import MystError

# As no theme of ours makes it.
OTHER = "<html><head><title>T</title></head><body><h1>One</h1></body></html>"
SEEN = '<meta name="viewport" content="width=device-width"/>'
OURS = (
    f"<html><head>{SEEN}<style>{HIDDEN}</style></head><body>{START}</div>"
    '<button class="btn search-button-field" title="Search" aria-label="Search"></button>'
    '<p aria-level="2" class="caption" role="heading"><span class="caption-text">Solutions</span>'
    '</p>\n<ul class="nav bd-sidenav">\n<li>A</li>\n</ul>\n'
    "<h1>One</h1></body></html>"
)


def test_what_is_replaced_is_there() -> None:
    assert replaced("a b a", "a", r"\1", "x.html") == r"\1 b \1"
    assert replaced("a1", re.compile(r"a(\d)"), lambda found: found[1], "x.html") == "1"
    with pytest.raises(MystError, match=r"^x\.html does not contain a\.b:"):
        replaced("a b", "a.b", "", "x.html")
    with pytest.raises(MystError, match=r"^x\.html does not contain a\\d:"):
        replaced("a b", re.compile(r"a\d"), "", "x.html")


def test_a_page_of_another_theme_stops_the_build(tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path / "book"))
    for path in ("search.html", *(f"{page}.html" for page in book.pages)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(OTHER, "utf-8")
    (tmp_path / "_static").mkdir()
    with pytest.raises(MystError, match=r"html does not contain \.pst-js-only"):
        frame(tmp_path, book)
    with pytest.raises(MystError, match="has no section"):
        write_search(tmp_path, book)
    article = '<article class="bd-article"><section id="a"><h1>A</h1></section></article>'
    for page in book.pages:
        (tmp_path / f"{page}.html").write_text(article, "utf-8")
    with pytest.raises(MystError, match=r"search\.html .*bd-search-container"):
        write_search(tmp_path, book)
    with pytest.raises(MystError, match=r"one\.html .*stylesheet"):
        with_one_sheet_and_script(OTHER, "one.html")


def test_a_page_has_its_chapter_and_the_feed_of_releases() -> None:
    feed = "https://github.com/someone/course/releases.atom"
    page = framed(OURS, "one.html", "Chapter 2", feed)
    assert '<h1 data-chapter="Chapter 2">One</h1>' in page
    assert f'<link rel="alternate" type="application/atom+xml" href="{feed}">' in page
    assert "atom" not in framed(OURS, "one.html")


def test_solutions_are_folded_in_the_menu_but_on_their_own_pages() -> None:
    part = (
        '<details class="menu-part"><summary class="caption">Solutions</summary>\n'
        '<ul class="nav bd-sidenav">\n<li>A</li>\n</ul></details>'
    )
    assert part in framed(OURS, "one.html")
    here = framed(OURS.replace("nav bd", "current nav bd"), "one.html")
    assert '<details class="menu-part" open>' in here


def test_pages_are_those_that_a_reader_opens(tmp_path: Path) -> None:
    for name in ("index.html", "a/index.html", "_static/t.html", "b.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in pages_of(tmp_path)] == [
        "a/index.html",
        "b.html",
    ]


def test_the_first_page_leads_to_the_first_chapter_before_its_menu() -> None:
    page = OURS.replace("<body>", f"<body><div>{SKIP}</div>")
    assert framed(page, "one.html") == framed(page, "one.html", start="")
    led = framed(page, "one.html", start="../notebooks/one.html")
    assert f'{SKIP} · <a href="../notebooks/one.html">Start with chapter 1</a></div>' in led


SCRIPTS = """<html><head>
    <meta charset="utf-8" />
<script data-a="b">document.title = "é";</script><script type="application/json">{}</script>
<script defer src="a.js"></script><script>let hint = 'Click';</script>
<link rel="stylesheet" href="a.css"/></head></html>"""


def test_a_policy_names_the_scripts_in_a_page_and_stands_before_them() -> None:
    page = guarded(SCRIPTS, "one.html")
    before, _, after = page.partition('<meta http-equiv="Content-Security-Policy" content="')
    assert before == SCRIPTS[: len(before)]
    assert before.endswith('<meta charset="utf-8" />\n')
    policy = dict(one.split(" ", 1) for one in after.partition('"')[0].split("; "))
    inline = ('document.title = "é";', "let hint = 'Click';")
    hashes = [b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inline]
    assert policy["script-src"] == f"'self' file: 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'"
    assert policy["default-src"] == "'self' file:"
    assert all("unsafe" not in said for kind, said in policy.items() if kind != "style-src")
    with pytest.raises(MystError, match=r"^one\.html does not contain <meta charset"):
        guarded(OTHER, "one.html")


def test_every_page_of_a_site_gets_its_policy(tmp_path: Path) -> None:
    for name in ("index.html", "slides/a.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(SCRIPTS, "utf-8")
    guard(tmp_path)
    for path in tmp_path.rglob("*.html"):
        assert path.read_text("utf-8") == guarded(SCRIPTS, path)


def test_settings_of_scripts_that_are_left_out_are_left_out_too() -> None:
    page = SCRIPTS.replace("</head>", '<script src="_static/b.js"></script></head>')
    page = with_one_sheet_and_script(page.replace("a.css", "_static/a.css"), "one.html")
    assert "hint" not in page
    assert 'data-a="b"' in page
    assert page.count("src=") == 1


def test_one_viewport_is_kept() -> None:
    page = OURS.replace(SEEN, f"{SEEN}\n{SEEN.replace('-width', '-width1')}{SEEN}")
    assert framed(page, "one.html") == framed(OURS, "one.html")


def test_the_answers_are_printed_at_the_end_of_a_page() -> None:
    question = (
        '<fieldset class="question" aria-live="polite"><legend>Who?</legend>'
        '<details class="is-right"><summary>We</summary><p><b>Right.</b> Us.</p></details>'
        "<details><summary>They</summary><p><b>Wrong.</b> Them.</p></details></fieldset>"
    )
    page = f"<article><p>Text.</p>{question}<p>More.</p></article><footer></footer>"
    made = with_answers(page)
    assert made.startswith(page.partition("</article>")[0])
    end = made.removeprefix(page.partition("</article>")[0])
    assert end.count("<li>") == 3
    assert end.index("Us.") < end.index("Them.") < end.index("</article><footer>")
    assert "We" not in end
    number = question.replace('class="question"', 'class="question for-number"')
    assert with_answers(page.replace(question, number)).count("<li>") == 1
    assert with_answers("<article>No question.</article>") == "<article>No question.</article>"
