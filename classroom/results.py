"""What the folder of a class holds about a student: facts, result, points given by hand."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from calib_utils._files import write_text
from classroom import ClassroomError
from classroom.goals import Goals

HAND = ("student", "question", "points", "comment", "rubric", "answer")
NEEDED = set(HAND) - {"rubric", "answer"}
# What begins a formula, also in full width; QUOTED is what `plain_cell` makes of it.
FORMULA = re.compile(r"(^|[;\t\r\n]\s*)(?=[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")
QUOTED = re.compile(FORMULA.pattern.replace("(?=", "'(?="))
WAITING = "waiting for hand grades"


@dataclass(frozen=True)
class HandGrade:
    """What a teacher wrote about one answer.

    Attributes:
        points: ``None`` until it is read.
        comment: For the student.
        rubric: The points of each row of the rubric, where they were clicked.
        answer: The hash of the answer that was read, see `answer_hash`; "" where nobody knows.
        before: What was written about an earlier answer of the same student. This one is unread,
            and the earlier points are no more than a proposal.
    """

    points: float | None = None
    comment: str = ""
    rubric: tuple[float, ...] = ()
    answer: str = ""
    before: HandGrade | None = None

    def of(self, answer: str) -> HandGrade:
        """The same about the answer that there is now: unread where it has changed since."""
        if self.answer == answer or not answer:
            return self
        if not self.answer or self.is_empty:
            return replace(self, answer=answer)
        return HandGrade(answer=answer, before=self)

    @property
    def is_empty(self) -> bool:
        return self.points is None and not self.comment


HandGrades = dict[tuple[str, str], HandGrade]


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON file of ours; an empty dictionary where there is none, or half of one."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that people can read, too."""
    write_text(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def students(folder: Path, name: str) -> list[Path]:
    """The folder of each student who handed something in, in the order of their ids."""
    place = folder / "collected" / name
    return sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []


def facts(folder: Path, name: str, student: str) -> dict[str, Any]:
    """What was found out when the submission was collected."""
    return read_json(folder / "collected" / name / student / "facts.json")


def results(folder: Path, name: str) -> list[dict[str, Any]]:
    """A result for each student who handed something in, also where nothing is graded yet.

    The result of an earlier notebook than the one that was collected is none. A file that has not
    changed is read once, because the page of marking asks after each click; leave what comes back
    as it is.
    """
    found = []
    for student in students(folder, name):
        file = folder / "graded" / name / f"{student.name}.json"
        found.append(_result(student, file, _state(file), _state(student / "submission.ipynb")))
    return found


def _state(file: Path) -> tuple[int, ...]:
    """What changes whenever a file is written or replaced."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


@lru_cache(5_000)
def _result(student: Path, file: Path, *_: tuple[int, ...]) -> dict[str, Any]:
    result = read_json(file)
    unknown = {"student": student.name, "status": "not graded", "reason": "Not graded yet."}
    return result if result.get("hashes", {}).get("submission") == submitted(student) else unknown


def submitted(student: Path) -> str:
    """The hash of what lies in the folder of a student, "" for nothing that can be graded."""
    file = student / "submission.ipynb"
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def answer_hash(result: dict[str, Any], question: str) -> str:
    """What tells an answer from a changed one; "" where nothing is graded.

    That of a written answer is the hash of its text. Of a question that the computer checks, it is
    that of the whole notebook.
    """
    if result.get("status") != "graded":
        return ""
    row = result["questions"].get(question, {})
    text = str(row["answer"]) if "answer" in row else result.get("hashes", {}).get("submission", "")
    return _hash(text)


@lru_cache(5_000)
def _hash(text: str) -> str:
    # A letter first, or a spreadsheet might take it for a number.
    return f"h{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:15]}"


def total(
    result: dict[str, Any], goals: Goals, hand: HandGrades
) -> tuple[dict[str, float | None], str]:
    """The points of each question, and the status of the whole.

    Args:
        result: Of a student.
        goals: Of the assignment.
        hand: All points given by hand.

    Returns:
        Points a question, ``None`` where nobody gave any yet; and ``"graded"``, `WAITING` or
        ``"not graded"``. Only what is graded has a sum.
    """
    student = str(result["student"])
    found: dict[str, float | None] = dict.fromkeys(goals.questions)
    if result["status"] != "graded":
        return found, "not graded"
    for question in goals.questions.values():
        checked = result["questions"].get(question.name, {}).get("points")
        given = hand.get((student, question.name))
        # A teacher has the last word, on a question that was checked, too.
        found[question.name] = given.points if given and given.points is not None else checked
    return found, WAITING if None in found.values() else "graded"


def plain_cell(text: Any) -> str:
    """A cell of a CSV file that no spreadsheet takes for a formula.

    Nor a part of it: where semicolons stand between columns, a cell ends at one.
    """
    return FORMULA.sub(r"\1'", "" if text is None else str(text))


def write_csv(file: Path, rows: Iterable[Iterable[Any]], delimiter: str = ",") -> None:
    """Write a table; with the mark that tells spreadsheets that it is UTF-8."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows([plain_cell(cell) for cell in row] for row in rows)
    write_text(file, text.getvalue(), "utf-8-sig")


def hand_file(folder: Path, name: str) -> Path:
    """Where a teacher writes points and comments."""
    return folder / "hand" / f"{name}.csv"


def complete_hand(folder: Path, name: str, goals: Goals) -> HandGrades:
    """Read the points given by hand; an answer that the table does not have gets a row there.

    What was written about an answer that has changed since is no longer about it, see `HandGrade`.

    Raises:
        ClassroomError: As `read_hand`.
    """
    hand = read_hand(folder, name, goals)
    found = {str(result["student"]): result for result in results(folder, name)}
    graded = [student for student, result in found.items() if result["status"] == "graded"]
    rows = {(s, q.name): HandGrade() for q in goals.to_read for s in graded} | hand
    rows = {(s, q): given.of(answer_hash(found[s], q)) for (s, q), given in rows.items()}
    if rows != hand:
        write_hand(folder, name, rows)
    return rows


def write_hand(folder: Path, name: str, hand: HandGrades) -> None:
    """Write the points given by hand, with the signs that the table had between its columns.

    What was written about an earlier answer stays, with the hash of that one.
    """
    file = hand_file(folder, name)
    sign = _delimiter(file.read_text("utf-8-sig")) if file.is_file() else ","

    def number(points: float) -> str:
        return f"{points:g}".replace(".", "," if sign == ";" else ".")

    rows = [HAND]
    for (student, question), known in hand.items():
        given = known.before if known.before and known.is_empty else known
        points = "" if given.points is None else number(given.points)
        clicked = " ".join(map(number, given.rubric))
        rows.append((student, question, points, given.comment, clicked, given.answer))
    write_csv(file, rows, sign)


def _delimiter(text: str) -> str:
    """Spreadsheets write semicolons where 1.5 is 1,5."""
    return ";" if ";" in text.split("\n", 1)[0] else ","


def rows_of(text: str) -> csv.DictReader[str]:
    """The rows of a table that somebody may have saved from a spreadsheet."""
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=_delimiter(text))


