"""Marking: answers are rendered, nothing of them runs, and a click lands in the table."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classroom import ClassroomError
from classroom.markdown import html_of
from classroom.marking import SCRIPT, Desk, answer_page
from classroom.results import read_json
from tests.classroom.results_on_disk import EVIL, give, set_answer
from tests.classroom.tiny_class import hand_in, make_class

ANSWER = "**A** is bold: $\\frac{1}{n} \\sum_i c_i$.\n\n![Mine](data:image/png;base64,iVBORw0KGgo=)"


def answered(folder: Path, student: str, answer: str) -> None:
    hand_in(folder, student, b"{}")
    give(folder, student)
    set_answer(folder, student, answer)


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


def click(desk: Desk, student: str, only: str = "", /, **form: str) -> str:
    """Send the form of a student's answer, as it stands on its page."""
    fields = r'<input type=hidden name=(\w+) value="([^"]*)">'
    hidden = dict(re.findall(fields, ask(desk, f"q4/{student}")))
    return ask(desk, only, **hidden | form)


def table(desk: Desk) -> list[str]:
    """The rows of the table, without the hashes of the answers."""
    text = (desk.folder / "hand/tiny.csv").read_text("utf-8-sig")
    return [line.rpartition(",")[0] for line in text.splitlines()[1:]]


def test_an_answer_is_rendered_with_formulas_and_pictures(desk: Desk) -> None:
    page = ask(desk, "q4/m-1")
    assert "<strong>A</strong> is bold" in page
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in page
    assert re.search(
        r'<img alt="\\frac\{1\}\{n\} \\sum_i c_i" style="[^"]*" src="data:image/svg', page
    )
    assert "Answer 1 of 2, 2 to read" in page
    # The word in the address is random, and one in some thousands contains "m-2".
    assert "m-2" not in page.replace(desk.word, "").replace("/q4/m-2", "")
    assert "Name of m-1" not in page
    assert "2 answers, 2 of them to read." in ask(desk)


def test_nothing_in_an_answer_runs_or_loads(desk: Desk) -> None:
    page = ask(desk, "q4/m-2")
    [script] = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    assert script == SCRIPT
    assert "&lt;script&gt;" in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy[1].split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'self'",
        f"script-src 'sha256-{hashed}'",
    ]


def test_a_click_lands_in_the_table_and_shows_again(desk: Desk) -> None:
    page = click(desk, "m-1", **{"row-0": "2", "row-1": "0.5", "comment": "Why?"})
    assert "<h3>m-2: not read yet</h3>" in page  # the next one
    assert table(desk) == ["m-1,q4,2.5,Why?,2 0.5", "m-2,q4,,,"]
    page = ask(desk, "q4/m-1")
    assert "m-1: 2.5 points" in page
    assert page.count(" checked") == 2
    assert "value=0.5 checked" in page
    assert ">Why?</textarea>" in page
    # A comment alone gives no points, and takes none away.
    click(desk, "m-2", comment="See me")
    assert table(desk)[1] == "m-2,q4,,See me,"
    click(desk, "m-1", comment="")
    assert table(desk)[0] == "m-1,q4,2.5,,2 0.5"


def test_only_what_is_unread_comes_next(desk: Desk) -> None:
    answered(desk.folder, "m-3", "Third.")
    marks = {"row-0": "2", "row-1": "0"}
    click(desk, "m-2", **marks)
    for only, following in (("", "m-2"), ("?unread", "m-3")):
        assert f'<a data-key=n href="/{desk.word}/q4/{following}{only}">' in ask(
            desk, f"q4/m-1{only}"
        )
        assert f"<h3>{following}: " in click(desk, "m-1", only, **marks)
    assert "3 answers, 0 of them to read." in click(desk, "m-3", "?unread", **marks)
    # One step back is to any answer.
    assert f'<a data-key=p href="/{desk.word}/q4/m-2?unread">' in ask(desk, "q4/m-3?unread")


