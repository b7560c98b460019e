"""Pages and scores: made from results on disk, so no sandbox is needed here."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from classroom import ClassroomError
from classroom.feedback import ENDED, NOT_PLAIN, sentence, write_feedback
from classroom.goals import read_goals
from classroom.results import (
    HandGrade,
    answer_hash,
    complete_hand,
    plain_cell,
    read_json,
    submitted,
    write_hand,
    write_json,
)
from classroom.scores import write_scores
from tests.classroom.tiny_class import hand_in, make_class

HEAD = "student,question,points,comment,rubric,answer"
EVIL = "</pre><script>alert('x')</script>"
FAILURES: list[dict[str, Any] | None] = [
    None,
    {"kind": "exception", "type": "ValueError"},
    {"kind": "exception", "type": "KeyError", "cell": 2, "line": 3, "code": f"x = {EVIL}"},
    {"kind": "wrong", "what": "an array"},
    {"kind": "missing", "function": "gap"},
    {"kind": "guess"},
    *({"kind": "ended", "why": why} for why in ENDED),
    *({"kind": "not plain", "why": why} for why in NOT_PLAIN),
]


def give(folder: Path, student: str, points: float = 2.0, **changes: Any) -> None:
    """Write a result as grading does."""
    checks = [
        {"name": f"check {n}", "share": 0.0 if failure else 1.0, "hint": "", "failure": failure}
        for n, failure in enumerate(FAILURES)
    ]
    questions = {
        "q1": {"points": points, "of": 2, "checks": checks},
        "q2": {
            "points": 1.25,
            "of": 3,
            "checks": [{**checks[3], "share": 0.5, "hint": "Mind it."}],
        },
        "q3": {"points": 0.0, "of": 1, "checks": []},
        "q4": {"points": None, "of": 4, "answer": f"I think {EVIL}"},
    }
    cell = {"kind": "exception", "type": "NameError", "question": "q1", "message": EVIL}
    cells = [{**cell, "number": n} for n in range(1, 61)]
    result = {"student": student, "assignment": "tiny", "status": "graded", "reason": ""}
    result |= {"questions": questions, "cells": cells, "seconds": 1.0} | changes
    result["hashes"] = {"submission": submitted(folder / "collected/tiny" / student)}
    write_json(folder / "graded/tiny" / f"{student}.json", result)


def answers(folder: Path, student: str, text: str) -> None:
    """The student's answer to the question that a teacher reads, as grading finds it."""
    file = folder / "graded/tiny" / f"{student}.json"
    result = read_json(file)
    result["questions"]["q4"]["answer"] = text
    write_json(file, result)


def of(folder: Path, student: str, question: str = "q4") -> str:
    """The hash of an answer."""
    return answer_hash(read_json(folder / "graded/tiny" / f"{student}.json"), question)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = make_class(tmp_path, monkeypatch)
    hand_in(found, "m-1", b"", name="=HYPERLINK(1)", late=True)
    hand_in(found, "m-2", b"", name="홍길동")
    hand_in(found, "m-3", b"", name=EVIL, late=None)
    hand_in(found, "m-4", b"")
    give(found, "m-1")
    give(found, "m-2", points=0.5)
    give(found, "m-3", status="not graded", reason=f"The file is {EVIL}.")
    return found


def hand(folder: Path, text: str) -> None:
    (folder / "hand").mkdir(exist_ok=True)
    (folder / "hand/tiny.csv").write_text(text, "utf-8")


def scores(folder: Path) -> dict[str, dict[str, str]]:
    with write_scores(folder).open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def pages(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text("utf-8") for file in write_feedback(folder, "tiny")}


def test_a_page_says_all_that_happened_and_runs_nothing(folder: Path) -> None:
    found = pages(folder)
    assert sorted(found) == ["m-1", "m-2", "m-3", "m-4"]
    for text in found.values():
        assert text.index("default-src 'none'") < text.index("<style>")
        assert "<script" not in text
        assert "</pre>&lt;" not in text
    page = found["m-1"]
    for failure in FAILURES[3:]:
        assert sentence(failure, seconds=2) in page
    assert "KeyError, in code cell 2, line 3: x = &lt;/pre&gt;" in page
    assert "Subtract the accuracy." in page  # the question's hint
    assert "50\N{NO-BREAK SPACE}%<td>Your code returned an array, and" in page
    assert page.count("Subtract the accuracy.") == 1  # one hint for one cause
    assert "<h2>Question 1: the gap</h2>" in page
    assert "Code cell 1 (Question 1: the gap)." in page
    assert "q1" not in page
    assert "Mind it." in page
    assert "And 40 more." in page


