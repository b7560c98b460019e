"""Pages that tell each student what happened, and run nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom.feedback import hints, sentence
from classroom.goals import Question
from tests.classroom.results_on_disk import (
    EVIL,
    FAILURES,
    HEAD,
    give,
    hand,
    hash_of,
    pages,
    scores,
    set_answer,
)
from tests.classroom.tiny_class import hand_in


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


def test_points_by_hand_join_the_others(folder: Path) -> None:
    assert scores(folder)["m-1"]["status"] == "waiting for hand grades"
    assert "Some answers are not read yet" in pages(folder)["m-1"]
    template = (folder / "hand/tiny.csv").read_text("utf-8-sig")
    marks = [hash_of(folder, student) for student in ("m-1", "m-2")]
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


def test_hints_are_none_of_what_is_not_written() -> None:
    question = Question("q1", "checked", 2, "", "", hint="Subtract.")
    failures = [
        {"kind": "missing", "function": "gap"},
        {"kind": "exception", "type": "NotImplementedError"},
        {"kind": "exception", "type": "ValueError"},
    ]
    for failure, said in zip(failures, ([], [], ["Mind it.", "Subtract."]), strict=True):
        checks = [{"hint": hint, "failure": failure} for hint in ("Mind it.", "", "Mind it.")]
        assert hints(question, {"checks": checks}) == said


def test_write_feedback_says_which_points_by_hand_do_not_count(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And counts as unread what the page of marking shows."""
    hand(folder, f"{HEAD}\nm-1,q2,3,Ours,,\nm-1,q4,2,,,\nm-2,q4,1,,,\nm-3,q4,4,,,\n")
    pages(folder)
    not_graded = "m-3 is not graded: the points by hand for q4 do not count"
    assert capsys.readouterr().out.splitlines()[1:] == [not_graded]
    hand_in(folder, "m-1", b"a later one")
    give(folder, "m-1")
    set_answer(folder, "m-2", "A second try.")
    pages(folder)
    _, *said, left = capsys.readouterr().out.splitlines()
    assert said[0].startswith("m-1 has handed in again: what you gave by hand for q2 no longer")
    assert said[1:] == [not_graded]
    assert left.startswith("1 answers are left to read, 1 of them changed")
