"""The weeks of the course for the teacher's guide: `python -m book.tables.syllabus TARGET`.

A chapter a week, in the order of `_toc.yml`; an assignment is given out with the last chapter that
it needs. Minutes are counted from the chapter: words, and lines of code that are shown.
"""

from __future__ import annotations

import sys
from pathlib import Path

from calib_utils._files import write_text
from calib_utils.comparing import table
from classroom.goals import Goals, assignment_names, read_goals
from tools.sources.book import Book
from tools.sources.reading_time import SECONDS_PER_LINE, WORDS, exercise_times, reading_time


def given_out(book: Book) -> dict[str, list[Goals]]:
    """The assignments by the last chapter that each needs."""
    order = [page.removeprefix("notebooks/") for page in book.chapters]
    found: dict[str, list[Goals]] = {}
    for goals in map(read_goals, assignment_names()):
        last = max(goals.chapters, key=order.index)
        found.setdefault(f"notebooks/{last}", []).append(goals)
    return found


def syllabus(book: Book) -> str:
    assignments = given_out(book)
    rows = []
    for page, week in book.pages.items():
        if week is None:
            continue
        source = book.source(page)
        times = exercise_times(source)
        given = "; ".join(
            f"{goals.title} (`{goals.name}`, {goals.minutes} minutes)"
            for goals in assignments.get(page, [])
        )
        place = f"../slides/{Path(page).name}"
        deck = f'<a href="{place}.html">slides</a>, <a href="{place}-teacher.html">notes</a>'
        exercises = f"{len(times)}, {sum(times)} min"
        row = [week, f"{{doc}}`/{page}`", reading_time(source), exercises]
        rows.append([*row, deck, given])
    head = ["week", "chapter", "minutes to read", "exercises", "slides", "given out"]
    note = (
        f"Minutes to read are counted at {WORDS} words a minute and {SECONDS_PER_LINE} seconds for "
        "each line of code. Each exercise says how long it takes."
    )
    weeks = f":::{{table}} A chapter a week.\n:name: tab-weeks\n\n{table(head, rows)}\n:::"
    return f"{weeks}\n\n{note}\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), syllabus(Book()))
