"""Run notebooks of an assignment in this process, and mark their answers as the grader does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from nbformat import NotebookNode
from scipy.special import softmax

from classroom.checks import Check
from classroom.goals import assignment_names, load, read_goals
from classroom.inside import decode, encode, run_cell
from classroom.judge import mark
from classroom.notebooks import notebook, stubs
from classroom.release import data_of
from classroom.run import Outcome
from classroom.solution import with_answers
from classroom.variants import PUBLISHED, Variant, choices, secret_of, variant_of

NAMES = assignment_names()
Names = dict[str, Any]


@cache
def sheet_checks(name: str, secret: bytes, sheet: str) -> list[Check]:
    """The hidden checks of a sheet."""
    own = secret_of(secret, sheet)
    return load(name).checks(own, variant_of(name, secret, sheet))


def write_data(name: str, secret: bytes, sheet: str, folder: Path) -> None:
    """Put the data of a sheet into a folder."""
    for file, arrays in data_of(name, secret, sheet).items():
        np.savez(folder / file, **arrays)


def run(found: NotebookNode, pictures: bool = False, strict: bool = True) -> Names:
    """The names that a notebook defines when all its cells run in the current folder.

    Args:
        found: the notebook.
        pictures: whether cells run that draw.
        strict: whether an error ends it; in the sandbox, none does.
    """
    matplotlib.use("Agg")
    names: Names = {}
    for cell in found.cells:
        draws = "picture" in cell.metadata.get("tags", [])
        if cell.cell_type == "code" and (pictures or not draws):
            with nullcontext() if strict else suppress(Exception):
                run_cell(cell.source, cell.id, names)
    return names


def remembering(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that trains, asked once for the same: several checks ask it."""
    known: dict[Any, Any] = {}

    def asked(*given: Any) -> Any:
        key = tuple(np.asarray(one).tobytes() for one in given)
        if key not in known:
            known[key] = function(*given)
        return known[key]

    return asked


def outcome(check: Check, names: Names, apart: Names) -> Outcome:
    """What a call gives, as it would come out of the sandbox."""
    try:
        answer = plain(names[check.function](*check.arguments))
    except Exception as error:
        return Outcome(failure={"kind": "exception", "type": type(error).__name__})
    own = []
    for function, arguments in _calls(check, answer):
        try:
            own.append(plain(apart[function](*arguments)))
        except Exception:
            own.append(None)
    return Outcome(answer, own=tuple(own))


def _calls(check: Check, answer: Any) -> list[tuple[str, tuple[Any, ...]]]:
    try:
        return check.own(answer) if callable(check.own) else check.own or []
    except Exception:
        return []


def plain(value: Any) -> Any:
    return decode(encode(value))


def marked(
    name: str, checks: list[Check], names: Names, apart: Names | None = None
) -> dict[str, Any]:
    """The result of each question, as the grader has it.

    Args:
        name: of the assignment.
        checks: of the sheet.
        names: what the notebook defines.
        apart: the same in the process that answers the calls of `Check.own`.
    """
    pairs = [(check, outcome(check, names, apart or names)) for check in checks]
    questions = read_goals(name).questions
    return {
        q: mark([pair for pair in pairs if pair[0].question == q], questions[q].points)
        for q in sorted({check.question for check in checks})
    }


def points(result: dict[str, Any]) -> float:
    return sum(question["points"] for question in result.values())


def most(name: str) -> float:
    """The automatic points that there are."""
    return sum(q.points for q in read_goals(name).questions.values() if q.kind == "checked")


def pasted(name: str, secret: bytes, sheet: str, of: str = PUBLISHED) -> NotebookNode:
    """A sheet into which the answers to a different one were pasted, cell by cell.

    Code reads the values, such as the number of bins, of the sheet that it is pasted into.
    """
    found = notebook(name, secret, sheet)
    for cell, solution in zip(found.cells, _solved(name, secret, of).cells, strict=True):
        if "question" in cell.metadata:
            cell.source = solution.source
    return found


@cache
def _solved(name: str, secret: bytes, sheet: str) -> NotebookNode:
    return notebook(name, secret, sheet, solved=True)


def answers(name: str, variant: Variant) -> Names:
    """The functions of the solution for any variant."""
    names: Names = {"np": np, "softmax": partial(softmax, axis=1), **variant}
    for stub in stubs(name):
        run_cell(with_answers(name, variant, stub), name, names)
    return names


def variants(name: str, values: Variant, asked: tuple[str, ...]) -> list[Variant]:
    """Variants that together have each way of some choices, the published ways too."""
    found = {choice: list(ways) for choice, ways in choices(name).items()}
    first = {choice: ways[0] for choice, ways in found.items()}
    most = max(len(found[choice]) for choice in asked)
    return [
        {**values, **first, **{choice: found[choice][n % len(found[choice])] for choice in asked}}
        for n in range(most)
    ]