def test_what_is_not_graded_is_no_zero(folder: Path) -> None:
    found = pages(folder)
    assert "This is not a zero" in found["m-3"]
    assert "The file is &lt;/pre&gt;" in found["m-3"]
    assert "Not graded yet." in found["m-4"]
    rows = scores(folder)
    for student in ("m-3", "m-4"):
        assert (rows[student]["points"], rows[student]["status"]) == ("", "not graded")
        assert rows[student]["q1"] == rows[student]["q4"] == ""


def test_the_result_of_an_earlier_notebook_is_none(folder: Path) -> None:
    hand_in(folder, "m-1", b"a later one", name="Ada", late=True)
    assert scores(folder)["m-1"]["status"] == "not graded"
    assert "Not graded yet." in pages(folder)["m-1"]


def test_points_by_hand_join_the_others(folder: Path) -> None:
    assert scores(folder)["m-1"]["status"] == "waiting for hand grades"
    assert "Some answers are not read yet" in pages(folder)["m-1"]
    template = (folder / "hand/tiny.csv").read_text("utf-8-sig")
    marks = [of(folder, student) for student in ("m-1", "m-2")]
    assert template == f"{HEAD}\nm-1,q4,,,,{marks[0]}\nm-2,q4,,,,{marks[1]}\n"
    hand(folder, template.replace("m-1,q4,,,", f"m-1,q4,2.5,Why? {EVIL},2 0.5"))
    page = pages(folder)["m-1"]
    assert "5.75 of 10 points" in page
    assert "Question 4: why</h2>\n<p><strong>2.5 of 4 points.</strong>" in page
    assert "Why? &lt;/pre&gt;" in page
    assert "2 of 3<td>A &lt;reason&gt;." in page
    assert "0.5 of 1<td>An example." in page
    rows = scores(folder)
    assert (rows["m-1"]["points"], rows["m-1"]["of"], rows["m-1"]["q4"]) == ("5.75", "10", "2.5")
    assert rows["m-1"]["status"] == "graded"
    assert (rows["m-2"]["points"], rows["m-2"]["q1"]) == ("", "0.5")


def test_a_teacher_has_the_last_word(folder: Path) -> None:
    hand(folder, "student;question;points;comment\nm-1;q4;4;\nm-1;q2;3;A misprint of ours\n")
    row = scores(folder)["m-1"]
    assert (row["q2"], row["points"]) == ("3", "9")
    assert "A misprint of ours" in pages(folder)["m-1"]


def test_a_changed_answer_is_unread_and_its_old_mark_a_proposal(folder: Path) -> None:
    """A second chance: the points of the first answer are none of the second."""
    goals = read_goals("tiny")
    first = complete_hand(folder, "tiny", goals)
    read = HandGrade(3.5, "Clear.", (3.0, 0.5), first["m-1", "q4"].answer)
    write_hand(folder, "tiny", first | {("m-1", "q4"): read})
    assert scores(folder)["m-1"]["q4"] == "3.5"
    answers(folder, "m-1", "")
    row, page = scores(folder)["m-1"], pages(folder)["m-1"]
    assert (row["q4"], row["points"], row["status"]) == ("", "", "waiting for hand grades")
    assert "Clear." not in page
    assert "<p><strong>Not read yet.</strong>" in page
    now = complete_hand(folder, "tiny", goals)["m-1", "q4"]
    assert (now.points, now.comment, now.rubric, now.before) == (None, "", (), read)
    # The old mark stays in the table, and the old answer has it back.
    assert f"m-1,q4,3.5,Clear.,3 0.5,{read.answer}" in (folder / "hand/tiny.csv").read_text("utf-8")
    answers(folder, "m-1", f"I think {EVIL}")
    assert scores(folder)["m-1"]["q4"] == "3.5"
    # A new mark is of the new answer.
    answers(folder, "m-1", "A second try.")
    hands = complete_hand(folder, "tiny", goals)
    mark = HandGrade(1.0, "", (1.0, 0.0), hands["m-1", "q4"].answer)
    write_hand(folder, "tiny", hands | {("m-1", "q4"): mark})
    assert complete_hand(folder, "tiny", goals)["m-1", "q4"] == mark
    assert scores(folder)["m-1"]["q4"] == "1"


