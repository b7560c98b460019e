"""Submissions for the tests: what a case is, and honest ones.

An attack is a cell before the questions, or behind them. The questions themselves are then stubs,
which are worth nothing: whatever is earned, the attack has earned it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.classroom.tiny_class import FULL, NONE, Q1, Q2, Q3, STUBS, Cells, answers, code

Q1_ONLY = {**NONE, "q1": 2.0}
BUT_Q2 = {**FULL, "q2": 0.0}


@dataclass(frozen=True)
class Case:
    """A submission, and what must come of it.

    Attributes:
        cells: Of the notebook, or the bytes of the file.
        points: Of the questions; ``None`` if it must not be graded.
        said: What the student's page says.
        metadata: Whether the cells still name their questions.
        facts: What was found out when it was collected.
    """

    cells: Cells | bytes
    points: dict[str, float] | None
    said: str = ""
    metadata: bool = True
    facts: tuple[tuple[str, Any], ...] = ()


def selected(request: pytest.FixtureRequest, test: str) -> list[str]:
    """The submissions of this run."""
    items = (item for item in request.session.items if getattr(item, "originalname", "") == test)
    return [item.callspec.params["student"] for item in items]


def attack(source: str, said: str = "Not written yet") -> Case:
    return Case([("code", source), *answers(*STUBS)], NONE, said)


def after(source: str, said: str) -> Case:
    return Case([*answers(*STUBS), ("code", source)], NONE, said)


def before(source: str, points: dict[str, float], said: str = "") -> Case:
    """Something bad in a cell of its own, and then all questions answered."""
    return Case([("code", source), *answers()], points, said)


def q2(body: str, said: str, points: dict[str, float] = BUT_Q2) -> Case:
    """All questions answered, the second one by this."""
    lines = "".join(f"    {line}\n" for line in body.strip().split("\n"))
    return Case(answers(q2=f"def counts(x, n_bins):\n{lines}"), points, said)


HONEST = {
    "full": Case(answers(), FULL, "6 points so far"),
    "part-of-a-question": Case(
        answers(q1=Q1.replace("raise ValueError", "return 0, ")),
        {**FULL, "q1": 1.5},
        "Your code returned a list, and this is not right.",
    ),
    "stub": Case(answers(*STUBS, why="*Your answer*"), NONE, "Not written yet."),
    "wrong-value": q2("return np.zeros(n_bins + 1)", "an array, and this is not"),
    "wrong-number-of-arguments": Case(
        answers(q2="def counts(x):\n    return 1"), BUT_Q2, "Your code raised TypeError."
    ),
    "object": q2("return object()", "something other than numbers"),
    "syntax-error": Case(answers(q2="def counts(x, n_bins)\n    return 1"), BUT_Q2, "SyntaxError"),
    "deleted-cells": Case([code("q1", Q1)], Q1_ONLY, "There is no counts"),
    "deleted-examples": Case([code("q1", Q1), code("q2", Q2), code("q3", Q3)], FULL, "6 points"),
    "duplicated-cell": Case([code("q2", STUBS[1]), *answers(), code("q2", Q2)], FULL, "6 points"),
    "last-definition-wins": Case([*answers(), code("q2", STUBS[1])], BUT_Q2, "Not written yet"),
    "lost-metadata": Case(answers(), FULL, "Because.", metadata=False),
    "lost-metadata-syntax-error": Case(
        answers(q2="def counts(x, n_bins):\nreturn 1"),
        BUT_Q2,
        "Code cell 4 (Question 2: bins). Your code raised IndentationError",
        metadata=False,
    ),
    "one-cell": Case([("code", f"{Q1}\n{Q2}\n{Q3}")], FULL, "6 points", metadata=False),
    "given-values-changed": Case([*answers(), ("code", "half = 3")], FULL, "6 points"),
    "magics": before("%matplotlib inline\n!ls\n%pip install x\nnp?", FULL),
    "magics-beside-code": Case(
        answers(q2=f"files = !ls\nimport pandas_x as pd\nif files:\n    %cd x\n{Q2}    # why?\n"),
        FULL,
        "ModuleNotFoundError",
    ),
    "draws": before("import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", FULL),
    "missing-package": before("import seaborn_x", FULL, "No module named"),
    "exits": before("exit()", FULL, "SystemExit"),
    "korean": Case(
        [("text", "# 보정"), ("code", "신뢰도 = '믿음'"), *answers(why="왜냐하면")],
        FULL,
        "왜냐하면",
        facts=(("name", "홍길동"),),
    ),
    "html": Case(
        answers(why="</pre><script>alert(1)</script><img src=x onerror=alert(1)>"),
        FULL,
        "&lt;/pre&gt;&lt;script&gt;",
        facts=(("name", "<b>Bobby</b>"),),
    ),
    "html-in-code": before("raise KeyError('x') # </pre><script>", FULL, "&lt;script&gt;"),
}
