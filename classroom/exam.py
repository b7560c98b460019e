"""The mid-term: fifteen short questions with numbers from the class's secret, and a key."""

from __future__ import annotations

from html import escape
from pathlib import Path

from assignments.midterm.questions import QUESTIONS
from classroom.feedback import page
from classroom.secret import generator, read_secret
from tools.sources.atomic import write_text

EACH = 2  # points: one for the result, one for the reason


def write_exam(folder: Path, version: str = "A") -> tuple[Path, Path]:
    """Write the questions and the key, as pages to print.

    Args:
        folder: Of the class.
        version: Its name; each name has numbers of its own.

    Returns:
        ``teacher/midterm-VERSION.html`` and ``teacher/midterm-VERSION-key.html``.

    Raises:
        ClassroomError: The class has no secret yet.
    """
    rng = generator(read_secret(folder), "midterm", version)
    drawn = [question(rng) for question in QUESTIONS]
    title = f"Mid-term, version {version}"
    rules = f"<p>{len(drawn)} questions, {EACH} points each: a point for the result, one for how "
    rules += "you found it or for the reason. You may use a pocket calculator.</p>"
    asked = [f"<li class=exam>{escape(text)}" for text, _ in drawn]
    keys = [f"<li>{escape(text)}<p class=good>{escape(key)}</p>" for text, key in drawn]
    files = []
    for name, body in {"": asked, "-key": keys}.items():
        file = folder / "teacher" / f"midterm-{version}{name}.html"
        write_text(file, page(title, [rules, "<ol>", *body, "</ol>"]))
        files.append(file)
    return files[0], files[1]
