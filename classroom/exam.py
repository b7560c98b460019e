"""The mid-term: fifteen short questions with numbers from the class's secret, and a key."""

from __future__ import annotations

from pathlib import Path

from calib_utils._files import write_text
from classroom.assignments.midterm.questions import QUESTIONS
from classroom.page import page
from classroom.secret import generator, read_secret

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
    files = []
    for name, keys in {"": False, "-key": True}.items():
        file = folder / "teacher" / f"midterm-{version}{name}.html"
        title = f"Mid-term, version {version}"
        write_text(file, page("exam", title, questions=drawn, each=EACH, keys=keys))
        files.append(file)
    return files[0], files[1]
