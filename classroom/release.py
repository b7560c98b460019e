"""Release an assignment to a class: the students' notebook, its data, the teacher's reference.

The source holds the solutions. What students get does not, and no line of the hidden checks
either: `leaked` proves it line by line each time, before anything is written.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from calib_utils.records.npz import write_npz
from classroom import ClassroomError
from classroom.goals import ASSIGNMENTS, Goals, load, read_goals
from classroom.secret import generator, make_secret
from tools.sources.atomic import write_text
from tools.sources.book import Book
from tools.sources.chapter_notebook import notebook_metadata, write_if_changed
from tools.sources.flatten import Flattener

HELPER = ASSIGNMENTS / "helper.py"
IMPORT = "from helper import example"  # a cell of its own; students get the helper instead
SOLUTION = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n(?P<lines>.*?)^ *### END SOLUTION(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
STUB = re.compile(r"^ *# STUB: (?P<code>.+)\n", re.MULTILINE)
PLACE = re.compile(r"\{\{\s+(\w+)\s+\}\}")
VALUE = re.compile(r"^(?P<name>\w+) = .+$", re.MULTILINE)
LONG = 20  # characters from which on a line is recognised anywhere in a text


def release(name: str, folder: Path, key: str | None = None) -> list[Path]:
    """Write what students get to ``released/NAME``, and what the teacher keeps.

    Args:
        name: of the assignment.
        folder: of the class; made if it is not there.
        key: the secret to take, see `make_secret`.

    Returns:
        The files for the students, the notebook first.

    Raises:
        ClassroomError: if there is no such assignment, its source is wrong, or a line of a
            solution or a check would be released.
    """
    goals = read_goals(name)
    secret = make_secret(folder, key)
    student, reference = notebooks(name, secret)
    found = leaked(hidden_lines(name), all_text(student))
    if found:
        raise ClassroomError(f"{name}: students would get this hidden line: {found[0]}")
    released, teacher = folder / "released" / name, folder / "teacher" / name
    files = [released / f"{name}.ipynb"]
    write_if_changed(student, files[0])
    write_if_changed(reference, teacher / "reference.ipynb")
    for file, arrays in data_of(name, secret).items():
        write_npz(released / file, arrays, {"assignment": name})
        files.append(released / file)
    sample = ASSIGNMENTS / name / "sample.md"
    if sample.exists():
        values = values_of(goals, secret) | load(name).sample(secret)
        write_text(teacher / "sample.md", rendered(sample.read_text("utf-8"), values))
    return files


def source_of(name: str) -> str:
    return (ASSIGNMENTS / name / f"{name}.md").read_text("utf-8")


def data_of(name: str, secret: bytes) -> dict[str, dict[str, Any]]:
    """The files that lie beside the notebook, each with its arrays."""
    module = load(name)
    return module.data(secret) if hasattr(module, "data") else {}


def values_of(goals: Goals, secret: bytes) -> dict[str, str]:
    """What stands for ``{{ … }}`` in a text: points, minutes, and what the secret decides."""
    module = load(goals.name)
    values = {"minutes": goals.minutes, "points": f"{goals.points:g}", **module.variant(secret)}
    values |= {question.name: f"{question.points:g}" for question in goals.questions.values()}
    if hasattr(module, "texts"):
        values |= module.texts(secret)
    return {key: str(value) for key, value in values.items()}


def rendered(text: str, values: dict[str, str]) -> str:
    """The text with its values.

    Raises:
        ClassroomError: if it asks for one that there is not.
    """
    if unknown := set(PLACE.findall(text)) - values.keys():
        raise ClassroomError(f"no value {', '.join(sorted(unknown))}; there are {list(values)}")
    return PLACE.sub(lambda found: values[found[1]], text)


def notebooks(name: str, secret: bytes) -> tuple[NotebookNode, NotebookNode]:
    """The students' notebook, and the one with the solutions."""
    return _notebook(name, secret, solved=False), _notebook(name, secret, solved=True)