def test_a_new_notebook_with_the_same_answer_keeps_its_mark(folder: Path) -> None:
    hand(folder, f"{HEAD}\nm-1,q4,3,,,\nm-1,q2,3,Ours,,\n")
    assert (scores(folder)["m-1"]["q4"], scores(folder)["m-1"]["q2"]) == ("3", "3")
    hand_in(folder, "m-1", b"a later one", name="Ada")
    assert scores(folder)["m-1"]["status"] == "not graded"
    give(folder, "m-1")
    # What the computer checks is another notebook's now.
    assert (scores(folder)["m-1"]["q4"], scores(folder)["m-1"]["q2"]) == ("3", "1.25")


def test_a_comment_comes_back_as_it_was_written(folder: Path) -> None:
    comment = "- bins; = equal width\n+ the edges;\n\n-1"
    hand = complete_hand(folder, "tiny", read_goals("tiny"))
    write_hand(folder, "tiny", hand | {("m-1", "q4"): HandGrade(1.0, comment)})
    assert "\n- bins" not in (folder / "hand/tiny.csv").read_text("utf-8-sig")
    assert complete_hand(folder, "tiny", read_goals("tiny"))["m-1", "q4"].comment == comment


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("m-9,q4,1,", "line 2: no student 'm-9'"),
        ("m-1,q9,1,", "line 2: no question 'q9'"),
        ("m-1,q4,5,", "points must be from 0 to 4, not '5'"),
        ("m-1,q4,-1,", "from 0 to 4"),
        ("m-1,q4,nan,", "from 0 to 4"),
        ("m-1,q4,good,", "not 'good'"),
        ("m-1,q4,1,\nm-1,q4,2,", "line 3: m-1 has points for q4 above already"),
    ],
)
def test_a_mistake_in_the_points_by_hand_is_named(folder: Path, row: str, message: str) -> None:
    hand(folder, f"student,question,points,comment\n{row}\n")
    for write in (write_scores, lambda folder: write_feedback(folder, "tiny")):
        with pytest.raises(ClassroomError, match=message):
            write(folder)


def test_points_by_hand_without_their_columns_are_refused(folder: Path) -> None:
    hand(folder, "student,points\nm-1,3\n")
    with pytest.raises(ClassroomError, match="the first line must name comment, question"):
        write_scores(folder)


def test_a_late_student_gets_a_row_and_what_a_teacher_wrote_stays(folder: Path) -> None:
    hand(folder, "student,question,points,comment\nm-1,q4,1,mine\nm-1,q2,3,\n")
    pages(folder)
    rows = [f"m-1,q4,1,mine,,{of(folder, 'm-1')}", f"m-2,q4,,,,{of(folder, 'm-2')}"]
    rows = [HEAD, *rows, f"m-1,q2,3,,,{of(folder, 'm-1', 'q2')}", ""]
    assert (folder / "hand/tiny.csv").read_text("utf-8-sig") == "\n".join(rows)
    scores(folder)
    assert (folder / "hand/tiny.csv").read_text("utf-8-sig") == "\n".join(rows)


def test_a_row_is_added_as_the_spreadsheet_writes_them(folder: Path) -> None:
    hand(folder, 'student;question;points;comment;rubric\nm-1;q4;1,5;"a; b";1 0,5\n')
    pages(folder)
    text = (folder / "hand/tiny.csv").read_text("utf-8-sig")
    marks = [of(folder, student) for student in ("m-1", "m-2")]
    assert text.splitlines()[1:] == [f'm-1;q4;1,5;"a; b";1 0,5;{marks[0]}', f"m-2;q4;;;;{marks[1]}"]


@pytest.mark.parametrize("clicked", ["2 1", "1 0.5 0", "1"])
def test_a_rubric_that_no_longer_fits_its_points_is_dropped(folder: Path, clicked: str) -> None:
    hand(folder, f"{HEAD}\nm-1,q4,1.5,,{clicked},\n")
    assert "<td class=points>3<td>A &lt;reason&gt;." in pages(folder)["m-1"]


def test_scores_are_safe_in_a_spreadsheet(folder: Path) -> None:
    rows = scores(folder)
    assert rows["m-1"]["name"] == "'=HYPERLINK(1)"
    assert rows["m-2"]["name"] == "홍길동"
    assert [rows[s]["late"] for s in ("m-1", "m-2", "m-3")] == ["yes", "no", ""]
    assert [
        plain_cell(t) for t in ("a;=1", "a; \uff1d1", "\uff0b1", "a\n-1", "a;b-1", "1;-1;@x")
    ] == [*("a;'=1", "a; '\uff1d1", "'\uff0b1", "a\n'-1", "a;b-1", "1;'-1;'@x")]
    assert [plain_cell(t) for t in ("+1", "-1", "@x", "\tx", "a=1", 3)] == [
        *("'+1", "'-1", "'@x", "'\tx", "a=1", "3")
    ]
