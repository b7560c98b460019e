"""Who is who in a term: one number for a student in all assignments, in ``CLASS/students.csv``.

Canvas, Brightspace and Gradescope give a student one number for good. Moodle numbers anew what is
handed in to each assignment, so there it is the name that tells, unless two students share it. A
teacher may correct a number in the table; what stands there stays.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from pathlib import Path

from classroom import ClassroomError
from classroom.results import facts, rows_of, students, write_csv

HEAD = ("number", "name", "student")
Numbers = dict[str, int]  # by the id of a student, such as "moodle-1234567"


def read_numbers(file: Path) -> Numbers:
    """The numbers that the table of a class has.

    Raises:
        ClassroomError: The table has no such columns, or a number that is none.
    """
    text = file.read_text("utf-8-sig") if file.is_file() else ",".join(HEAD)
    try:
        return {row["student"]: int(row["number"]) for row in rows_of(text)}
    except (KeyError, TypeError, ValueError):
        raise ClassroomError(
            f"{file}: it needs the columns {', '.join(HEAD)}, and a whole number in each row"
        ) from None


def number_students(folder: Path, names: list[str]) -> Numbers:
    """Give everybody who handed something in a number, and write the table.

    Args:
        folder: Of the class.
        names: The assignments, in the order in which they are looked through.

    Returns:
        The number of each id.
    """
    file = folder / "students.csv"
    numbers = read_numbers(file)
    people: dict[str, str] = {}
    by_name: dict[str, set[int]] = defaultdict(set)  # of students on Moodle
    for name in names:
        called: dict[str, list[str]] = defaultdict(list)
        for id in [student.name for student in students(folder, name)]:
            found = facts(folder, name, id)
            people[id] = str(found.get("name") or "")
            called[folded(people[id]) if found.get("platform") == "moodle" else ""].append(id)
        for who, ids in called.items():
            same = by_name[who]
            alone = len(ids) == len(same) == 1
            new = [id for id in ids if id not in numbers]
            for id in new:
                numbers[id] = min(same) if alone else max(numbers.values(), default=0) + 1
            if new and same and not alone:
                print(f"{file}: several are called {people[ids[0]]}; correct their numbers there")
            if who:
                same.update(numbers[id] for id in ids)
    rows = sorted((numbers[id], person, id) for id, person in people.items())
    write_csv(file, [HEAD, *rows])
    return numbers


def folded(person: str) -> str:
    """A name, however it was typed."""
    return " ".join(unicodedata.normalize("NFKC", person).casefold().split())
