"""The notebook behind a page: one cell for each cell of the source, MyST kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from calib_utils._files import write_text
from tools.sources.book import Book, figure_of, table_of
from tools.sources.locations import code_of
from tools.sources.myst import MystError

# Code that the page shows only when asked, or that only a notebook has.
FOLDED = {"hide-input", "hide-cell", "remove-cell"}
TAGS = {"parameters", "varies", *FOLDED}

# What has no place in the caption of a table.
MARKUP = set("`*_{}$\\")

# Of a check that the page removes: in a notebook it says when the text no longer holds.
CHECK = "Does the text still hold?"


def is_solutions(page: str) -> bool:
    """Whether a page solves the exercises of the chapter with its name."""
    return page.startswith("notebooks/solutions/")


def page_notebook(book: Book, page: str) -> NotebookNode:
    """Read the source of a page for papermill to run.

    In the source a check stands below what it checks. Here all come last, so that nothing stops
    who reads a notebook, and nothing that they read can need a check.

    Raises:
        MystError: A code cell has an unknown tag, a fold without a name or an incomplete figure.
    """
    source = book.source(page)
    notebook = jupytext.reads(source, fmt="md:myst")
    starts = iter(code_of(source))
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source:
            start, _ = next(starts)
            try:
                _check(cell)
            except MystError as error:
                line = source.count("\n", 0, start) + 1
                raise MystError(f"line {line}: {error}") from None
    notebook.cells.sort(key=is_check)
    notebook.metadata = notebook_metadata()
    return numbered(notebook)


def is_check(cell: NotebookNode) -> bool:
    """Whether a cell only checks the text."""
    return cell.cell_type == "code" and fold_title(cell.metadata) == CHECK


def fold_title(metadata: dict[str, Any]) -> str:
    """What a reader is offered in place of folded code, such as "Where these numbers come from".

    It is what MyST-NB writes on the fold of the page.
    """
    tags = set(metadata.get("tags", []))
    given = metadata.get("mystnb", {}).get("code_prompt_show", "")
    return (given or CHECK * ("remove-cell" in tags)) if FOLDED & tags else ""


def notebook_metadata() -> dict[str, Any]:
    return {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }


def numbered(notebook: NotebookNode) -> NotebookNode:
    """Positions as ids and counts; nbval compares no cell without an execution count."""
    executed = 0
    for position, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{position:02d}"
        if cell.cell_type == "code":
            executed += 1
            cell.execution_count = executed
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = executed
    return notebook


def _check(cell: NotebookNode) -> None:
    first = cell.source.partition("\n")[0]
    unknown = set(cell.metadata.get("tags", [])) - TAGS
    if unknown or "nbval" in cell.source.lower():
        raise MystError(f"cell `{first}`: only the tags {', '.join(sorted(TAGS))} are known")
    if FOLDED & set(cell.metadata.get("tags", [])) and not fold_title(cell.metadata):
        raise MystError(
            f"cell `{first}`: say what is folded: `mystnb: {{code_prompt_show: Why this holds}}`"
        )
    figure = figure_of(cell.metadata)
    if figure and not all(figure.get(key) for key in ("name", "caption", "alt")):
        raise MystError(f"cell `{first}`: a figure needs a name, a caption and an alt text")
    table = table_of(cell.metadata)
    if table is not None and not (table.get("name") and table.get("caption")):
        raise MystError(f"cell `{first}`: a table needs a name and a caption")
    if table and MARKUP & set(table["caption"]):
        raise MystError(f"cell `{first}`: the caption of a table is plain text, with no markup")


def write_if_changed(notebook: NotebookNode, path: Path) -> bool:
    """Write a notebook, unless the file holds it already; say whether it was written."""
    text = nbformat.writes(notebook) + "\n"
    if path.exists() and path.read_text("utf-8") == text:
        return False
    write_text(path, text)
    return True
