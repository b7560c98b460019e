"""Files that are damaged, or not what they say; and written answers that upset a renderer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.classroom.hostile import Case, before
from tests.classroom.tiny_class import FULL, NONE, Q1, STUBS, Cells, answers, code, notebook

Notebook = dict[str, Any]


def changed(cells: Cells, change: Callable[[Notebook], object], encoding: str = "utf-8") -> bytes:
    """The file of a notebook, changed after it was made."""
    found = notebook(cells)
    change(found)
    return json.dumps(found).encode(encoding)


def cell(kind: str, source: Any, **more: Any) -> Notebook:
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def of_kernel(name: str) -> Callable[[Notebook], object]:
    return lambda found: found["metadata"].update(kernelspec={"name": name, "language": name})


def nothing(found: Notebook) -> None:
    """As it is."""


def with_answer(text: str) -> Case:
    """All questions answered, the one to read by this."""
    return Case(answers(why=text), FULL, "6 points so far")


PNG = "iVBORw0KGgo" * 50_000
LIES = {
    "question": ["q1"],
    "tags": "variant",
    "points": 6,
    "nbgrader": {"points": 1000, "grade": True, "grade_id": "q1"},
}
DAMAGED = {
    "empty-file": Case(b"", None, "is not a notebook"),
    "empty-notebook": Case([], None, "The notebook has no cells."),
    "all-deleted": Case([("code", "1 + 1")], None, "holds none of the functions"),
    "wrong-notebook": Case([code("q1", "def ece(p, y):\n    return 0")], None, "the right one?"),
    "pdf": Case(b"%PDF-1.7 \xff", None, "is a PDF"),
    "half-a-file": Case(b'{"cells": [{"cell_type": "code", "sou', None, "or is damaged"),
    "no-cells": Case(b'{"cells": [1, null, {"source": 3}]}', None, "the right one?"),
    "many-cells": Case([("code", "")] * 2001 + answers(), None, "more than 2000 cells"),
    "deep-file": Case(b"[" * 1_000_000, None, "or is damaged"),
    "problem": Case(b"", None, "It is a Word file", facts=(("problem", "It is a Word file."),)),
    "gigantic-file": Case(b"[" + b" " * 21_000_000 + b"]", None, "larger than 20 MB"),
    "kernel-of-r": Case(
        changed([("code", "gap <- function(c, r) mean(c) - mean(r)")], of_kernel("ir")),
        None,
        "the right one?",
    ),
}
STRANGE = {
    "python-in-another-kernel": Case(changed(answers(), of_kernel("ir")), FULL, "6 points so far"),
    "byte-order-mark": Case(changed(answers(), nothing, "utf-8-sig"), FULL, "6 points so far"),
    "gigantic-cell": before(f"x = '{'a' * 4_000_000}'", FULL, "6 points so far"),
    # One picture, asked for twenty thousand times: eleven gigabytes of text.
    "attachment-bomb": Case(
        changed(
            answers(),
            lambda found: found["cells"][-1].update(
                source="![](attachment:a.png)" * 20_000, attachments={"a.png": {"image/png": PNG}}
            ),
        ),
        FULL,
        "6 points so far",
    ),
    "lone-surrogates": with_answer("\ud800 because"),
    "null-byte": before("x = '\0'", FULL, "null bytes"),
    "full-width-name": Case(answers(q1=Q1.replace("gap", "\uff47\uff41\uff50")), FULL, "6 points"),
    "right-to-left": Case(
        answers(q1=f"# \u202e txet\n{Q1}", why="\u202egnp.egap\u2066"), FULL, "6 points"
    ),
    "metadata-that-lies": Case(
        changed(
            answers(*STUBS),
            lambda found: found["cells"].append(
                cell("code", "points = share = 6", outputs=[]) | {"metadata": LIES, "points": 6}
            ),
        ),
        NONE,
        "Not written yet",
    ),
    "values-of-its-own": Case(
        changed(
            answers(),
            lambda found: found["cells"].append(
                cell("code", "half = 99", outputs=[]) | {"metadata": {"tags": ["variant"]}}
            ),
        ),
        FULL,
        "6 points so far",
    ),
    **{
        f"formula-as-name-{number}": Case(answers(), FULL, "6 points", facts=(("name", name),))
        for number, name in enumerate(["=HYPERLINK(1)", "\uff1d1+1", "a\r\n+1"])
    },
    "formula-bomb": with_answer("$" + "\\sqrt{" * 60 + "x" + "}" * 60 + "$"),
    "table-bomb": with_answer("|a" * 3000 + "|\n" + "|-" * 3000 + "|\n" + "a\n" * 3900),
    "backtick-bomb": with_answer("".join("`" * k + "x" for k in range(190))),
}
