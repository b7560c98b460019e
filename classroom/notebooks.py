"""The notebook of a sheet, made from the source of an assignment, with the solutions or without."""

from __future__ import annotations

import ast
from copy import deepcopy
from functools import cache
from typing import Any

import jupytext
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from classroom import ClassroomError
from classroom.goals import ASSIGNMENTS, Goals, load, read_goals
from classroom.secret import generator
from classroom.solution import with_answers
from classroom.variants import PLACE, Code, Variant, secret_of, variant_of, words

HELPER = ASSIGNMENTS / "helper.py"
IMPORT = "from helper import example"  # a cell of its own; students get the helper instead
FILLED = ("expected_", "given_")  # how the names of values in examples begin
WIDTH = 70
METADATA = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def notebook(name: str, secret: bytes, sheet: str, solved: bool = False) -> NotebookNode:
    """The notebook of a sheet, as students get it or with the solutions."""
    found = _unsolved(name, secret, sheet)
    return with_solutions(found, name, variant_of(name, secret, sheet)) if solved else found


def with_solutions(released: NotebookNode, name: str, variant: Variant) -> NotebookNode:
    """A student's notebook with the solutions of its sheet."""
    solved = deepcopy(released)
    for cell in solved.cells:
        if cell.cell_type == "code" and "question" in cell.metadata:
            cell.source = with_answers(name, variant, cell.source)
    return solved


def _unsolved(name: str, secret: bytes, sheet: str) -> NotebookNode:
    goals, variant = read_goals(name), variant_of(name, secret, sheet)
    values = values_of(goals, variant, sheet)
    given = {"sheet": sheet, **variant}
    expected = load(name).examples(variant)
    cells = []
    for cell in deepcopy(_cells(source_of(name))):
        if cell.cell_type == "markdown":
            cell.source = rendered(cell.source, values)
        elif cell.source == IMPORT:
            cell.source = HELPER.read_text("utf-8").strip()
            cell.metadata = {"cellView": "form", "jupyter": {"source_hidden": True}}
        if "variant" in cell.metadata.get("tags", []):
            cell.source = with_values(cell.source, given)
        elif cell.cell_type == "code" and "question" not in cell.metadata:
            cell.source = with_values(cell.source, expected, FILLED)
        if "question" in cell.metadata:
            cell.metadata["nbgrader"] = nbgrader(goals, cell)
        cells.append(cell)
    asked = {cell.metadata["question"] for cell in cells if "question" in cell.metadata}
    if asked != set(goals.questions):
        raise ClassroomError(f"{name}: goals.toml and the source do not have the same questions")
    for position, cell in enumerate(cells, start=1):
        cell.id = f"cell-{position:02d}"
    of = {"assignment": name, "release": fingerprint(secret, name, sheet)}
    return new_notebook(cells=cells, metadata=METADATA | of)


def source_of(name: str) -> str:
    return (ASSIGNMENTS / name / f"{name}.md").read_text("utf-8")


def stubs(name: str) -> list[str]:
    """The cells of an assignment in which students write code."""
    return [
        cell.source
        for cell in _cells(source_of(name))
        if cell.cell_type == "code" and "question" in cell.metadata
    ]


@cache
def _cells(source: str) -> list[NotebookNode]:
    """The cells of a source, which each sheet changes in a copy of its own."""
    return list(jupytext.reads(source, fmt="md:myst").cells)


def values_of(goals: Goals, variant: Variant, sheet: str) -> dict[str, str]:
    """What stands for ``{{ … }}`` in a text: points, minutes, and what the secret decides."""
    values = {"minutes": goals.minutes, "points": f"{goals.points:g}", "sheet": sheet}
    values |= variant | words(goals.name, variant)
    values |= {question.name: f"{question.points:g}" for question in goals.questions.values()}
    return {key: str(value) for key, value in values.items()}


def rendered(text: str, values: dict[str, str]) -> str:
    """The text with its values.

    Raises:
        ClassroomError: if it asks for one that there is not.
    """
    if unknown := set(PLACE.findall(text)) - values.keys():
        raise ClassroomError(f"no value {', '.join(sorted(unknown))}; there are {list(values)}")
    return PLACE.sub(lambda found: values[found[1]], text)


def fingerprint(secret: bytes, name: str, sheet: str) -> str:
    """Says of a notebook which sheet of which class it is, and nothing of the secret."""
    return generator(secret_of(secret, sheet), "release", name).bytes(6).hex()


def with_values(source: str, values: dict[str, Any], begin: tuple[str, ...] = ("",)) -> str:
    """A cell with the values of a sheet.

    Args:
        source: of the cell.
        values: by name.
        begin: how the names begin whose values are set; all by default.

    Raises:
        ClassroomError: if there is no value for such a name.
    """
    lines = source.split("\n")
    for statement in reversed(ast.parse(source).body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id.startswith(begin):
            if target.id not in values:
                raise ClassroomError(f"the sheet has no value for {target.id}")
            written = f"{target.id} = {_literal(values[target.id])}"
            if len(written) > WIDTH:
                wrapped = _literal(values[target.id], comma=",\n    ")
                written = f"{target.id} = {wrapped}"
            lines[statement.lineno - 1 : statement.end_lineno] = [written]
    return "\n".join(lines)


def _literal(value: Any, comma: str = ", ") -> str:
    """A value as Python; what separates the items of a long one begins a new line."""
    if isinstance(value, Code):
        return value
    if isinstance(value, np.ndarray):
        return f"np.array({_literal(value.tolist(), comma)})"
    if isinstance(value, float):
        return "np.nan" if np.isnan(value) else repr(round(value, 6) + 0.0)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        items, ends = [_literal(item) for item in value], "[]"
    elif isinstance(value, dict):
        items, ends = [f'"{key}": {_literal(item)}' for key, item in value.items()], "{}"
    else:
        return repr(value)
    if comma == ", ":
        return ends[0] + ", ".join(items) + ends[1]
    return ends[0] + "\n    " + comma.join(items) + ",\n" + ends[1]


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


def reference_of(name: str) -> str:
    """The code that answers any sheet of an assignment: functions that get the variant."""
    files = [ASSIGNMENTS / "measures.py", ASSIGNMENTS / name / "reference.py"]
    files = [file for file in files if file.exists()]
    code = [without_imports(file.read_text("utf-8"), ("__future__", "classroom")) for file in files]
    return "\n".join(code)


def without_imports(code: str, begin: tuple[str, ...] = ("",)) -> str:
    """Python without its imports, or without those from modules that begin in some way."""
    lines = code.splitlines()
    for statement in ast.parse(code).body:
        module = getattr(statement, "module", "")
        if isinstance(statement, ast.Import | ast.ImportFrom) and module.startswith(begin):
            end = statement.end_lineno or statement.lineno
            lines[statement.lineno - 1 : end] = [""] * (end - statement.lineno + 1)
    return "\n".join(lines)