def read_hand(folder: Path, name: str, goals: Goals) -> HandGrades:
    """Read the points given by hand.

    Raises:
        ClassroomError: A row names nobody, no question, or points that there are not.
    """
    file = hand_file(folder, name)
    if not file.is_file():
        return {}
    handed_in = {student.name for student in students(folder, name)}
    found: HandGrades = {}
    try:
        text = file.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ClassroomError(f"{file}: save it as CSV in UTF-8") from None
    reader = rows_of(text)
    if missing := NEEDED - set(reader.fieldnames or ()):
        raise ClassroomError(f"{file}: the first line must name {', '.join(sorted(missing))}")
    for row in reader:
        place = f"{file}, line {reader.line_num}"
        student, question = (str(row[key] or "").strip() for key in ("student", "question"))
        if not student and not question:
            continue
        if student not in handed_in:
            raise ClassroomError(f"{place}: no student {student!r} handed in {name}")
        if question not in goals.questions:
            raise ClassroomError(f"{place}: no question {question!r} in {name}")
        if (student, question) in found:
            raise ClassroomError(f"{place}: {student} has points for {question} above already")
        most, rubric = goals.questions[question].points, goals.questions[question].rubric
        points = _points(str(row["points"] or ""), most, place)
        clicked = [_points(part, most, place) or 0.0 for part in (row.get("rubric") or "").split()]
        if len(clicked) != len(rubric) or sum(clicked) != points:
            clicked = []  # the points were changed by hand since
        comment = QUOTED.sub(r"\1", str(row["comment"] or "").strip())
        answer = str(row.get("answer") or "").strip()
        found[student, question] = HandGrade(points, comment, tuple(clicked), answer)
    return found


def _points(text: str, most: float, place: str) -> float | None:
    if not text.strip():
        return None
    try:
        points = float(text.replace(",", "."))
    except ValueError:
        points = math.nan
    if not 0 <= points <= most:
        raise ClassroomError(f"{place}: points must be from 0 to {most:g}, not {text.strip()!r}")
    return points
