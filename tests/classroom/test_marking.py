"""Marking: answers are rendered, nothing of them runs, and a click lands in the table."""

from __future__ import annotations

import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_feedback import EVIL, give
from tiny_class import hand_in, make_class

from classroom import ClassroomError
from classroom.markdown import html_of
from classroom.marking import Desk
from classroom.results import write_json

ANSWER = "**A** is bold: $\\frac{1}{n} \\sum_i c_i$.\n\n![Mine](data:image/png;base64,iVBORw0KGgo=)"


def answered(folder: Path, student: str, answer: str) -> None:
    hand_in(folder, student, b"{}")
    give(folder, student)
    file = folder / "graded/tiny" / f"{student}.json"
    from classroom.results import read_json

    result = read_json(file)
    result["questions"]["q4"]["answer"] = answer
    write_json(file, result)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    folder = make_class(tmp_path, monkeypatch)
    answered(folder, "m-1", ANSWER)
    answered(folder, "m-2", EVIL)
    with Desk(folder, "tiny") as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(desk: Desk, path: str = "", **form: Any) -> str:
    data = urllib.parse.urlencode(form).encode() if form else None
    with urllib.request.urlopen(desk.address + path, data) as answer:
        return answer.read().decode()


def table(desk: Desk) -> list[str]:
    rows = (desk.folder / "hand/tiny.csv").read_text("utf-8-sig").splitlines()[1:]
    return [row.rpartition(",")[0] for row in rows]  # without the hash of the answer


def test_answers_are_rendered_with_formulas_and_pictures(desk: Desk) -> None:
    page = ask(desk)
    assert "<strong>A</strong> is bold" in page
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in page
    assert re.search(
        r'<img alt="\\frac\{1\}\{n\} \\sum_i c_i" style="[^"]*" src="data:image/svg', page
    )
    assert "2 answers, 2 of them without points." in page
    assert "Name of m-1" not in page


def test_nothing_in_an_answer_runs_or_loads(desk: Desk) -> None:
    page = ask(desk)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'self'",
    ]


def test_a_click_lands_in_the_table_and_shows_again(desk: Desk) -> None:
    form = {"student": "m-1", "question": "q4", "row-0": "2", "row-1": "0.5", "comment": "Why?"}
    page = ask(desk, **form)
    assert table(desk) == ["m-1,q4,2.5,Why?,2 0.5", "m-2,q4,,,"]
    assert "m-1: 2.5 points" in page
    assert page.count(" checked") == 2
    assert "value=0.5 checked" in page
    assert ">Why?</textarea>" in page
    # A comment alone gives no points, and takes none away.
    ask(desk, student="m-2", question="q4", comment="See me")
    assert table(desk)[1] == "m-2,q4,,See me,"
    ask(desk, student="m-1", question="q4", comment="")
    assert table(desk)[0] == "m-1,q4,2.5,,2 0.5"


def test_who_hands_in_late_is_there_at_the_next_look(desk: Desk) -> None:
    answered(desk.folder, "m-3", "Late.")
    assert "<p>Late.</p>" in ask(desk)
    assert table(desk)[2] == "m-3,q4,,,"


def test_the_notebook_is_linked(desk: Desk) -> None:
    assert '<a href="m-1.ipynb">' in ask(desk)
    assert ask(desk, "m-1.ipynb") == "{}"


@pytest.mark.parametrize(
    "form",
    [
        {"student": "m-9", "question": "q4"},
        {"student": "m-1", "question": "q1"},
        {"student": "m-1", "question": "q4", "row-0": "4", "row-1": "0"},
        {"student": "m-1", "question": "q4", "row-0": "nan", "row-1": "0"},
        {"student": "m-1", "question": "q4", "row-0": "x", "row-1": "0"},
        {"student": "m-1", "question": "q4", "row-0": "2", "comment": "One row is forgotten."},
    ],
)
def test_a_form_that_fits_nothing_changes_nothing(desk: Desk, form: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask(desk, **form)
    assert table(desk) == ["m-1,q4,,,", "m-2,q4,,,"]


@pytest.mark.parametrize("path", ["../", "../guess/", "m-9.ipynb", "../../secret", "%2e%2e/secret"])
def test_who_does_not_know_the_word_sees_nothing(desk: Desk, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(desk, path)


def test_without_answers_there_is_nothing_to_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClassroomError, match="nobody is graded yet"):
        Desk(make_class(tmp_path, monkeypatch), "tiny")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b onclick=x>hi</b>", "&lt;b onclick=x&gt;hi&lt;/b&gt;"),
        ("[a](javascript:x)", "[a](javascript:x)"),
        ("from $5 to $6", "from $5 to $6"),
        ("$\\begin{x}$", "<code>\\begin{x}</code>"),
        ("$" + "x" * 501 + "$", "<code>xxx"),
        ("$\\text{<script>}$", "&lt;script&gt;"),
        ("| a |\n|---|\n| 1 |", "<td>1</td>"),
        ("> " * 10_000, "<blockquote>"),
        ("<img alt=x width=9 src='data:image/png;base64,iVBORw=='>", '<img src="data:image/png'),
        ("![mine](https://a.org/b.png)", "<code>mine (https://a.org/b.png)</code>"),
        ("$x$ " * 101, "<code>x</code>"),
    ],
)
def test_markdown(source: str, expected: str) -> None:
    found = html_of(source)
    assert expected in found
    assert "<script" not in found
