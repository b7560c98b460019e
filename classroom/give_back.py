"""Give back: feedback in a zip under the platform's own names, and a table of grades with its ids.

Moodle takes the zip in "Upload multiple feedback files in a zip" and the table as a grading
worksheet; Canvas takes them in "Re-upload submissions" and as an import into the gradebook.
"""

from __future__ import annotations

import os
import zipfile
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any

from classroom import ClassroomError
from classroom.feedback import write_feedback
from classroom.goals import Goals, read_goals
from classroom.results import facts, write_csv
from classroom.scores import scores_of, write_scores


def give_back(folder: Path, name: str) -> list[Path]:
    """Write ``return/NAME-PLATFORM.zip`` and ``.csv`` for each platform of a class.

    The feedback and the scores are made anew first, so nothing old is given back.

    Args:
        folder: of the class.
        name: of the assignment.

    Returns:
        The files.

    Raises:
        ClassroomError: if nobody handed it in, or the points given by hand hold an error.
    """
    goals, students = read_goals(name), defaultdict(list)
    for score in scores_of(folder, name):
        found = facts(folder, name, score["student"])
        if found:
            students[found["platform"]].append((score, found))
    if not students:
        raise ClassroomError(f"nobody handed in {name} yet: collect it first")
    write_feedback(folder, name)
    write_scores(folder)
    files = []
    for platform, rows in sorted(students.items()):
        place = folder / "return" / f"{name}-{platform}"
        files += [
            _feedback(folder, name, rows, place.with_suffix(".zip")),
            _grades(platform, goals, rows, place.with_suffix(".csv")),
        ]
    return files


Rows = list[tuple[dict[str, str], dict[str, Any]]]


def _feedback(folder: Path, name: str, rows: Rows, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for score, found in rows:
            page = folder / "feedback" / name / f"{score['student']}.html"
            archive.write(page, returned_name(found))
    os.replace(part, target)
    return target


def returned_name(found: dict[str, Any]) -> str:
    """Where the platform looks for a student's feedback: its own name, and a page."""
    stem = PurePosixPath(found["file"]).stem
    return f"{found['prefix']}{stem}-feedback.html"


def _grades(platform: str, goals: Goals, rows: Rows, target: Path) -> Path:
    """The table that the platform imports; no points yet is an empty cell, never a zero."""
    if platform == "moodle":
        table = [
            ["Identifier", "Full name", "Grade", "Maximum Grade", "Last modified (grade)"],
            *(
                [f"Participant {found['number']}", found["name"], score["points"], score["of"], ""]
                for score, found in rows
            ),
        ]
    else:
        table = [
            ["Student", "ID", "SIS Login ID", "Section", goals.title],
            ["Points Possible", "", "", "", f"{goals.points:g}"],
            *([found["name"], found["number"], "", "", score["points"]] for score, found in rows),
        ]
    write_csv(target, table)
    return target
