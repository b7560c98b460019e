"""Release an assignment to a class: the students' sheets with their data, the teacher's files.

What students get has no line of the solution, and none of the hidden checks either: `leaked` proves
it line by line each time, before anything is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from calib_utils._files import write_text
from calib_utils.records.npz import write_npz
from classroom import ClassroomError
from classroom.goals import ASSIGNMENTS, load, read_goals
from classroom.known import known
from classroom.notebooks import (
    HELPER,
    notebook,
    rendered,
    source_of,
    with_solutions,
    without_imports,
)
from classroom.results import write_csv
from classroom.secret import make_secret
from classroom.solution import solution
from classroom.variants import PUBLISHED, SHEETS, secret_of, variant_of

LONG = 20  # characters from which on a line is recognised anywhere in a text


def release(name: str, folder: Path, key: str | None = None) -> Path:
    """Write the sheets for the students to ``released/NAME``, and what the teacher keeps.

    Args:
        name: of the assignment.
        folder: of the class; made if it is not there.
        key: the secret to take, see `make_secret`.

    Returns:
        The folder for the students, in which each sheet has a folder.

    Raises:
        ClassroomError: if there is no such assignment, its source is wrong, or a line of a
            solution or a check would be released.
    """
    secret, hidden = make_secret(folder, key), hidden_lines(name)
    sheets = {sheet: notebook(name, secret, sheet) for sheet in SHEETS}
    for released in sheets.values():
        if found := leaked(hidden, all_text(released)):
            raise ClassroomError(f"{name}: students would get this hidden line: {found[0]}")
    students, teacher = folder / "released" / name, folder / "teacher" / name
    for sheet, released in sheets.items():
        place, file = students / f"sheet-{sheet}", f"{name}-{sheet}.ipynb"
        write_notebook(released, place / file)
        solved = with_solutions(released, name, variant_of(name, secret, sheet))
        write_notebook(solved, teacher / file)
        for data, arrays in data_of(name, secret, sheet).items():
            write_npz(place / data, arrays, {"assignment": name})
    variants = [[sheet, *variant_of(name, secret, sheet).values()] for sheet in SHEETS]
    published = variant_of(name, secret, PUBLISHED)
    write_csv(teacher / "variants.csv", [["sheet", *published], *variants])
    sample = ASSIGNMENTS / name / "sample.md"
    if sample.exists():
        values = known(name, secret, PUBLISHED)
        if hasattr(load(name), "sample"):  # numbers of its own, of a network that is trained for it
            values |= load(name).sample(secret_of(secret, PUBLISHED), published)
        write_text(teacher / "sample.md", rendered(sample.read_text("utf-8"), values))
    return students


def write_notebook(notebook: NotebookNode, file: Path) -> None:
    """Write a notebook, unless the file holds it already."""
    text = nbformat.writes(notebook) + "\n"
    if not file.exists() or file.read_text("utf-8") != text:
        write_text(file, text)


def data_of(name: str, secret: bytes, sheet: str) -> dict[str, dict[str, Any]]:
    """The files that lie beside the notebook of a sheet, each with its arrays."""
    module = load(name)
    if not hasattr(module, "data"):
        return {}
    found = module.data(secret_of(secret, sheet), variant_of(name, secret, sheet))
    return {f"{stem}-{sheet}.npz": arrays for stem, arrays in found.items()}


def hidden_lines(name: str) -> set[str]:
    """Every line that no student may get, without its indentation.

    That is each line of the solution, the checks (but imports), a rubric, a hint, and a sample,
    unless it is also one of the lines that the source shows, or has no letter.
    """
    source, folder = source_of(name), ASSIGNMENTS / name
    goals = read_goals(name)
    code = [*folder.glob("*.py"), ASSIGNMENTS / "measures.py"]
    texts = [piece for pieces in solution(name).values() for piece in pieces.values()]
    texts += [without_imports(path.read_text("utf-8")) for path in code]
    texts += [path.read_text("utf-8") for path in folder.glob("sample.md")]
    for question in goals.questions.values():
        texts += [question.hint, *(text for _, text in question.rubric)]
    shown = source + "\n" + HELPER.read_text("utf-8")
    lines = {line.strip() for text in texts for line in text.splitlines()}
    return {line for line in lines - set(leaked(lines, shown)) if re.search(r"[^\W\d_]", line)}


def leaked(lines: set[str], text: str) -> list[str]:
    """The hidden lines that a text has: as a line of it, or anywhere if they are long."""
    found = {line.strip() for line in text.splitlines()}
    return sorted(line for line in lines if line in found or (len(line) >= LONG and line in text))


def all_text(notebook: NotebookNode) -> str:
    """All that a notebook holds, as plain lines and as it is written to a file."""
    cells = [str(cell.source) for cell in notebook.cells]
    return "\n".join([*cells, nbformat.writes(notebook)])