def test_a_changed_answer_is_unread_and_its_old_points_are_proposed(desk: Desk) -> None:
    click(desk, "m-1", **{"row-0": "2.5", "row-1": "1", "comment": "Good."})
    before = ask(desk, "q4/m-1")
    answered(desk.folder, "m-1", "")
    page = ask(desk, "q4/m-1")
    assert "m-1: changed since it was read" in page
    assert "since it got 3.5 points" in page
    assert page.count(" checked") == 2
    assert "2 answers, 2 of them to read." in ask(desk)
    # Who still has the page of the earlier answer open does not mark the later one.
    fields = re.findall(r'<input type=hidden name=(\w+) value="([^"]*)">', before)
    with pytest.raises(urllib.error.HTTPError, match="400"):
        ask(desk, **dict(fields) | {"row-0": "3", "row-1": "1"})
    assert "m-1: changed since it was read" in ask(desk, "q4/m-1")
    click(desk, "m-1", **{"row-0": "0", "row-1": "0"})
    assert "m-1: 0 points" in ask(desk, "q4/m-1")


def test_what_is_right_stands_beside_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_class(tmp_path, monkeypatch)
    place = tmp_path / "assignments/tiny"
    (place / "variants.toml").write_text('[way]\na = "Way A."\nb = "Way B."\n')
    (place / "teacher.toml").write_text('known = ["It is **{{ word }}**, {{ half }}."]')
    (place / "known.py").write_text("def known(secret, variant):\n    return {'word': 'bold'}")
    (folder / "teacher/tiny/sample.md").write_text("## Question 4: why\n\n> Because *I* say so.\n")
    answered(folder, "m-1", "Mine.")
    with Desk(folder, "tiny") as found:
        [answer] = found.look()[0].values()
        page = answer_page(found, found.look()[0], answer, "")
    assert "<li>Way B." in page
    assert "It is <strong>bold</strong>, 0.5." in page
    assert "<p>Because <em>I</em> say so.</p>" in page
    assert "<td>q1<td class=points>2 of 2<td>check 1: 0\N{NO-BREAK SPACE}%;" in page
    assert "<td>q3<td" not in page  # nothing was checked there


def test_who_hands_in_late_is_there_at_the_next_look(desk: Desk) -> None:
    answered(desk.folder, "m-3", "Late.")
    assert "<p>Late.</p>" in ask(desk, "q4/m-3")
    assert table(desk)[2] == "m-3,q4,,,"


def test_the_notebook_is_linked(desk: Desk) -> None:
    assert f'<a href="/{desk.word}/m-1.ipynb">' in ask(desk, "q4/m-1")
    assert ask(desk, "m-1.ipynb") == "{}"


@pytest.mark.parametrize(
    "form",
    [
        {"student": "m-9"},
        {"question": "q1"},
        {"row-0": "4", "row-1": "0"},
        {"row-0": "nan", "row-1": "0"},
        {"row-0": "x", "row-1": "0"},
        {"row-0": "2", "comment": "One row is forgotten."},
        {"row-0": "2", "row-1": "0", "answer": ""},
    ],
)
def test_a_form_that_fits_nothing_changes_nothing(desk: Desk, form: dict[str, str]) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        click(desk, "m-1", **form)
    assert table(desk) == ["m-1,q4,,,", "m-2,q4,,,"]


@pytest.mark.parametrize(
    "path", ["../", "../guess/", "m-9.ipynb", "q4/m-9", "q1/m-1", "../../secret", "%2e%2e/secret"]
)
def test_who_does_not_know_the_word_sees_nothing(desk: Desk, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(desk, path)


def test_desk_refuses_where_there_is_nothing_to_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClassroomError, match="nobody is graded yet"):
        Desk(make_class(tmp_path, monkeypatch), "tiny")


def test_desk_reads_and_renders_what_has_changed_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two hundred students everything anew would take seconds at each click."""
    for n in range(9):
        answered(desk.folder, f"x-{n}", f"Mine: $z_{n}$.")
    marks = {"row-0": "1", "row-1": "1"}
    click(desk, "x-0", **marks)
    read: list[str] = []

    def reading(file: Path) -> dict[str, Any]:
        read.append(file.parent.name)
        return read_json(file)

    monkeypatch.setattr("classroom.results.read_json", reading)
    before = html_of.cache_info().misses
    assert "<h3>x-2: not read yet</h3>" in click(desk, "x-1", **marks)
    assert "tiny" not in read  # the folder of the results
    assert html_of.cache_info().misses - before < 9
