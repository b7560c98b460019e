"""A batch: the grader checks itself, goes on where it was, and gives the same scores again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_class import (
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

from classroom import ClassroomError, bubblewrap, goals, grade
from classroom.bubblewrap import Limits
from classroom.checks import Check, Raised, close, equal, partly, raises
from classroom.grade import grade_class, read_assignment
from classroom.inside import MAX_ITEMS, NotPlain, decode, encode
from classroom.judge import CONSTANTS, guessable, kind, mark
from classroom.results import read_json
from classroom.run import Outcome, raised
from classroom.submission import defined


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_class(tmp_path, monkeypatch)


def result(folder: Path, student: str) -> dict[str, Any]:
    return read_json(folder / "graded/tiny" / f"{student}.json")


def names(results: list[dict[str, Any]]) -> list[str]:
    return sorted(found["student"] for found in results)


def test_only_what_is_left_is_graded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_other_checks_or_another_secret_mean_another_result(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    grade_class(folder, "tiny")
    (folder / "secret").write_bytes(b"quite another one")
    assert names(grade_class(folder, "tiny")) == ["ada"]
    (goals.ASSIGNMENTS / "tiny/checks.py").write_text(CHECKS + "\n# another\n", "utf-8")
    assert names(grade_class(folder, "tiny")) == ["ada"]
    assert grade_class(folder, "tiny") == []


def test_an_interrupted_batch_keeps_what_is_done(
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


# A teacher presses Ctrl-C: the terminal sends it to all processes of its group.
BATCH = """
import sys, pathlib, pytest
sys.path.insert(0, sys.argv[2])
from tiny_class import answers, hand_in, make_class
from classroom.grade import grade_class
folder = make_class(pathlib.Path(sys.argv[1]), pytest.MonkeyPatch())
for number in range(20):
    hand_in(folder, f"s{number:02d}", answers())
