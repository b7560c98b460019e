"""Three made-up students, with whom a teacher tries all commands before the term begins."""

from __future__ import annotations

import zipfile
from pathlib import Path

import nbformat

from classroom import ClassroomError
from classroom.goals import read_goals
from classroom.notebooks import notebook
from classroom.results import write_csv
from classroom.secret import read_secret
from classroom.variants import PUBLISHED

# By their numbers, whose last digit is that of their sheet.
STUDENTS = {101: "Jiwoo Kim", 102: "Ada L", 103: "Bo N"}
IN_WORDS = (
    "My number is 0.13, on 60 images. Chance alone would give 0.12, so I would not rely on it."
)


def rehearse(folder: Path, name: str) -> list[Path]:
    """Write what the three hand in, as Moodle exports it, and Moodle's table of grades.

    Jiwoo hands in the solution of her sheet, with a made-up answer where words are asked. Ada has
    pasted the published solution into hers, and Bo hands in a PDF.

    Returns:
        ``rehearsal/moodle.zip`` and ``rehearsal/worksheet.csv``.

    Raises:
        ClassroomError: The assignment was not released to this class.
    """
    solved = folder / "teacher" / name / f"{name}-1.ipynb"
    if not solved.is_file():
        raise ClassroomError(f"{solved} is missing: release {name} to this class first")
    secret = read_secret(folder)
    published, pasted = (
        notebook(name, secret, PUBLISHED, solved=True),
        notebook(name, secret, "2"),
    )
    jiwoo = nbformat.read(str(solved), as_version=4)
    for cell in jiwoo.cells:
        if "question" in cell.metadata and cell.cell_type == "markdown":
            cell.source = IN_WORDS
    for cell, solution in zip(pasted.cells, published.cells, strict=True):
        if "question" in cell.metadata:
            cell.source = solution.source
    files = {
        101: ("ece의 사본.ipynb", nbformat.writes(jiwoo)),
        102: (f"Copy of {name}-2.ipynb", nbformat.writes(pasted)),
        103: ("report.pdf", "%PDF-1.7"),
    }
    place = folder / "rehearsal"
    place.mkdir(exist_ok=True)
    with zipfile.ZipFile(place / "moodle.zip", "w") as archive:
        for number, (file, content) in files.items():
            path = f"{STUDENTS[number]}_{number}_assignsubmission_file_/{file}"
            archive.writestr(path, content)
    most = f"{read_goals(name).points:g}"
    rows = [[f"Participant {number}", person, "", most] for number, person in STUDENTS.items()]
    head = ["Identifier", "Full name", "Grade", "Maximum Grade"]
    write_csv(place / "worksheet.csv", [head, *rows])
    return [place / "moodle.zip", place / "worksheet.csv"]
