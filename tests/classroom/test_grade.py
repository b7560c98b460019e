"""A batch: the grader checks itself, goes on where it was, and gives the same scores again."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from classroom import ClassroomError, goals, grade
from classroom.bubblewrap import Limits
from classroom.grade import grade_class, read_assignment
from classroom.results import read_json
from tests.classroom.tiny_class import (
    CHECKS,
    FULL,
    Q1,
    Q2,
    STUBS,
    answers,
    hand_in,
    make_class,
    need_sandbox,
    points,
    write_notebook,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_class(tmp_path, monkeypatch)


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grader does not check itself, as it does in the other tests: that takes longest."""
    monkeypatch.setattr(grade, "check_grader", lambda *_: None)


def result(folder: Path, student: str) -> dict[str, Any]:
    return read_json(folder / "graded/tiny" / f"{student}.json")


def names(results: list[dict[str, Any]]) -> list[str]:
    return sorted(found["student"] for found in results)


@pytest.mark.usefixtures("trusted")
def test_grade_class_grades_only_what_is_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_sandbox()
    for student in ("ada", "bo", "cy"):
        hand_in(folder, student, answers(q2=STUBS[1]))
    assert names(grade_class(folder, "tiny", jobs=2)) == ["ada", "bo", "cy"]
    said = capsys.readouterr().out
    assert "[3/3]" in said
    assert "3 graded, 0 not graded" in said
    before = {s: result(folder, s) for s in ("ada", "bo", "cy")}
    assert grade_class(folder, "tiny") == []
    (folder / "graded/tiny/bo.json").unlink()  # as after an interruption
    hand_in(folder, "cy", answers())
    assert names(grade_class(folder, "tiny")) == ["bo", "cy"]
    assert result(folder, "ada") == before["ada"]
    assert result(folder, "bo")["questions"] == before["bo"]["questions"]
    assert points(result(folder, "cy")) == FULL
    assert names(grade_class(folder, "tiny", again=["ada"])) == ["ada"]
    assert names(grade_class(folder, "tiny", again=[], jobs=3)) == ["ada", "bo", "cy"]
    assert result(folder, "ada")["questions"] == before["ada"]["questions"]


