"""What the search finds: the sections of built pages, the words of the glossary, names of code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.book.script_page import script_page
from tests.tiny_book import write_tiny_book
from tools.finishing.search import sections, write_search
from tools.sources.book import Book
from tools.sources.errors import MystError

PAGE = """<html><body><h1>Not in the article</h1><article class="bd-article">
<section id="bins"><h1><span class="section-number">2. </span>Bins<a class="headerlink">#</a></h1>
<p>A bin holds <em>answers</em>.<script>x = 1</script></p>
<section id="many"><h2>How many?</h2><p>Of <span class="katex"><span class="katex-mathml"><math>
<mi>M</mi></math></span><span class="katex-html">M</span></span> bins <b>one</b>.</p><!-- slide -->
<details class="hide"><summary>Hide code</summary><pre>n_bins = 15</pre></details>
<p>No more.</p><fieldset><p>A wrong answer.</p></fieldset></section>
<p>The end.</p></section></article><p>After it.</p></body></html>"""
TERMS = """<article class="bd-article"><section id="g"><h1>Glossary</h1><dl class="glossary">
<dt id="term-bin">bin<a class="headerlink">#</a></dt><dt id="term-0" lang="ko">구간</dt>
<dd><p>A range.</p></dd><dt id="term-ECE">ECE</dt><dt id="term-1">기대 보정 오차</dt>
<dd><p>A mean.</p></dd></dl></section></article>"""
NAMES = """<article class="bd-article"><section id="m"><h1>calib_utils.m</h1><dl class="py class">
<dt class="sig sig-object py" id="calib_utils.m.Bins"><span>class</span> <span>Bins</span></dt>
<dd><p>All of them.</p><dl class="py method"><dt class="sig" id="calib_utils.m.Bins.fit">fit()</dt>
<dd><p>Learn.</p></dd></dl></dd></dl></section></article>"""


def test_sections_are_what_stands_below_a_heading() -> None:
    assert sections(PAGE) == [
        ["bins", "2. Bins", "A bin holds answers. The end."],
        # Of a formula what is drawn; code comes last.
        ["many", "How many?", "Of M bins one. No more. n_bins = 15"],
    ]


def test_sections_do_not_end_at_a_broken_line() -> None:
    page = PAGE.replace("<p>No more.</p>", "<p>No<br />\nmore.</p>")
    assert sections(page) == sections(PAGE)


def test_sections_have_terms_in_both_languages() -> None:
    assert sections(TERMS)[1:] == [
        ["term-bin", "bin · 구간", "A range."],
        ["term-ECE", "ECE · 기대 보정 오차", "A mean."],
    ]


def test_sections_have_the_names_of_the_module() -> None:
    found = sections(NAMES)
    assert [entry[:2] for entry in found[1:]] == [
        ["calib_utils.m.Bins", "Bins"],
        ["calib_utils.m.Bins.fit", "fit"],
    ]
    assert found[2][2] == "fit() Learn."


def test_sections_of_a_page_without_article_are_none() -> None:
    assert sections("<html><body><p>Nothing.</p></body></html>") == []


BOOK = [
    [
        "notebooks/a.html",
        "Bins",
        [
            ["bins", "Bins", "A mean over bins of one versus rest."],
            ["draw", "Drawing a reliability diagram", "Bars.", "reliability diagram"],
        ],
    ],
    [
        "notebooks/b.html",
        "Since 2017",
        [
            ["since", "Since 2017", "The expected calibration error of deep ensembles."],
            [
                "averages",
                "Averages",
                "An ensemble is several networks. A reliability diagram.",
                "ensemble",
            ],
            ["sets", "A set instead of one class", "A conformal set.", "conformal set"],
        ],
    ],
    [
        "book/glossary.html",
        "Glossary",
        [
            ["term-ece", "expected calibration error · 기대 보정 오차", "A mean of gaps."],
            ["term-diagram", "reliability diagram · 신뢰도 그림", "A picture."],
            ["term-ensemble", "ensemble · 앙상블 · deep ensemble", "Several networks."],
            ["term-set", "conformal set · 집합", "Classes."],
        ],
    ],
    [
        "notebooks/solutions/a.html",
        "Solutions",
        [["s", "Solutions", "bins bins bins, a reliability diagram, conformal"]],
    ],
    [
        "book/api/metrics.html",
        "calib_utils.metrics",
        [["api.bins", "bins", "bins"], ["api.ensemble", "DeepEnsemble", "deep ensembles"]],
    ],
]


@pytest.fixture(scope="module")
def results(browser: Any) -> Iterator[Callable[[str], tuple[list[str], str]]]:
    """What a search finds, in order, and what is said of it."""
    body = (
        '<input id="search-field"><ol id="search-results"></ol><p id="search-status"></p>'
        f"<script>window.bookSections = {json.dumps(BOOK)};</script>"
    )

    def search(question: str) -> tuple[list[str], str]:
        tab.evaluate("document.getElementById('search-status').textContent = 'waiting'")
        tab.locator("#search-field").fill(question)
        tab.wait_for_function("document.getElementById('search-status').textContent != 'waiting'")
        links = tab.locator("#search-results a").evaluate_all(
            "all => all.map(one => one.getAttribute('href').split('#')[1])"
        )
        return links, tab.locator("#search-status").text_content()

    with script_page(browser, body, "search.js") as tab:
        yield search


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("deep ensembles", "averages"),
        ("Deep-Ensembles", "averages"),
        ("deep ensemble", "term-ensemble"),
        ("reliability diagrams", "draw"),
        ("reliability diagram", "term-diagram"),
        ("conformal", "sets"),
        ("one-versus-rest", "bins"),
        ("bins", "bins"),  # the chapter, and not the attribute of the same name
        ("expected calibration error", "term-ece"),
        ("기대 보정 오차", "term-ece"),
        ("기대보정오차", "term-ece"),
        ("신뢰도그림", "term-diagram"),
        # Words that say nothing of what is asked for, what the book calls otherwise, and a word
        # that no section with the others holds.
        ("what is a reliability diagram?", "draw"),  # a chapter tells more than the glossary
        ("How do deep ensembles", "averages"),
        ("conformal prediction", "term-set"),
        ("mean over bins drawing", "bins"),
    ],
)
def test_a_question_leads_to_its_section(results: Any, question: str, first: str) -> None:
    found, said = results(question)
    assert found[0] == first
    assert "nowhere" not in said


def test_a_korean_term_leads_to_the_chapters_that_treat_it(results: Any) -> None:
    assert results("기대보정오차")[0] == ["term-ece", "since"]
    assert set(results("신뢰도 그림")[0]) == {"term-diagram", "draw", "averages", "s"}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("ensembels", "averages"),  # two letters changed places
        ("conformel", "sets"),
        ("reliabilty diagram", "term-diagram"),
        ("calibrattion error", "term-ece"),
    ],
)
def test_one_wrong_letter_is_forgiven_and_said(results: Any, question: str, first: str) -> None:
    found, said = results(question)
    assert found[0] == first
    assert "is nowhere; for" in said


@pytest.mark.parametrize("question", ["ens", "zzzz", "conformal zzzz yyyy", "xbinsx"])
def test_what_is_nowhere_is_not_guessed(results: Any, question: str) -> None:
    found, said = results(question)
    assert (found == []) == ("No section" in said)
    assert question == "ens" or found == []


def test_write_search_refuses_a_page_of_another_theme(tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path / "book"))

    def write(names: Iterable[str], text: str) -> None:
        for name in names:
            (tmp_path / f"{name}.html").parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / f"{name}.html").write_text(text, "utf-8")

    (tmp_path / "_static").mkdir()
    write(["search", *book.pages], "<h1>One</h1>")
    with pytest.raises(MystError, match="has no section"):
        write_search(tmp_path, book)
    write(book.pages, '<article class="bd-article"><section id="a"><h1>A</h1></section></article>')
    with pytest.raises(MystError, match=r"search\.html .*bd-search-container"):
        write_search(tmp_path, book)
