"""Code that draws is folded, unless who copies only the open cells would miss a name from it."""

from __future__ import annotations

import ast
import re
from contextlib import suppress

from nbformat import NotebookNode

from tools.sources.book import figure_of
from tools.sources.no_break import with_units_kept

# Code that the page shows only when asked, or that only a notebook has.
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
# Where Matplotlib itself draws; how `calib_utils.plots` is called, the chapters teach.
DRAWS = "plt.subplots("
# Behind the beginning of a caption; the point of a number is none.
STOP = re.compile(r"[.:](?:\s|$)")


def fold_drawings(cells: list[NotebookNode]) -> None:
    """Tag the cells of code, in their order, that draw and that no open one after them needs.

    A fold without a name is called as the caption of its figure begins.
    """
    needed: set[str] = set()
    for cell in reversed(cells):
        bound, read = names_of(cell.source)
        tags = cell.metadata.get("tags", [])
        if draws(cell) and not FOLDED & set(tags) and not bound & needed:
            cell.metadata["tags"] = tags = [*tags, "hide-input"]
        if figure_of(cell.metadata) and FOLDED & set(tags):
            cell.metadata["mystnb"].setdefault("code_prompt_show", drawing_title(cell))
        if not FOLDED & set(tags):
            needed = (needed - bound) | read


def draws(cell: NotebookNode) -> bool:
    """Whether a cell draws its figure with Matplotlib itself."""
    return figure_of(cell.metadata) is not None and DRAWS in cell.source


def drawing_title(cell: NotebookNode) -> str:
    """What the code of a figure is called: what its cell says, or else as its caption begins."""
    shown = cell.metadata["mystnb"]
    begins = STOP.split(shown["figure"]["caption"], maxsplit=1)[0]
    return shown.get("code_prompt_show") or with_units_kept(f"Draw: {begins}")


def names_of(code: str) -> tuple[set[str], set[str]]:
    """What the code gives a name to, and what it reads before; none if it does not parse."""
    bound: set[str] = set()
    read: set[str] = set()
    with suppress(SyntaxError):
        for statement in ast.parse(code).body:
            made: set[str] = set()
            used: set[str] = set()
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
                elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.arg):
                    made.add(node.arg if isinstance(node, ast.arg) else node.name)
                elif isinstance(node, ast.alias):
                    made.add((node.asname or node.name).partition(".")[0])
            # `x = f(x)` reads the x before it, and `for x in …` its own.
            read |= used - bound - (set() if isinstance(statement, ast.Assign) else made)
            bound |= made
    return bound, read
