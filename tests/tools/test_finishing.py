"""What is put into the built pages finds its place there, or the build stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tiny_book import write_tiny_book
from tools.finishing.lighten import tidy, with_one_sheet_and_script
from tools.finishing.pages import pages_of, replaced
from tools.finishing.pictures import show_pictures
from tools.finishing.search import write_search
from tools.finishing.sphinx_extension import _with_answers
from tools.sources.book import Book
from tools.sources.errors import MystError

# As no theme of ours makes it.
OTHER = "<html><head><title>T</title></head><body><h1>One</h1></body></html>"
OURS = (
    "<html><head></head><body>"
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
    with pytest.raises(MystError, match=r"one\.html does not contain .*search-button"):
        tidy(OTHER, "one.html")
    with pytest.raises(MystError, match="has no section"):
        write_search(tmp_path, book)
    article = '<article class="bd-article"><section id="a"><h1>A</h1></section></article>'
    for page in book.pages:
        (tmp_path / f"{page}.html").write_text(article, "utf-8")
    with pytest.raises(MystError, match=r"search\.html .*bd-search-container"):
        write_search(tmp_path, book)
    with pytest.raises(MystError, match=r"one\.html .*stylesheet"):
        with_one_sheet_and_script(OTHER, "one.html")


def test_solutions_are_folded_in_the_menu_but_on_their_own_pages() -> None:
    part = (
        '<details class="menu-part"><summary class="caption">Solutions</summary>\n'
        '<ul class="nav bd-sidenav">\n<li>A</li>\n</ul></details>'
    )
    assert part in tidy(OURS, "one.html")
    here = tidy(OURS.replace("nav bd", "current nav bd"), "one.html")
    assert '<details class="menu-part" open>' in here


def test_pages_are_those_that_a_reader_opens(tmp_path: Path) -> None:
    for name in ("index.html", "a/index.html", "_static/t.html", "b.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in pages_of(tmp_path)] == [
        "a/index.html",
        "b.html",
    ]


SCRIPTS = """<html><head>
    <meta charset="utf-8" />
<script data-a="b">document.title = "é";</script><script type="application/json">{}</script>
<script defer src="a.js"></script><script>let hint = 'Click';</script>
<link rel="stylesheet" href="a.css"/></head></html>"""


def test_settings_of_scripts_that_are_left_out_are_left_out_too() -> None:
    page = SCRIPTS.replace("</head>", '<script src="_static/b.js"></script></head>')
    page = with_one_sheet_and_script(page.replace("a.css", "_static/a.css"), "one.html")
    assert "hint" not in page
    assert 'data-a="b"' in page
    assert page.count("src=") == 1


def test_the_answers_are_printed_at_the_end_of_a_page() -> None:
    question = (
        '<fieldset class="question" aria-live="polite"><legend>Who?</legend>'
        '<details class="is-right"><summary>We</summary><p><b>Right.</b> Us.</p></details>'
        "<details><summary>They</summary><p><b>Wrong.</b> Them.</p></details></fieldset>"
    )
    page = f"<p>Text.</p>{question}<p>More.</p>"
    made = _with_answers(page)
    assert made.startswith(page)
    end = made.removeprefix(page)
    assert end.count("<li>") == 3
    assert end.index("Us.") < end.index("Them.")
    assert "We" not in end
    number = question.replace('class="question"', 'class="question for-number"')
    assert _with_answers(page.replace(question, number)).count("<li>") == 1
    assert _with_answers("No question.") == "No question."


def test_a_drawing_has_its_size_and_a_photograph_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "_images").mkdir()
    for name, inside in (("a", "<path/>"), ("b", "<image/>")):
        svg = f'<svg width="72pt" viewBox="0 0 72 36">{inside}</svg>'
        (tmp_path / f"_images/{name}.svg").write_text(svg, "utf-8")
    (tmp_path / "p.html").write_text(
        '<img alt="A." src="_images/a.svg" /><img src="_images/b.svg">'
    )
    show_pictures(tmp_path)
    assert (tmp_path / "p.html").read_text("utf-8") == (
        '<img class="drawing" width="96" height="48" alt="A." src="_images/a.svg">'
        '<img class="drawing photograph" width="96" height="48" src="_images/b.svg">'
    )
