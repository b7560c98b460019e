"""Feedback: a page for each student, that loads and runs nothing.

Of a hidden check it tells what kind of thing happened and where in the student's own code, never
a value that went in or came out: such messages would show the hidden inputs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calib_utils._files import write_text
from classroom.goals import Goals, Question, read_goals
from classroom.page import page
from classroom.results import HandGrades, complete_hand, facts, hand_file, results, total

MOST_CELLS = 20  # failed cells that a page names
ENDED = {
    "time": "took more than {seconds:g} seconds of processor time",
    "memory": "took more memory than there is",
    "large": "answered more than can be read",
    "exit": "ended the whole process",
    "forged": "wrote into the pipe of the grader",
    "late": "was not answered before the time of the whole notebook was over",
    "before": "was not called any more: calls for this question had ended the process",
}
NOT_PLAIN = {
    "type": "returned something other than numbers, texts, lists, dictionaries or arrays",
    "deep": "returned lists that are nested too deeply",
    "large": "returned more than can be read",
}


def write_feedback(folder: Path, name: str) -> list[Path]:
    """Write a page for each student who handed in an assignment.

    Raises:
        ClassroomError: There is no such assignment, or the points given by hand hold an error.
    """
    goals = read_goals(name)
    hand, written = complete_hand(folder, name, goals), []
    found = results(folder, name)
    for result in found:
        student = str(result["student"])
        person = str(facts(folder, name, student).get("name") or student)
        file = folder / "feedback" / name / f"{student}.html"
        write_text(file, student_page(goals, result, hand, person))
        written.append(file)
    print(f"{len(written)} pages are in {folder / 'feedback' / name}")
    graded = {str(result["student"]) for result in found if result["status"] == "graded"}
    to_read = [question.name for question in goals.to_read]
    for (student, question), given in hand.items():
        if student not in graded and given.points is not None:
            print(f"{student} is not graded: the points by hand for {question} do not count")
        elif question not in to_read and given.before:
            print(
                f"{student} has handed in again: what you gave by hand for {question} no longer "
                f"counts. To keep it, empty the last cell of its row in {hand_file(folder, name)}"
            )
    shown = [hand[student, question] for student in graded for question in to_read]
    if left := sum(given.points is None for given in shown):
        changed = sum(given.before is not None for given in shown)
        since = f", {changed} of them changed since you read them" if changed else ""
        command = f"classroom mark {name} --class {folder}"
        print(f"{left} answers are left to read{since}: {command}")
    return written


def student_page(goals: Goals, result: dict[str, Any], hand: HandGrades, person: str) -> str:
    """The page of one student."""
    points, status = total(result, goals, hand)
    return page(
        "student",
        f"{goals.title}: {person}",
        goals=goals,
        result=result,
        hand=hand,
        points=points,
        status=status,
        earned=sum(p for p in points.values() if p is not None),
        cells=result.get("cells", []),
        most_cells=MOST_CELLS,
        sentence=sentence,
        hints=hints,
    )


def hints(question: Question, row: dict[str, Any]) -> list[str]:
    """The hints of the checks that failed, each once; none where nothing is written yet."""
    failed = [
        check
        for check in row.get("checks", [])
        if (failure := check["failure"])
        and failure["kind"] != "missing"
        and failure.get("type") != "NotImplementedError"
    ]
    return list(dict.fromkeys(filter(None, (check["hint"] or question.hint for check in failed))))


def sentence(failure: dict[str, Any] | None, seconds: float) -> str:
    """What happened in a check, or in a cell, without any value.

    Args:
        failure: As the result file has it.
        seconds: Of processor time that there are for a step.
    """
    if failure is None:
        return ""
    kind, what = failure["kind"], "Your code"
    if kind == "exception":
        if failure["type"] == "NotImplementedError":
            return f"Not written yet{_where(failure)}."
        return f"{what} raised {failure['type']}{_where(failure)}."
    if kind == "wrong":
        return f"{what} returned {failure['what']}, and this is not right."
    if kind == "part":
        return f"{what} returned {failure['what']}, and this is right in part."
    if kind == "missing":
        return f"There is no {failure['function']}: no cell defines it, or that cell failed."
    if kind == "guess":
        return (
            "This was right, but your function gave this same answer every time. "
            "It counts once the function gives different ones."
        )
    words = ENDED if kind == "ended" else NOT_PLAIN
    return f"{what} {words[failure['why']].format(seconds=seconds)}."


def _where(failure: dict[str, Any]) -> str:
    if "line" not in failure:
        return ""
    return f", in code cell {failure['cell']}, line {failure['line']}: {failure['code']}"