def _notebook(name: str, secret: bytes, solved: bool) -> NotebookNode:
    goals, values = read_goals(name), values_of(read_goals(name), secret)
    variant = load(name).variant(secret)
    flattener = Flattener(_book(), f"notebooks/{name}")
    cells = []
    for cell in jupytext.reads(source_of(name), fmt="md:myst").cells:
        if cell.cell_type == "markdown":
            cell.source = flattener.flatten(rendered(cell.source, values))
        elif cell.source == IMPORT:
            cell.source = HELPER.read_text("utf-8").strip()
            cell.metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
        elif not solved:
            cell.source = without_solution(cell.source)
        if "variant" in cell.metadata.get("tags", []):
            cell.source = with_values(cell.source, variant)
        if "question" in cell.metadata:
            cell.metadata["nbgrader"] = nbgrader(goals, cell)
        cells.append(cell)
    asked = {cell.metadata["question"] for cell in cells if "question" in cell.metadata}
    if asked != set(goals.questions):
        raise ClassroomError(f"{name}: goals.toml and the source do not have the same questions")
    for position, cell in enumerate(cells, start=1):
        cell.id = f"cell-{position:02d}"
    of = {"assignment": name, "release": fingerprint(secret, name)}
    return new_notebook(cells=cells, metadata=notebook_metadata() | of)


@cache
def _book() -> Book:
    """The book, whose chapters the assignments refer to."""
    return Book(ASSIGNMENTS.parent)


def fingerprint(secret: bytes, name: str) -> str:
    """Says of a notebook to which class it was released, and nothing of the secret."""
    return generator(secret, "release", name).bytes(6).hex()


def with_values(source: str, variant: dict[str, Any]) -> str:
    """A cell of simple values, with those of this class."""
    missing = {found["name"] for found in VALUE.finditer(source)} - variant.keys()
    if missing:
        raise ClassroomError(f"variant(secret) gives no {', '.join(sorted(missing))}")
    return VALUE.sub(lambda found: f"{found['name']} = {_literal(variant[found['name']])}", source)


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def without_solution(source: str) -> str:
    """A cell as students get it: a stub where the solution stood."""

    def stub(found: re.Match[str]) -> str:
        given = STUB.search(found["lines"])
        code = given["code"] if given else "raise NotImplementedError"
        return f"{found['indent']}{code}\n"

    return SOLUTION.sub(stub, source).rstrip("\n")


def nbgrader(goals: Goals, cell: NotebookNode) -> dict[str, Any]:
    """What a course that uses nbgrader needs of an answer's cell."""
    question = goals.questions[cell.metadata["question"]]
    read = question.kind == "read"
    points = {"points": question.points} if read else {}
    return {
        "schema_version": 3,
        "grade_id": f"{goals.name}-{question.name}",
        "cell_type": cell.cell_type,
        "solution": True,
        "grade": read,
        "locked": False,
        "task": False,
        **points,
    }


def hidden_lines(name: str) -> set[str]:
    """Every line that no student may get, without its indentation.

    That is each line of a solution, of the checks (but imports), of a rubric, a hint, and a sample,
    unless it is also one of the lines that stand outside all solutions, or has no letter.
    """
    source, folder = source_of(name), ASSIGNMENTS / name
    goals = read_goals(name)
    solutions = [STUB.sub("", found["lines"]) for found in SOLUTION.finditer(source)]
    texts = [*solutions, without_imports((folder / "checks.py").read_text("utf-8"))]
    texts += [path.read_text("utf-8") for path in folder.glob("sample.md")]
    for question in goals.questions.values():
        texts += [question.hint, *(text for _, text in question.rubric)]
    shown = without_solution(source) + "\n" + HELPER.read_text("utf-8")
    given = {line.strip() for line in shown.splitlines()}
    lines = {line.strip() for text in texts for line in text.splitlines()}
    return {line for line in lines - given if re.search(r"[^\W\d_]", line)}


def without_imports(code: str) -> str:
    """Python without its imports: everybody's modules import the same."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            end = statement.end_lineno or statement.lineno
            lines[statement.lineno - 1 : end] = [""] * (end - statement.lineno + 1)
    return "\n".join(lines)


def leaked(lines: set[str], text: str) -> list[str]:
    """The hidden lines that a text has: as a line of it, or anywhere if they are long."""
    found = {line.strip() for line in text.splitlines()}
    return sorted(line for line in lines if line in found or (len(line) >= LONG and line in text))


def all_text(notebook: NotebookNode) -> str:
    """All that a notebook holds, as plain lines and as it is written to a file."""
    cells = [str(cell.source) for cell in notebook.cells]
    return "\n".join([*cells, nbformat.writes(notebook)])
