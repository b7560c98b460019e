"""Give back: feedback in a zip under the platform's own names, and its own table with the points.

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
from classroom.goals import read_goals
from classroom.platforms import PLATFORMS
from classroom.results import facts
from classroom.scores import scores_of, write_scores
from classroom.table import Student, fill


def give_back(folder: Path, name: str, table: Path | None = None, column: str = "") -> list[Path]:
    """Write ``return/NAME-PLATFORM.zip`` for each platform of a class, and fill in its table.

    The feedback and the scores are made anew first, so nothing old is given back.

    Args:
        folder: of the class.
        name: of the assignment.
        table: the platform's own table of points, as it was downloaded.
        column: the name of its column for the points, see `fill`.

    Returns:
        The zips.

    Raises:
        ClassroomError: if nobody handed it in, the points given by hand hold an error, or the table
            does not fit.
    """
    goals, students = read_goals(name), defaultdict(list)
    scores = scores_of(folder, name)
    for score in scores:
        found = facts(folder, name, score["student"])
        if found.get("platform") not in PLATFORMS:
            raise ClassroomError(
                f"{score['student']} is of an unknown platform: collect {name} anew; there are "
                f"{', '.join(PLATFORMS)}"
            )
        students[found["platform"]].append((found, score["points"]))
    if not students:
        raise ClassroomError(f"nobody handed in {name} yet: collect it first")
    write_feedback(folder, name)
    write_scores(folder)
    place = folder / "return"
    files = [
        _feedback(folder, name, rows, place / f"{name}-{platform}.zip")
        for platform, rows in sorted(students.items())
        if platform != "gradescope"  # which takes no pages back
    ]
    if table is None:
        print(
            f"The maximum to set on the platform is {goals.points:g}. For the points, download its "
            "own table of grades and add --table FILE."
        )
    else:
        everyone = [student for rows in students.values() for student in rows]
        print(fill(table, place / f"{name}-points.csv", goals, everyone, column))
    return files


def _feedback(folder: Path, name: str, rows: list[Student], target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for found, _ in rows:
            page = folder / "feedback" / name / f"{found['id']}.html"
            archive.write(page, returned_name(found))
    os.replace(part, target)
    return target


def returned_name(found: dict[str, Any]) -> str:
    """Where the platform looks for a student's feedback: its own name, and a page."""
    stem = PurePosixPath(found["file"]).stem
    return f"{found['prefix']}{stem}-feedback.html"
