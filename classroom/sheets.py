"""Which sheet each student has, drawn from the class's secret: the table ``CLASS/sheets.csv``.

Without such a table, students take the sheet of the last digit of their number, and nothing is
checked.
"""

from __future__ import annotations

from pathlib import Path

from classroom.results import write_csv
from classroom.secret import generator, read_secret
from classroom.table import find_row, read_table
from classroom.variants import SHEETS


def draw_sheets(folder: Path, table: Path) -> Path:
    """Draw a sheet for each student in a platform's table of the class.

    Who is in the table twice, or again in a later one, has the same sheet.

    Raises:
        ClassroomError: if the table cannot be read.
    """
    head, _, rows, _ = read_table(table)
    secret, found = read_secret(folder), []
    for row in rows:
        drawn = generator(secret, "student", *row[:2]).choice(SHEETS)
        found.append([*row, f"{drawn}"])
    write_csv(folder / "sheets.csv", [[*head, "sheet"], *found])
    return folder / "sheets.csv"


def drawn_sheets(folder: Path) -> list[list[str]]:
    """The rows of the students in that table, none where there is no table."""
    file = folder / "sheets.csv"
    return read_table(file)[2] if file.is_file() else []


def sheet_for(drawn: list[list[str]], number: str, person: str) -> str:
    """The sheet that was drawn for a student, "" where the rows have no such student."""
    row = find_row([known for *known, _ in drawn], number, person)
    return next((sheet for *known, sheet in drawn if known == row), "")