@pytest.mark.usefixtures("trusted")
def test_grade_class_grades_anew_with_other_checks_or_another_secret(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    grade_class(folder, "tiny")
    (folder / "secret").write_bytes(b"quite another one")
    assert names(grade_class(folder, "tiny")) == ["ada"]
    (goals.ASSIGNMENTS / "tiny/checks.py").write_text(CHECKS + "\n# another\n", "utf-8")
    assert names(grade_class(folder, "tiny")) == ["ada"]
    assert grade_class(folder, "tiny") == []


@pytest.mark.usefixtures("trusted")
def test_grade_class_keeps_what_is_done_when_interrupted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    for student in ("ada", "bo", "cy"):
        hand_in(folder, student, answers())
    lines: list[str] = []

    def interrupt(found: dict[str, Any]) -> str:
        lines.append(found["student"])
        if len(lines) == 2:
            raise KeyboardInterrupt
        return ""

    right = grade.line_of
    monkeypatch.setattr(grade, "line_of", interrupt)
    with pytest.raises(KeyboardInterrupt):
        grade_class(folder, "tiny")
    monkeypatch.setattr(grade, "line_of", right)
    left = names(grade_class(folder, "tiny"))
    assert len(left) <= 1
    assert {path.stem for path in (folder / "graded/tiny").glob("*")} == {"ada", "bo", "cy"}


@pytest.mark.usefixtures("trusted")
def test_what_grades_a_student_is_deaf_to_the_keyboard(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())

    def interrupted(_: object, student: Path, *rest: object) -> dict[str, Any]:
        code = subprocess.run(["/bin/sh", "-c", "kill -INT $$"]).returncode
        return {"student": student.name, "status": "not graded", "reason": code, "seconds": 0.0}

    monkeypatch.setattr(grade, "grade_student", interrupted)
    assert [result["reason"] for result in grade_class(folder, "tiny")] == [0]


def test_check_grader_stops_at_a_reference_without_all_points(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    wrong = Q2.replace("[0]", "[0] + 1")
    write_notebook(folder / "teacher/tiny/tiny-0.ipynb", answers(q2=wrong))
    with pytest.raises(ClassroomError, match=r"wrong about itself: tiny-0.ipynb .* 'four bins'"):
        grade_class(folder, "tiny")
    assert not (folder / "graded").exists()


def test_check_grader_stops_at_a_stub_with_points(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    write_notebook(folder / "released/tiny/sheet-0/tiny-0.ipynb", answers(Q1, *STUBS[1:]))
    with pytest.raises(ClassroomError, match=r"tiny-0.ipynb has 1 of check 'fifty answers' of q1"):
        grade_class(folder, "tiny")


def test_a_bad_sheet_stops_nobody_who_has_another(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_sandbox()
    shutil.copytree(folder / "released/tiny/sheet-0", folder / "released/tiny/sheet-1")
    write_notebook(folder / "released/tiny/sheet-1/tiny-1.ipynb", answers(*STUBS))
    write_notebook(folder / "teacher/tiny/tiny-1.ipynb", answers(q2=Q2.replace("[0]", "[0] + 1")))
    hand_in(folder, "ada", answers(), sheet="0")
    hand_in(folder, "bo", answers(), sheet="1")
    hand_in(folder, "cy", b"", sheet="1", problem="The file is a PDF.")
    found = {result["student"]: result for result in grade_class(folder, "tiny")}
    said = capsys.readouterr().out
    assert "Nobody with sheet 1 is graded. The grader is wrong about itself: tiny-1.ipynb" in said
    assert points(found["ada"]) == FULL
    assert found["bo"]["status"] == "not graded"
    assert found["bo"]["reason"] == grade.WRONG_SHEET
    assert found["cy"]["reason"] == "The file is a PDF."
    # And once the sheet is right, they are graded.
    write_notebook(folder / "teacher/tiny/tiny-1.ipynb", answers())
    assert names(grade_class(folder, "tiny")) == ["bo", "cy"]
    assert points(result(folder, "bo")) == FULL


def test_a_sandbox_that_does_not_start_gives_no_zeros(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hand_in(folder, "ada", answers())
    program = tmp_path / "bin/bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(
        ClassroomError, match=r"graded\. The sandbox does not start: no namespaces here"
    ):
        grade_class(folder, "tiny")
    # Once the batch has begun, too.
    monkeypatch.setattr(grade, "check_grader", lambda *_: None)
    grade_class(folder, "tiny")
    assert result(folder, "ada")["status"] == "not graded"
    assert "no namespaces here" in result(folder, "ada")["reason"]
    assert "questions" not in result(folder, "ada")


@pytest.mark.usefixtures("trusted")
def test_a_fault_of_the_grader_is_no_zero_and_stops_nobody(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    for student in ("ada", "bo"):
        hand_in(folder, student, answers())
    right = grade.grade_submission

    def fault(assignment: grade.Assignment, file: Path) -> dict[str, Any]:
        if file.parent.name == "ada":
            raise ZeroDivisionError("ours")
        return right(assignment, file)

    monkeypatch.setattr(grade, "grade_submission", fault)
    grade_class(folder, "tiny")
    assert result(folder, "ada")["reason"] == "The grader failed: ZeroDivisionError('ours')"
    assert points(result(folder, "bo")) == FULL


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"q3", "one number"', '"q9", "one number"', "there must be checks for q1, q2, q3"),
        ("five bins", "four bins", "needs a name of its own"),
        ("close(np.arange(10) ** 2 + 0.5)", "close(1)", "one and the same answer"),
    ],
)
def test_read_assignment_names_checks_that_do_not_fit(
    folder: Path, old: str, new: str, message: str
) -> None:
    assert CHECKS.count(old) == 1
    (goals.ASSIGNMENTS / "tiny/checks.py").write_text(CHECKS.replace(old, new), "utf-8")
    with pytest.raises(ClassroomError, match=message):
        read_assignment(folder, "tiny", "0")


def test_grade_class_names_what_is_missing(folder: Path) -> None:
    (folder / "collected/tiny").rmdir()
    with pytest.raises(ClassroomError, match="collect tiny first"):
        grade_class(folder, "tiny")
    hand_in(folder, "ada", answers())
    with pytest.raises(ClassroomError, match="nobody with the id eve"):
        grade_class(folder, "tiny", again=["eve"])
    (folder / "teacher/tiny/tiny-0.ipynb").unlink()
    with pytest.raises(ClassroomError, match="release tiny to this class first"):
        grade_class(folder, "tiny")


@pytest.mark.usefixtures("trusted")
def test_no_page_tells_a_hidden_input_by_lengths_or_lines(folder: Path) -> None:
    """Two classes whose inputs differ: a function that tells them apart gives the same rows."""
    need_sandbox()
    lines = "\n".join(f"    if x[0] * 40 < {n}: return 1 / 0" for n in range(40))
    tells = "def gap(c, r):\n    return [0] * int(c[0] * 1000)"
    found = []
    for secret in (b"one of the two", b"the other one"):
        (folder / "secret").write_bytes(secret)
        hand_in(folder, "ada", answers(q1=tells, q2=f"def counts(x, n):\n{lines}"))
        [result] = grade_class(folder, "tiny")
        found.append([result["questions"][q]["checks"] for q in ("q1", "q2")])
    assert found[0] == found[1]
    assert found[0][1][0]["failure"] == {"kind": "exception", "type": "ZeroDivisionError"}


@pytest.mark.usefixtures("trusted")
def test_a_message_shows_no_path(folder: Path) -> None:
    need_sandbox()
    for student, cell in {
        "ada": "open('/home/student/a b/data.csv')",
        "bo": "open('/packages/numpy/x.py')",
        "cy": "raise ValueError('1/2 of /tmp/x and http://a.org/b')",
    }.items():
        hand_in(folder, student, [("code", cell), *answers()])
    messages = [found["cells"][0]["message"] for found in grade_class(folder, "tiny")]
    assert not [
        text for text in messages if "/home" in text or "/packages" in text or "/tmp" in text
    ]
    assert "x.py" in messages[1]


@pytest.mark.usefixtures("trusted")
def test_whose_time_is_over_is_graded_and_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of how the clock ends a submission see `test_run` and `test_sandbox`."""
    monkeypatch.setattr(grade, "Limits", lambda **_: Limits(wall_seconds=1e-9))
    hand_in(folder, "ada", answers())
    [found] = grade_class(folder, "tiny")
    assert (found["status"], found["late"]) == ("graded", 1e-9)
    assert sum(points(found).values()) == 0
    assert "ada: its 0 s were over before the last check" in capsys.readouterr().out
