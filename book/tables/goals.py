"""The goals of each question, for the teacher's guide: `python -m book.tables.goals TARGET`."""

from __future__ import annotations

import sys
from pathlib import Path

from calib_utils._files import write_text
from calib_utils.comparing import table
from classroom.goals import Goals, assignment_names, read_goals

KINDS = {"checked": "by the computer", "read": "by you"}


def section(goals: Goals) -> str:
    rows = (
        [question.name, question.goal, f"{question.points:g}", KINDS[question.kind]]
        for question in goals.questions.values()
    )
    chapters = ", ".join(f"{{doc}}`/notebooks/{chapter}`" for chapter in goals.chapters)
    about = (
        f"`{goals.name}`: {goals.points:g} points, {goals.minutes} minutes. Chapters: {chapters}."
    )
    graded = table(["question", "goal", "points", "graded"], rows)
    caption = f"The questions of *{goals.title}*, and what each is for."
    return (
        f"**{goals.title}.** {about}\n\n"
        f":::{{table}} {caption}\n:name: tab-goals-{goals.name}\n\n{graded}\n:::"
    )


if __name__ == "__main__":
    parts = [section(read_goals(name)) for name in assignment_names()]
    write_text(Path(sys.argv[1]), "\n\n".join(parts) + "\n")
