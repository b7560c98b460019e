"""The scores of a class: a row for each student and assignment."""

from __future__ import annotations

from pathlib import Path

from classroom.goals import assignment_names, read_goals
from classroom.results import (
    complete_hand,
    facts,
    results,
    total,
    write_csv,
)

HEAD = ("student", "name", "assignment", "points", "of", "status", "late")
Row = dict[str, str]


def write_scores(folder: Path) -> Path:
    """Write ``scores.csv`` for all assignments that were collected, and give its place.

    Who is not graded, or not wholly, has no points: an empty cell, never a zero.

    Raises:
        ClassroomError: The points given by hand hold an error.
    """
    names = assignment_names()
    rows = [row for name in names for row in scores_of(folder, name)]
    questions = dict.fromkeys(q for name in names for q in read_goals(name).questions)
    head = [*HEAD, *sorted(questions)]
    file = folder / "scores.csv"
    write_csv(file, [head, *([row.get(column, "") for column in head] for row in rows)])
    waiting = sum(row["status"] != "graded" for row in rows)
    print(f"{file}: {len(rows)} rows, {waiting} of them without points yet")
    return file


def scores_of(folder: Path, name: str) -> list[Row]:
    """The row of each student who handed in an assignment: `HEAD`, and points a question."""
    goals = read_goals(name)
    hand, rows = complete_hand(folder, name, goals), []
    for result in results(folder, name):
        known = facts(folder, name, result["student"])
        points, status = total(result, goals, hand)
        rows.append(
            {
                "student": str(result["student"]),
                "name": str(known.get("name", "")),
                "assignment": name,
                "points": _number(sum(p or 0 for p in points.values()), status == "graded"),
                "of": _number(goals.points),
                "status": status,
                "late": {"True": "yes", "False": "no"}.get(str(known.get("late")), ""),
                **{q: "" if p is None else _number(p) for q, p in points.items()},
            }
        )
    return rows


def _number(points: float, known: bool = True) -> str:
    return f"{round(points, 2):g}" if known else ""
