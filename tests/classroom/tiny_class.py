"""A small assignment, and a class that hands in notebooks; for the tests of grading."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classroom import goals, grade
from classroom.bubblewrap import NotGraded
from classroom.known import known
from classroom.sandbox import check_sandbox

SECRET = b"of the tests, so anybody may know it"
GOALS = """
title = "A tiny one"
chapters = []
minutes = 5
seconds = 2

[questions.q1]
title = "the gap"
kind = "checked"
points = 2
goal = "Say how far confidence and accuracy are apart."
hint = "Subtract the accuracy."

[questions.q2]
title = "bins"
kind = "checked"
points = 3
goal = "Count what falls into a bin."

[questions.q3]
title = "a file"
kind = "checked"
points = 1
goal = "Read a file."

[questions.q4]
title = "why"
kind = "read"
points = 4
goal = "Say why."
rubric = [{ points = 3, text = "A <reason>." }, { points = 1, text = "An example." }]
"""
CHECKS = """
import numpy as np
from classroom.checks import Check, close, equal, raises
from classroom.secret import generator

def values(secret):
    return {"half": 0.5}

def checks(secret, variant):
    rng = generator(secret, "tiny")
    c, r = rng.uniform(0.5, 1, 50), rng.random(50) < 0.7
    few = rng.random(20)
    def counts(x, n):
        return np.histogram(x, np.linspace(0, 1, n + 1))[0].tolist()
    return [
        Check("q1", "fifty answers", "gap", (c, r), close(c.mean() - r.mean()), 2.0),
        Check("q1", "all wrong", "gap", (c, 0 * c), close(c.mean())),
        Check("q1", "no answers", "gap", (c[:0], r[:0]), raises(ValueError), hint="Say so."),
        Check("q2", "four bins", "counts", (few, 4), equal(counts(few, 4))),
        Check("q2", "five bins", "counts", (few, 5), equal(counts(few, 5))),
        Check("q2", "an empty bin", "counts", (few / 2, 4), equal(counts(few / 2, 4))),
        Check("q3", "one number", "stored", (3,), close(np.arange(10) ** 2 + 0.5)),
    ]
"""
Q1 = """
import numpy as np

def gap(confidences, correct):
    if len(confidences) == 0:
        raise ValueError("no answers")
    return np.mean(confidences) - np.mean(correct)
"""
Q2 = """
def counts(x, n_bins):
    return np.histogram(x, np.linspace(0, 1, n_bins + 1))[0]
"""
Q3 = """
def stored(which):
    return np.load("squares.npz")["squares"] + half
"""
STUBS = (
    "import numpy as np\n\ndef gap(confidences, correct):\n    raise NotImplementedError",
    "def counts(x, n_bins):\n    raise NotImplementedError",
    "def stored(which):\n    raise NotImplementedError",
)
FULL = {"q1": 2.0, "q2": 3.0, "q3": 1.0}
NONE = {"q1": 0.0, "q2": 0.0, "q3": 0.0}

Cells = list[tuple[str, str]]


def code(question: str, source: str) -> tuple[str, str]:
    return f"code:{question}", source


def notebook(cells: Cells, metadata: bool = True) -> dict[str, Any]:
    """A notebook of cells (kind, source); the kind is ``code``, ``text``, ``code:q1``."""
    found = []
    for kind, source in cells:
        kind, _, question = kind.partition(":")
        cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": source}
        if kind == "code":
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        if question == "+variant" and metadata:
            cell["metadata"] = {"tags": ["variant"]}
        elif question and metadata:
            grade_id = {"grade_id": question, "solution": True, "grade": False}
            cell["metadata"] = {"question": question, "nbgrader": grade_id}
        found.append(cell)
    return {"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def answers(q1: str = Q1, q2: str = Q2, q3: str = Q3, why: str = "Because.") -> Cells:
    """The cells of a submission; by default of the reference."""
    asked = [
        ("text", "# A tiny one"),
        ("code:+variant", 'sheet = "0"\nhalf = 0.5'),
        code("q1", q1),
        ("code", "# gap([1], [1]) is 0"),
    ]
    return [*asked, code("q2", q2), code("q3", q3), ("text:q4", why)]


def make_class(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A class's folder to which the tiny assignment was released."""
    assignment, folder = root / "assignments" / "tiny", root / "class"
    monkeypatch.setattr(goals, "ASSIGNMENTS", assignment.parent)
    monkeypatch.setattr(grade, "ASSIGNMENTS", assignment.parent)
    goals.load.cache_clear()
    known.cache_clear()
    assignment.mkdir(parents=True)
    (assignment / "goals.toml").write_text(GOALS, "utf-8")
    (assignment / "checks.py").write_text(CHECKS, "utf-8")
    (assignment / "variants.toml").write_text("", "utf-8")
    for place in ("released/tiny/sheet-0", "teacher/tiny", "collected/tiny"):
        (folder / place).mkdir(parents=True)
    (folder / "secret").write_bytes(SECRET)
    write_notebook(
        folder / "released/tiny/sheet-0/tiny-0.ipynb", answers(*STUBS, why="*Your answer*")
    )
    np.savez(folder / "released/tiny/sheet-0/squares.npz", squares=np.arange(10) ** 2)
    write_notebook(folder / "teacher/tiny/tiny-0.ipynb", answers())
    return folder


def write_notebook(file: Path, cells: Cells, metadata: bool = True) -> None:
    file.write_text(json.dumps(notebook(cells, metadata)), "utf-8")


def hand_in(
    folder: Path, student: str, cells: Cells | bytes, metadata: bool = True, **facts: Any
) -> Path:
    """Put a submission where `collect` puts it."""
    place = folder / "collected" / "tiny" / student
    place.mkdir(parents=True, exist_ok=True)
    known = {"id": student, "name": f"Name of {student}", "late": False, "problem": None, **facts}
    (place / "facts.json").write_text(json.dumps(known), "utf-8")
    file = place / "submission.ipynb"
    if isinstance(cells, bytes):
        file.write_bytes(cells)
    else:
        write_notebook(file, cells, metadata)
    return file


def points(result: dict[str, Any]) -> dict[str, float]:
    """The points of the checked questions."""
    return {q: row["points"] for q, row in result["questions"].items() if "checks" in row}


def need_sandbox() -> None:
    """Skip, and say why, where grading is impossible; continuous integration must not."""
    if why := _no_sandbox():
        if os.environ.get("CI"):
            pytest.fail(f"no sandbox: {why}")
        pytest.skip(f"NOT TESTED, no sandbox: {why}")


@cache
def _no_sandbox() -> str:
    """Why none starts here, "" if one does; tried once, since each start takes a while."""
    try:
        check_sandbox()
    except NotGraded as error:
        return str(error)
    return ""
