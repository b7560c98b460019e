"""What a class's folder holds about a student: the last result, and the points given by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.feedback import write_feedback
from classroom.goals import read_goals
from classroom.results import HandGrade, complete_hand, plain_cell, write_hand
from classroom.scores import write_scores
from tests.classroom.results_on_disk import (
    EVIL,
    HEAD,
    give,
    hand,
    hash_of,
    pages,
    scores,
    set_answer,
)
from tests.classroom.tiny_class import hand_in


def test_results_take_none_of_an_earlier_notebook(folder: Path) -> None:
    hand_in(folder, "m-1", b"a later one", name="Ada", late=True)
    assert scores(folder)["m-1"]["status"] == "not graded"
    assert "Not graded yet." in pages(folder)["m-1"]


def test_total_gives_a_teacher_the_last_word(folder: Path) -> None:
    hand(folder, "student;question;points;comment\nm-1;q4;4;\nm-1;q2;3;A misprint of ours\n")
    row = scores(folder)["m-1"]
    assert (row["q2"], row["points"]) == ("3", "9")
    assert "A misprint of ours" in pages(folder)["m-1"]


def test_complete_hand_takes_a_changed_answer_for_unread(folder: Path) -> None:
    """A second chance: the points of the first answer are none of the second."""
    goals = read_goals("tiny")
    first = complete_hand(folder, "tiny", goals)
    read = HandGrade(3.5, "Clear.", (3.0, 0.5), first["m-1", "q4"].answer)
    write_hand(folder, "tiny", first | {("m-1", "q4"): read})
    assert scores(folder)["m-1"]["q4"] == "3.5"
    set_answer(folder, "m-1", "")
    row, page = scores(folder)["m-1"], pages(folder)["m-1"]
    assert (row["q4"], row["points"], row["status"]) == ("", "", "waiting for hand grades")
    assert "Clear." not in page
    assert "<p><strong>Not read yet.</strong>" in page
    now = complete_hand(folder, "tiny", goals)["m-1", "q4"]
    assert (now.points, now.comment, now.rubric, now.before) == (None, "", (), read)
    # The old mark stays in the table, and the old answer has it back.
    assert f"m-1,q4,3.5,Clear.,3 0.5,{read.answer}" in (folder / "hand/tiny.csv").read_text("utf-8")
    set_answer(folder, "m-1", f"I think {EVIL}")
    assert scores(folder)["m-1"]["q4"] == "3.5"
    # A new mark is of the new answer.
    set_answer(folder, "m-1", "A second try.")
    hands = complete_hand(folder, "tiny", goals)
    mark = HandGrade(1.0, "", (1.0, 0.0), hands["m-1", "q4"].answer)
    write_hand(folder, "tiny", hands | {("m-1", "q4"): mark})
    assert complete_hand(folder, "tiny", goals)["m-1", "q4"] == mark
    assert scores(folder)["m-1"]["q4"] == "1"


def test_complete_hand_keeps_the_mark_of_the_same_answer(folder: Path) -> None:
    hand(folder, f"{HEAD}\nm-1,q4,3,,,\nm-1,q2,3,Ours,,\n")
    assert (scores(folder)["m-1"]["q4"], scores(folder)["m-1"]["q2"]) == ("3", "3")
    hand_in(folder, "m-1", b"a later one", name="Ada")
    assert scores(folder)["m-1"]["status"] == "not graded"
    give(folder, "m-1")
    # What the computer checks is another notebook's now.
    assert (scores(folder)["m-1"]["q4"], scores(folder)["m-1"]["q2"]) == ("3", "1.25")


def test_complete_hand_gives_a_comment_back_as_it_was_written(folder: Path) -> None:
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
def test_read_hand_names_a_mistake(folder: Path, row: str, message: str) -> None:
    hand(folder, f"student,question,points,comment\n{row}\n")
    for write in (write_scores, lambda folder: write_feedback(folder, "tiny")):
        with pytest.raises(ClassroomError, match=message):
            write(folder)


def test_read_hand_needs_its_columns(folder: Path) -> None:
    hand(folder, "student,points\nm-1,3\n")
    with pytest.raises(ClassroomError, match="the first line must name comment, question"):
        write_scores(folder)


def test_complete_hand_adds_rows_and_keeps_what_a_teacher_wrote(folder: Path) -> None:
    hand(folder, "student,question,points,comment\nm-1,q4,1,mine\nm-1,q2,3,\n")
    pages(folder)
    rows = [f"m-1,q4,1,mine,,{hash_of(folder, 'm-1')}", f"m-2,q4,,,,{hash_of(folder, 'm-2')}"]
    rows = [HEAD, *rows, f"m-1,q2,3,,,{hash_of(folder, 'm-1', 'q2')}", ""]
    assert (folder / "hand/tiny.csv").read_text("utf-8-sig") == "\n".join(rows)
    scores(folder)
    assert (folder / "hand/tiny.csv").read_text("utf-8-sig") == "\n".join(rows)


def test_write_hand_writes_as_the_spreadsheet_did(folder: Path) -> None:
    hand(folder, 'student;question;points;comment;rubric\nm-1;q4;1,5;"a; b";1 0,5\n')
    pages(folder)
    text = (folder / "hand/tiny.csv").read_text("utf-8-sig")
    marks = [hash_of(folder, student) for student in ("m-1", "m-2")]
    assert text.splitlines()[1:] == [f'm-1;q4;1,5;"a; b";1 0,5;{marks[0]}', f"m-2;q4;;;;{marks[1]}"]


@pytest.mark.parametrize("clicked", ["2 1", "1 0.5 0", "1"])
def test_read_hand_drops_a_rubric_that_no_longer_fits(folder: Path, clicked: str) -> None:
    hand(folder, f"{HEAD}\nm-1,q4,1.5,,{clicked},\n")
    assert "<td class=points>3<td>A &lt;reason&gt;." in pages(folder)["m-1"]


def test_plain_cell_is_no_formula() -> None:
    assert [
        plain_cell(t) for t in ("a;=1", "a; \uff1d1", "\uff0b1", "a\n-1", "a;b-1", "1;-1;@x")
    ] == [*("a;'=1", "a; '\uff1d1", "'\uff0b1", "a\n'-1", "a;b-1", "1;'-1;'@x")]
    assert [plain_cell(t) for t in ("+1", "-1", "@x", "\tx", "a=1", 3)] == [
        *("'+1", "'-1", "'@x", "'\tx", "a=1", "3")
    ]
