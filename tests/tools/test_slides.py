"""Slides from a chapter: its figures, its questions without the reasons, notes for the teacher."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from tools.finishing.slides import MOST, Slide, article_of, deck, slides_of, solutions_of
from tools.sources.errors import MystError

QUESTION = (
    '<fieldset class="question"><legend>How many?</legend>'
    '<details class="is-right"><summary>One</summary><p><strong>Right.</strong> Count.</p>'
    "</details>"
    "<details><summary>Two</summary><p><strong>Wrong.</strong> Again.</p></details></fieldset>"
)
SOLUTION = (
    '<details class="solution admonition"><summary>Solution to Exercise 2.1'
    '<a class="headerlink" href="#x">#</a></summary><p>Two.</p></details>'
)
FIGURE = '<figure class="align-default" id="fig-{}"><img class="drawing"/></figure>'
PAGE = f"""<article class="bd-article"><section id="bins">
<h1>2. Bins<a class="headerlink" href="#bins">#</a></h1><p>A puzzle.</p>{FIGURE.format("a")}
<section id="one"><h2>One bin</h2><p>Why.</p>{FIGURE.format("b")}{FIGURE.format("c")}
<div class="play-stage"></div>{QUESTION}</section>
<section id="talk"><h2>Only words</h2><p>Nothing to see.</p></section>
<section id="exercises"><h2>Exercises</h2><table></table></section>
<section id="what-we-have-seen"><h2>What we have seen</h2><ul><li>Bins.</li></ul></section>
</section></article>"""


def article(page: str) -> Tag:
    found = BeautifulSoup(page, "html.parser").find("article")
    assert isinstance(found, Tag)
    return found


def test_slides_of_a_section_show_its_first_figure_with_its_text_as_notes() -> None:
    opening, first, one, question, last = slides_of(article(PAGE))
    assert "A puzzle." in opening.body
    assert "#" not in BeautifulSoup(opening.body, "html.parser").get_text()
    assert 'id="fig-a"' in first.body
    assert 'id="fig-b"' in one.body
    assert 'id="fig-c"' not in one.body
    assert "play-stage" not in one.body
    assert one.notes == "<p>Why.</p>"
    assert question.is_question
    assert "<li>Bins.</li>" in last.body


def test_slides_of_a_question_show_it_without_reasons_and_then_marked() -> None:
    question = slides_of(article(PAGE))[3]
    mark = '<span class="right later">{}</span>'
    options = f"<li>One{mark.format('✓')}</li><li>Two</li>"
    assert question.body == f'<h2>Question</h2><p>How many?</p><ol type="A">{options}</ol>'
    number = PAGE.replace('class="question"', 'class="question for-number"')
    number = number.replace("<p><strong>Right", "<p class='is-right'><strong>1 is right")
    assert slides_of(article(number))[3].body == (
        f"<h2>Question</h2><p>How many?</p><p>{mark.format('1 is right.')}</p>"
    )
    assert "Right." in question.notes
    assert "Wrong." in question.notes


def test_the_author_says_what_a_slide_shows() -> None:
    """A sentence and, as its next step, a formula; then a cell; and not the first figure."""
    marks = (
        "<!-- a remark --><!-- slide -->\n<p>Step 1.</p><p>Aside.</p><!-- and --><span id='x'>"
        '</span><div class="math">1 + 1</div><!-- slide --><div class="cell"><pre>code</pre></div>'
    )
    page = PAGE.replace("<p>Why.</p>", f"<p>Why.</p>{marks}")
    _, _, steps, cell, *_ = slides_of(article(page))
    assert steps.body == (
        '<h2>One bin</h2><p>Step 1.</p><div class="later"><div class="math">1 + 1</div></div>'
    )
    assert cell.body == '<h2>One bin</h2><div class="cell"><pre>code</pre></div>'
    assert steps.notes == "<p>Why.</p><p>Step 1.</p><p>Aside.</p>"
    assert cell.notes == ""
    drawn = PAGE.replace(
        "<p>Why.</p>", f"<!-- slide --><div class='cell'>{FIGURE.format('d')}</div>"
    )
    assert slides_of(article(drawn))[2].body == f"<h2>One bin</h2>{FIGURE.format('d')}"


def test_a_slide_has_the_heading_and_the_text_of_its_own_part() -> None:
    """In a section within a section, and before the first one."""
    inner = "<section><h3>Two bins</h3><!-- slide --><p id='x'>One more.</p></section>"
    page = PAGE.replace("<p>Why.</p>", f"<!-- slide --><p>Why.</p><p>So.</p>{inner}")
    page = page.replace("<p>A puzzle.</p>", "<p>A puzzle.</p><!-- slide --><p>A riddle.</p>")
    _, first, outer, two, *_ = slides_of(article(page))
    assert first.body == "<h2>2. Bins</h2><p>A riddle.</p>"
    assert outer[:2] == ("<h2>One bin</h2><p>Why.</p>", "<p>Why.</p><p>So.</p>")
    assert two.body == '<h2>Two bins</h2><p id="x">One more.</p>'
    assert two.notes == "<p>One more.</p>"  # an id stands once in a page


def test_a_cell_is_shown_without_what_is_folded_and_gives_way_to_its_table() -> None:
    folded = "<details class='hide'>code</details>"
    cell = f"<!-- slide --><div class='cell'>{folded}<div>output</div></div>"
    page = PAGE.replace("<p>Why.</p>", cell)
    assert slides_of(article(page))[2].body == (
        '<h2>One bin</h2><div class="cell"><div>output</div></div>'
    )
    table = "<table><caption>Bins.</caption></table>"
    page = PAGE.replace("<p>Why.</p>", cell.replace("<div>output</div>", f"<pre>code</pre>{table}"))
    shown = article(f"<article>{slides_of(article(page))[2].body}</article>")
    assert shown.h2
    assert shown.h2.find_next_sibling() == shown.table
    assert not shown.pre


@pytest.mark.parametrize("marks", ["<!-- slide -->", "<!-- and --><p>First.</p>"])
def test_a_mark_before_nothing_stops_the_build(marks: str) -> None:
    page = PAGE.replace("<p>Nothing to see.</p>", marks)
    with pytest.raises(MystError, match=r"talk: <!-- (slide|and) --> stands before"):
        slides_of(article(page))


@pytest.mark.parametrize("sections", [2, 5, 9])
def test_a_third_of_the_slides_are_questions_at_most(sections: int) -> None:
    many = "".join(
        f"<section><h2>{n}</h2>{FIGURE.format(n)}{QUESTION * 5}</section>" for n in range(sections)
    )
    found = slides_of(article(f"<article><section><h1>Many</h1>{many}</section></article>"))
    asked = sum(one.is_question for one in found)
    assert 0 < asked <= len(found) / 3


def test_each_section_is_asked_about_before_any_is_again() -> None:
    many = "".join(
        f"<section><h2>{n}</h2>{FIGURE.format(n)}{QUESTION.replace('How many?', f'{n} 1')}"
        f"{QUESTION.replace('How many?', f'{n} 2')}</section>"
        for n in range(9)
    )
    found = slides_of(article(f"<article><section><h1>Many</h1>{many}</section></article>"))
    asked = [one.body[20:23] for one in found if one.is_question]
    assert len(asked) == 5
    assert all(one.endswith("1") for one in asked)
    assert int(asked[0][0]) < 2 < 6 < int(asked[-1][0])  # from all of the chapter


def test_what_has_room_is_set_large() -> None:
    """Words alone, a few lines of code and a small table; in the teacher's copy nothing."""
    words = "<p>{}</p>"
    code = '<div class="cell"><pre>{}</pre></div>'
    bodies = {
        words.format("Few."): "words",
        words.format("Many words. " * 80): None,
        code.format("x = 1\n" * 5): "roomy",
        code.format("x = 1\n" * 20): None,
        code.format("x" * 80): None,
        FIGURE.format("x"): None,
    }
    slides = [Slide(f"<h2>Any</h2>{body}", "") for body in bodies]
    for teachers in (False, True):
        shown = BeautifulSoup(deck(slides, "Any", teachers), "html.parser").select("section")
        for slide, kind in zip(shown, bodies.values(), strict=True):
            assert slide["class"] == ["slide", *([kind] if kind and not teachers else [])]
    for cells, size in ((10, "sparse"), (200, ""), (900, "dense")):
        table = f"<table class='table'><tr>{'<td>12</td>' * cells}</tr></table>"
        page = PAGE.replace("<p>Why.</p>", f"<!-- slide -->{table}")
        found = article(f"<article>{slides_of(article(page))[2].body}</article>").table
        assert found
        assert " ".join(found["class"]) == f"table {size}".strip()


