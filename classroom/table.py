"""The table of points that a platform itself gave, with the points filled in.

Its columns have whatever names the platform gives them in its own language, so the table comes
back as it was: the same columns, the same rows. A row without points is left out, since an empty
cell might take away points that a student has.
"""

from __future__ import annotations

import csv
import io
import re
from itertools import takewhile
from pathlib import Path
from typing import Any

from calib_utils._files import write_text
from classroom import ClassroomError
from classroom.goals import Goals

# What Moodle calls the column of points in its grading worksheet, in some languages.
POINTS = {
    *("grade", "성적", "bewertung", "note", "calificación", "nota", "voto", "cijfer", "ocena"),
    *("评分", "成绩", "成績", "評点", "оценка"),
}
OWN_NAME = re.compile(r"\s*\([0-9]+\)$")  # Canvas: the number behind the name of an assignment
MAXIMUM = re.compile(r"MaxPoints:([0-9.]+)")  # Brightspace, in the name of the column

Student = tuple[dict[str, Any], str]  # facts, and points; "" for none


def fill(table: Path, target: Path, goals: Goals, students: list[Student], column: str = "") -> str:
    """Write a platform's table with the points of an assignment.

    Args:
        table: As it was downloaded, a CSV file.
        target: Where to write it.
        goals: Of the assignment.
        students: The facts and the points of each.
        column: The name of the column for the points. By default the one that has the title of
            the assignment in its name or is called as the assignment is, or Moodle's column of
            points.

    Returns:
        What to tell the teacher.

    Raises:
        ClassroomError: The table cannot be read, has no such column or another maximum, or nobody
            of the class is in it.
    """
    head, above, rows, sign = read_table(table)
    place = _column(head, goals.title, goals.name, column, table)
    _check_maximum(head, above, rows, place, goals, table)
    filled: set[int] = set()
    missing = []
    numbers, platform = _own_numbers(rows, students)
    unclaimed = [row for row in rows if all(row is not one for one in numbers.values())]
    for found, points in students:
        row = None
        if not numbers or found.get("platform") == platform:
            row = numbers.get(str(found["number"])) or _by_name(unclaimed, str(found["name"]))
        if row is None:
            missing.append(str(found["id"]))
        elif points:
            row[place] = points.replace(".", ",") if sign == ";" else points
            filled.add(id(row))
    if len(missing) == len(students):
        raise ClassroomError(f"{table} has nobody of the class: is it the table of another course?")
    written = io.StringIO()
    csv.writer(written, delimiter=sign).writerows(
        [head, *above, *(row for row in rows if id(row) in filled)]
    )
    write_text(target, written.getvalue(), "utf-8-sig")
    said = f"{target}: {len(filled)} rows with points; the column is {head[place]!r}"
    return said + (f"; not in the table: {', '.join(missing)}" if missing else "")


def read_table(table: Path) -> tuple[list[str], list[list[str]], list[list[str]], str]:
    """A platform's table: its head, the rows above the students, theirs, and what separates cells.

    Raises:
        ClassroomError: It cannot be read.
    """
    try:
        text = table.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClassroomError(f"{table} cannot be read as a CSV file in UTF-8: {error}") from None
    sign = max(",;\t", key=text.split("\n", 1)[0].count)
    head, *rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign)) or [[]]
    rows = [row for row in rows if len(row) == len(head)]
    # Canvas has rows above the students, and begins them so in every language.
    above = [*takewhile(lambda row: not row[0] or row[0].startswith("  "), rows)]
    return head, above, rows[len(above) :], sign


def _column(head: list[str], title: str, own: str, column: str, table: Path) -> int:
    if column and column in head:
        return head.index(column)
    wanted = {
        place
        for place, name in enumerate(head)
        if title.casefold() in name.casefold()
        or OWN_NAME.sub("", name).strip().casefold() in POINTS | {own.casefold()}
    }
    if column or len(wanted) != 1:
        raise ClassroomError(
            f"{table}: name the column for the points with --column; there are {', '.join(head)}"
        )
    return wanted.pop()


def _check_maximum(
    head: list[str],
    above: list[list[str]],
    rows: list[list[str]],
    place: int,
    goals: Goals,
    table: Path,
) -> None:
    """Compare the maximum with that of the platform: in the head, in a row above, or beside."""
    found = MAXIMUM.findall(head[place]) + [row[place] for row in above]
    beside = {row[place + 1] for row in rows if place + 1 < len(row)}
    found += beside if len(beside) == 1 and not above else []
    for text in found:
        try:
            most = float(text.replace(",", "."))
        except ValueError:
            continue
        if most != goals.points:
            raise ClassroomError(
                f"{table}: the maximum is {most:g} there and {goals.points:g} here; set it to "
                f"{goals.points:g} in the assignment's settings, and download the table again"
            )


def _own_numbers(
    rows: list[list[str]], students: list[Student]
) -> tuple[dict[str, list[str]], Any]:
    """The rows of one platform's students by their numbers, and the platform that has the most.

    On any other one, the same number or name may be somebody else's.
    """
    numbers: dict[Any, set[str]] = {}
    for found, _ in students:
        numbers.setdefault(found.get("platform"), set()).add(str(found["number"]))
    tables = {platform: _identifiers(rows, wanted) for platform, wanted in numbers.items()}
    best = max(tables, key=lambda platform: len(tables[platform]))
    return tables[best], best


def _identifiers(rows: list[list[str]], numbers: set[str]) -> dict[str, list[str]]:
    """The row of each number: by the column that has the most of them, as in "Participant 7"."""
    columns: list[dict[str, list[str]]] = [{}]
    for place in range(len(rows[0]) if rows else 0):
        cells = [(text, row) for row in rows for text in (row[place], row[place].split(" ")[-1])]
        columns.append({text: row for text, row in cells if text in numbers})
    return max(columns, key=len)


def _by_name(rows: list[list[str]], person: str) -> list[str] | None:
    """The only row that has all words of a name."""
    words = set(re.findall(r"\w+", person.casefold()))
    found = [row for row in rows if words <= set(re.findall(r"\w+", " ".join(row).casefold()))]
    return found[0] if words and len(found) == 1 else None
