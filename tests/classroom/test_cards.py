"""Oral cards: five questions from a student's own work, which no other student gets."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from classroom import ClassroomError
from classroom.cards import N_QUESTIONS, cards, source_of, write_cards
from classroom.goals import assignment_names
from classroom.known import asked
from classroom.notebooks import notebook
from classroom.submission import Cell, Submission, submission_of
from tests.classroom.results_on_disk import EVIL, give
from tests.classroom.tiny_class import answers, hand_in, make_class

SECRET = b"of the tests of the cards"
WROTE = "The gap of B is 3.4 points on 2,400 predictions, so it is no accident."


def handed_in(name: str, solved: bool = True) -> Submission:
    return submission_of(nbformat.writes(notebook(name, SECRET, "3", solved=solved)).encode())


def of(student: str, *texts: str) -> dict[str, object]:
    return {"student": student, "questions": {f"q{n}": {"answer": t} for n, t in enumerate(texts)}}


@pytest.mark.parametrize("name", assignment_names())
def test_cards_ask_five_questions_about_a_students_own_work(name: str) -> None:
    submission = handed_in(name)
    drawn = {
        student: cards(name, SECRET, "3", of(student, f"Nothing. {WROTE}"), submission)
        for student in ("m-1", "m-2", "m-3")
    }
    for found in drawn.values():
        assert len(found) == len({card.question for card in found}) == N_QUESTIONS
        assert all(card.good for card in found)
        assert any(sentence in found[0].shown for sentence in asked(name, SECRET, "3").values())
        assert found[1].shown == WROTE
        assert sum(card.shown.startswith("def ") for card in found) >= 2
    # The same sheet, and not the same five.
    assert len({tuple(card.question for card in found) for found in drawn.values()}) > 1
    assert drawn["m-1"] == cards(name, SECRET, "3", of("m-1", WROTE), submission)


@pytest.mark.parametrize("name", assignment_names())
def test_cards_ask_who_wrote_nothing_about_the_sheet(name: str) -> None:
    found = cards(name, SECRET, "3", of("m-1"), handed_in(name, solved=False))
    assert not any(card.shown.startswith("def ") for card in found)
    assert len(found) >= 2


def test_source_of_a_function_is_its_own_lines() -> None:
    code = "x = 1\ndef gap(\n    a,\n):\n\n    return a\n# end\ndef gapped(a):\n    return 2"
    assert source_of(Submission(()), "gap") == ""
    handed = Submission((Cell(1, "def gap(a):\n    return 0"), Cell(2, code)))
    assert source_of(handed, "gap") == "def gap(\n    a,\n):\n\n    return a"
    empty = Submission((Cell(1, "def gap(a):\n    raise NotImplementedError"),))
    assert source_of(empty, "gap") == ""


def test_write_cards_makes_a_page_for_each_student_that_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_class(tmp_path, monkeypatch)
    (tmp_path / "assignments/tiny/variants.toml").write_text('[way]\na = "A."\nb = "B."\n')
    teacher = '[[cards]]\nfunction = "gap"\nquestion = "Why?"\ngood = "Because {{ half }}."\n'
    (tmp_path / "assignments/tiny/teacher.toml").write_text(teacher)
    with pytest.raises(ClassroomError, match="nobody is graded yet"):
        write_cards(folder, "tiny")
    hand_in(folder, "m-1", answers(q1=f"def gap(a, b):\n    return '{EVIL}'"), name=EVIL)
    hand_in(folder, "m-2", answers())
    hand_in(folder, "m-3", b"%PDF")
    give(folder, "m-1")
    give(folder, "m-2")
    text = write_cards(folder, "tiny").read_text("utf-8")
    assert text.count("<section class=sheet>") == 2
    assert "Because 0.5." in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "Name of m-2, sheet 0" in text
    assert "default-src 'none'" in text