def test_a_tall_figure_stands_beside_its_caption() -> None:
    for size, tall in (('width="400" height="400"', True), ('width="800" height="400"', False)):
        page = PAGE.replace('<img class="drawing"/>', f'<img class="drawing" {size}/>')
        assert ("tall" in slides_of(article(page))[1].body) is tall


@pytest.mark.parametrize(("sections", "questions"), [(10, 40), (12, 5), (30, 3)])
def test_a_deck_fits_a_lesson(sections: int, questions: int) -> None:
    many = (
        "".join(
            f"<section><h2>{n}</h2>{FIGURE.format(n)}{QUESTION * (n < questions)}</section>"
            for n in range(sections)
        )
        + f"<section><h2>q</h2>{QUESTION * max(questions - sections, 0)}</section>"
    )
    page = f'<article><section><h1>Many</h1>{many}<section id="what-we-have-seen"><h2>Seen</h2>'
    found = slides_of(article(f"{page}<ul><li>All</li></ul></section></section></article>"))
    assert len(found) == MOST
    assert "<li>All</li>" in found[-1].body
    assert "<h1>Many</h1>" in found[0].body


def test_notes_and_solutions_are_in_the_teachers_copy_alone() -> None:
    slides = slides_of(article(PAGE))
    shown = BeautifulSoup(deck(slides, "Bins & more"), "html.parser")
    assert str(shown.title) == "<title>Bins &amp; more: slides</title>"
    assert len(shown.select("section.slide")) == 5
    assert not shown.select(".notes")
    assert not {"Why.", "Right."} & set(shown.stripped_strings)
    solved = solutions_of(article(f"<article>{SOLUTION}</article>"))
    copy = BeautifulSoup(deck([*slides, *solved], "Bins", teachers=True), "html.parser")
    *notes, solution = [note.get_text() for note in copy.select("aside.notes")]
    assert "Why." in notes
    assert any("Right." in note for note in notes)
    assert solution == "Two."
    assert copy.select("section.slide")[-1].h2
    assert "Solution to Exercise 2.1#" not in copy.get_text()


def test_links_lead_from_the_folder_of_the_slides(tmp_path: Path) -> None:
    links = '<a href="#here">1</a><a href="other.html#x">2</a><a href="https://a.org">3</a>'
    marks = '<img src="../_images/p.png"><svg><use href="#mark"></use></svg>'
    (tmp_path / "notebooks").mkdir()
    page = f'<article class="bd-article">{links}{marks}</article>'
    (tmp_path / "notebooks/one.html").write_text(page, "utf-8")
    found = article_of(tmp_path, "notebooks/one")
    assert [a["href"] for a in found.select("a")] == [
        *("../notebooks/one.html#here", "../notebooks/other.html#x", "https://a.org")
    ]
    assert [i["src"] for i in found.select("img")] == ["../_images/p.png"]
    assert [u["href"] for u in found.select("use")] == ["#mark"]  # of the drawing itself
    (tmp_path / "two.html").write_text("<html></html>", "utf-8")
    with pytest.raises(MystError, match="two: a page has an article"):
        article_of(tmp_path, "two")
