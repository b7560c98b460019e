"""Which students handed in the same code, names and layout aside: a reason to ask, no proof.

Two functions are the same if their syntax trees are, without comments, docstrings and annotations,
and with all names of variables and functions replaced by their order. Another process parses what
students wrote, since a parser can be crashed.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from classroom.inside import limit, more_time, plain_python

SMALL = 60  # nodes of a tree: what has fewer is often the same by chance
LONGEST = 100_000  # characters of a cell that is parsed
SECONDS = 10  # of processor time for one student
PUBLIC = "the public solution"

Cells = list[str]
Trees = list[tuple[str, str]]  # of a function, by its name, and the hash of its tree


def matches(handed_in: dict[str, Cells], functions: frozenset[str]) -> list[tuple[str, ...]]:
    """Who handed in the same code.

    Args:
        handed_in: The code cells of each student, and those of `PUBLIC`.
        functions: That the assignment asks for.

    Returns:
        The functions that are the same and who has them, such as
        ``("nll, recalibrate", "a, b")``; who shares most comes first.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for who, trees in _parsed(handed_in, functions).items():
        for function, tree in trees:
            groups[function, tree].append(who)
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for (function, _), people in groups.items():
        if len(people) > 1:
            shared[tuple(sorted(people))].append(function)
    rows = [(", ".join(sorted(same)), ", ".join(people)) for people, same in shared.items()]
    return sorted(rows, key=lambda row: (-row[0].count(","), row))


def _parsed(handed_in: dict[str, Cells], functions: frozenset[str]) -> dict[str, Trees]:
    """The trees of each student; who ends the process that parses has none."""
    left = list(handed_in.items())
    found: dict[str, Trees] = {}
    while left:
        lines = "\n".join(json.dumps([sorted(functions), cells]) for _, cells in left)
        done = subprocess.run(
            [sys.executable, "-m", "classroom.matches"],
            input=lines.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
            check=False,
        )
        answers = done.stdout.splitlines()
        found |= {who: json.loads(line) for (who, _), line in zip(left, answers, strict=False)}
        left = left[len(answers) + 1 :]
    return found


def trees_of(functions: list[str], cells: Cells) -> Trees:
    """The different trees of these functions, however often each is written; no small ones."""
    found = set()
    for cell in cells:
        try:
            statements = plain_python(cell[:LONGEST], "").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for statement in statements:
            if isinstance(statement, ast.FunctionDef) and (name := statement.name) in functions:
                try:
                    found.add((name, _tree(statement)))
                except RecursionError:
                    continue
    return sorted((name, tree) for name, tree in found if tree)


def _tree(function: ast.FunctionDef) -> str:
    """The hash of a function's tree, "" if it is small; the function is changed."""
    names: dict[str, str] = {}

    def order(name: str) -> str:
        known = name == "np" or hasattr(builtins, name)
        return name if known else names.setdefault(name, f"name{len(names)}")

    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            if ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        elif isinstance(node, ast.arg):
            node.annotation = None
    nodes = list(ast.walk(function))
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            node.name = order(node.name)
        elif isinstance(node, ast.arg):
            node.arg = order(node.arg)
        elif isinstance(node, ast.Name):
            node.id = order(node.id)
    dumped = ast.dump(function)
    return hashlib.sha256(dumped.encode()).hexdigest() if len(nodes) >= SMALL else ""


def main() -> None:
    """Answer a line for each line."""
    limit({"RLIMIT_AS": 2**31, "RLIMIT_CPU": 600, "RLIMIT_CORE": 0})
    for line in sys.stdin:
        more_time(SECONDS)
        print(json.dumps(trees_of(*json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