grade_class(folder, "tiny", jobs=2)
"""


def test_an_interrupt_from_the_keyboard_gives_no_zeros(tmp_path: Path) -> None:
    need_sandbox()
    here = Path(__file__).parent
    line = [sys.executable, "-c", BATCH, str(tmp_path), str(here)]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, text=True, start_new_session=True, cwd=here.parents[1]
    ) as batch:
        assert batch.stdout is not None
        assert next(line for line in batch.stdout if line.startswith("[1/20]"))
        os.killpg(batch.pid, signal.SIGINT)
        batch.communicate()
    assert batch.returncode != 0
    found = [read_json(file) for file in (tmp_path / "class/graded/tiny").glob("*.json")]
    assert 0 < len(found) < 20
    assert all(points(result) == FULL for result in found)


def test_what_grades_a_student_is_deaf_to_the_keyboard(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())

    def interrupted(assignment: grade.Assignment, student: Path, file: Path) -> dict[str, Any]:
        code = subprocess.run(["/bin/sh", "-c", "kill -INT $$"]).returncode
        return {"student": student.name, "status": "not graded", "reason": code, "seconds": 0.0}

    monkeypatch.setattr(grade, "grade_student", interrupted)
    assert [result["reason"] for result in grade_class(folder, "tiny")] == [0]


def test_a_reference_without_all_points_stops_everything(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    wrong = Q2.replace("[0]", "[0] + 1")
    write_notebook(folder / "teacher/tiny/tiny-0.ipynb", answers(q2=wrong))
    with pytest.raises(ClassroomError, match=r"wrong about itself: tiny-0.ipynb .* 'four bins'"):
        grade_class(folder, "tiny")
    assert not (folder / "graded").exists()


def test_a_stub_with_points_stops_everything(folder: Path) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    write_notebook(folder / "released/tiny/sheet-0/tiny-0.ipynb", answers(Q1, *STUBS[1:]))
    with pytest.raises(ClassroomError, match=r"tiny-0.ipynb has 1 of check 'fifty answers' of q1"):
        grade_class(folder, "tiny")


def test_a_sandbox_with_a_wrong_order_of_mounts_gives_no_zeros(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    hand_in(folder, "ada", answers())
    right = bubblewrap._mounts

    def no_files(*arguments: Any) -> list[str]:  # it starts, but the data are hidden
        options = right(*arguments)
        return [*options[:-6], "--tmpfs", bubblewrap.HOME, *options[-6:]]

    monkeypatch.setattr(bubblewrap, "_mounts", no_files)
    with pytest.raises(ClassroomError, match="wrong about itself"):
        grade_class(folder, "tiny")
    assert not (folder / "graded").exists()


def test_a_sandbox_that_does_not_start_gives_no_zeros(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hand_in(folder, "ada", answers())
    program = tmp_path / "bin/bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(ClassroomError, match=r"Nothing is graded\. .*no namespaces here"):
        grade_class(folder, "tiny")
    # Once the batch has begun, too.
    monkeypatch.setattr(grade, "check_grader", lambda assignment: None)
    grade_class(folder, "tiny")
    assert result(folder, "ada")["status"] == "not graded"
    assert "no namespaces here" in result(folder, "ada")["reason"]
    assert "questions" not in result(folder, "ada")


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
def test_checks_that_do_not_fit_are_named(folder: Path, old: str, new: str, message: str) -> None:
    assert CHECKS.count(old) == 1
    (goals.ASSIGNMENTS / "tiny/checks.py").write_text(CHECKS.replace(old, new), "utf-8")
    with pytest.raises(ClassroomError, match=message):
        read_assignment(folder, "tiny", "0")


def test_what_is_missing_is_named(folder: Path) -> None:
    with pytest.raises(ClassroomError, match="nobody with the id eve"):
        grade_class(folder, "tiny", again=["eve"])
    (folder / "teacher/tiny/tiny-0.ipynb").unlink()
    with pytest.raises(ClassroomError, match="release tiny to this class first"):
        grade_class(folder, "tiny")


@pytest.mark.parametrize(
    "value",
    [
        None, True, -3, 0.1, "신뢰", [1, [2.5, "x"]], {"a": {"b": []}}, [], {},
        np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(2.5, np.float32), np.array([True]),
    ],
)  # fmt: skip
def test_plain_data_comes_back_as_it_was(value: Any) -> None:
    found = decode(json.loads(json.dumps(encode(value))))
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)
    if isinstance(value, np.ndarray):
        assert (found.dtype, found.shape) == (value.dtype, value.shape)


def test_numbers_that_are_not_finite_come_back() -> None:
    found = decode(json.loads(json.dumps(encode([np.nan, np.inf, np.array([-np.inf])]))))
    np.testing.assert_equal(found, [np.nan, np.inf, np.array([-np.inf])])


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({1, 2}, "type"), (1j, "type"), (object, "type"), ({1: 2}, "type"), (b"x", "type"),
        (np.array([1j]), "type"), (10**400, "large"), ([0] * (MAX_ITEMS + 1), "large"),
        (np.zeros(MAX_ITEMS + 1), "large"), (np.array([object()]), "type"),
    ],
)  # fmt: skip
def test_other_data_does_not_leave(value: Any, word: str) -> None:
    with pytest.raises(NotPlain, match=word):
        encode(value)


@pytest.mark.parametrize(
    "array",
    [
        {"array": [1], "dtype": "object", "shape": [1]},
        {"array": [1], "dtype": "U1000000000", "shape": [1]},
        {"array": [[1], [2, 3]], "dtype": "int64", "shape": [2]},
        {"array": [1], "dtype": "int64", "shape": [-1]},
        {"array": [1], "dtype": "int64", "shape": [10**12]},
        {"array": [], "dtype": "int64", "shape": [0, 10**12]},
        {"array": ["1"], "dtype": "float64", "shape": [1]},
        {"array": [10**30], "dtype": "int64", "shape": [1]},
        {"array": 3, "dtype": ["int64"], "shape": None},
    ],
)
def test_what_only_claims_to_be_an_array_is_none(array: dict[str, Any]) -> None:
    with pytest.raises(NotPlain):
        decode(array)


def test_no_more_comes_out_than_may() -> None:
    array = {"array": [0] * MAX_ITEMS, "dtype": "int8", "shape": [MAX_ITEMS]}
    for value in ([[]] * (MAX_ITEMS + 1), [array, array], {"a": [[0]] * MAX_ITEMS}):
        with pytest.raises(NotPlain, match="large"):
            decode(value)


def test_judges() -> None:
    assert close([1, 2])(np.array([1.0, 2.0 + 1e-9]))
    assert close(np.nan)(float("nan"))
    assert not close([1, 2])([1, 2, 3])
    assert not close(1.0)(True)
    assert not close(1.0)("1")
    assert not close([1.0, 2.0])([[1.0, 2.0]])
    assert equal({"b": [1], "a": "x"})({"a": "x", "b": (1,)})
    assert not equal(1)(True)
    assert not equal(0)(None)
    assert raises(ValueError)(Raised("UnicodeError", ("ValueError",)))
    assert not raises(Exception)(Raised("NotImplementedError", ("Exception",)))
    assert not raises(ValueError)("ValueError")


@pytest.mark.parametrize("judge", [close(0.25), equal([1, 2]), raises(ValueError), lambda a: a > 3])
@pytest.mark.parametrize(
    "answer", [*CONSTANTS[:3], "x", [1, "a"], [[1], 2], {"a": 1}, np.zeros((3, 0)), 10**300, [[]]]
)
def test_no_answer_upsets_a_judge(judge: Any, answer: Any) -> None:
    check = Check("q", "name", "f", (), judge)
    assert 0 <= mark([(check, Outcome(answer))], 1)["points"] <= 1


def test_one_answer_for_everything_earns_nothing_but_real_ones_keep_all() -> None:
    checks = [Check("q", str(n), "f", (n,), equal(n == 2)) for n in range(4)]
    assert not guessable(checks)

    def earned(answers: list[Any]) -> float:
        return mark([(c, Outcome(a)) for c, a in zip(checks, answers, strict=True)], 4)["points"]

    assert earned([False] * 4) == earned([True] * 4) == earned([None] * 4) == 0
    assert earned([False, False, True, False]) == 4
    assert earned([3, 3, True, 3]) == 1  # a right answer is no guess beside other ones
    assert earned([True, False, True, False]) == 3


def test_a_judge_may_give_a_part_but_never_more_than_all() -> None:
    for said, share in ((0.25, 0.25), (7, 1), (-1, 0), (float("nan"), 0)):
        check = Check("q", "n", "f", (), lambda a, said=said: said if a == 99 else 0)
        assert mark([(check, Outcome(99))], 2)["points"] == 2 * share


def test_what_is_right_in_part_has_its_own_hint() -> None:
    judge = partly(close(2.5), close(-2.5))
    check = Check("q", "n", "f", (), judge, hint="Read it.", misread="Mind the sign.")
    for answer, share, hint in [(2.5, 1, ""), (-2.5, 0.5, "Mind the sign."), (3, 0, "Read it.")]:
        row = mark([(check, Outcome(answer))], 4)["checks"][0]
        assert (row["share"], row["hint"] if row["failure"] else "") == (share, hint)


def test_an_exception_is_an_answer_only_where_one_is_expected() -> None:
    check = Check("q", "n", "f", (), lambda answer: True)
    error = Outcome(
        raised=Raised("ValueError"), failure={"kind": "exception", "type": "ValueError"}
    )
    marked = mark([(check, error)], 2)
    assert marked["points"] == 0
    assert [row["failure"] for row in marked["checks"]] == [error.failure]


def test_who_raises_always_earns_nothing() -> None:
    """Where all checks that were passed expect an exception, one answer passes them."""
    checks = [Check("q", str(n), "f", (n,), raises(ValueError)) for n in range(2)]
    checks.append(Check("q", "2", "f", (2,), equal(4)))
    error = Outcome(
        raised=Raised("ValueError", ("Exception", "BaseException", "object")),
        failure={"kind": "exception", "type": "ValueError"},
    )

    def earned(*outcomes: Outcome) -> float:
        return mark(list(zip(checks, outcomes, strict=False)), 3)["points"]

    assert guessable(checks[:2])
    assert not guessable(checks)
    assert earned(error, error) == earned(error, error, error) == 0
    assert earned(error, error, Outcome(4)) == 3


@pytest.mark.parametrize(
    "described", [None, [], {}, {"types": 3}, {"types": [None, "1234", "print", "int"]}, "x"]
)
def test_only_names_of_built_in_exceptions_come_out(described: Any) -> None:
    assert raised(described) == Raised("Exception")


def test_kinds_tell_no_value_and_no_length() -> None:
    found = {
        kind(v) for n in (3, 4) for v in (n, n / 8, "x" * n, [n] * n, {"n" * n: n}, np.ones(n))
    }
    assert found == {"a number", "a text", "a list", "a dictionary", "an array"}


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


# As if it had used up its processor time.
ENDS_ITSELF = "import os, signal, time\ntime.sleep(30)\nos.kill(os.getpid(), signal.SIGXCPU)"


@pytest.mark.thorough
def test_a_wall_clock_ends_a_submission_but_not_one_that_computes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_sandbox()
    monkeypatch.setattr(grade, "Limits", lambda **_: Limits(step_seconds=1, wall_seconds=60))
    sleeps = [("code", "import time\ntime.sleep(20)")] * 4
    hand_in(folder, "ada", [*sleeps, *answers()])
    loops = [("code", "while True:\n    pass")]
    hand_in(folder, "bo", [*loops, *answers(q2="def counts(x, n):\n    while True: pass")])
    monkeypatch.setattr(grade, "check_grader", lambda assignment: None)
    hand_in(folder, "cy", [("code", ENDS_ITSELF)] * 4 + answers())
    ada, bo, cy = sorted(grade_class(folder, "tiny", jobs=3), key=lambda found: found["student"])
    for found in (ada, cy):
        assert found["status"] == "not graded"
        assert "more than 60 s" in found["reason"]
        assert found["seconds"] < 100
    assert points(bo) == {**FULL, "q2": 0.0}


def test_what_a_cell_defines() -> None:
    assert defined("def f(x):\n    y = 1\nclass C: pass\na = b = 3; 1 == 2") == {"f", "C", "a", "b"}
    assert defined("f == 3\nprint(x=1)\n(" + "(" * 100_000) == set()
    assert {"f", "z"} <= defined("def f(x):\n  return (\nz = 3\n")
    assert defined("print(") == set()
