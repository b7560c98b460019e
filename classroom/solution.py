"""The solution of a sheet: each answer as a good student would write it, for this sheet alone.

An assignment's ``solution.toml`` has an answer for each function that students write: what stands
below its docstring, and any function that it needs. ``{{ gap }}`` in it is the piece for the way
in which the sheet asks the choice "gap". Pieces that several assignments need are in
``assignments/solution.toml``.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from typing import Any

from classroom import goals
from classroom.variants import PLACE, Variant

Pieces = dict[str, dict[str, str]]  # by choice, or "answers" or "always", then by way or name


@cache
def solution(name: str) -> Pieces:
    """The answers of an assignment, and their pieces."""
    files = (goals.ASSIGNMENTS / "solution.toml", goals.ASSIGNMENTS / name / "solution.toml")
    found: dict[str, Any] = {"answers": {}, "always": {}}
    for file in files:
        found |= tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}
    return found


def with_answers(name: str, variant: Variant, source: str) -> str:
    """A cell of a question with the answers of a sheet in place of the stubs."""
    pieces = solution(name)
    values = pieces["always"] | {
        choice: ways[variant[choice]] for choice, ways in pieces.items() if choice in variant
    }
    lines = source.splitlines()
    for function in reversed(ast.parse(source).body):
        if isinstance(function, ast.FunctionDef) and function.name in pieces["answers"]:
            answer = pieces["answers"][function.name].removesuffix("\n")
            while PLACE.search(answer):  # a piece may have another in it
                answer = PLACE.sub(lambda found: values[found[1]].strip("\n"), answer)
            stub = function.body[-1]
            lines[stub.lineno - 1 : stub.end_lineno] = answer.splitlines()
    return "\n".join(lines)
