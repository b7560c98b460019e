"""Which cell of a page is which of the committed notebook, where Colab has cells of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

from tools.sources.locations import ANSWER, INSTALLS

TITLE = re.compile(r"\A# @title .*\n")


def paired(
    committed: NotebookNode, page: NotebookNode
) -> Iterator[tuple[NotebookNode, NotebookNode | None]]:
    """Each code cell of a committed notebook, and the page's; None for one only readers use.

    Raises:
        ValueError: The code of the two is not the same.
    """
    waiting = [cell for cell in page.cells if cell.cell_type == "code"]
    for cell in committed.cells:
        if cell.cell_type == "code":
            if cell.source == ANSWER or cell.source.startswith(INSTALLS):
                yield cell, None
            elif waiting and _is_form_of(cell.source, waiting[0]):
                yield cell, waiting.pop(0)
            else:
                raise ValueError(_differ(cell))
    if waiting:
        raise ValueError(_differ(waiting[0]))


def _is_form_of(source: str, own: NotebookNode) -> bool:
    """Whether this is a cell's code as Colab shows it: below a title, parameters in a form."""
    if "parameters" in own.metadata.get("tags", []):
        return f"\n{own.source}\n" in f"\n{source}\n"
    return TITLE.sub("", source) == TITLE.sub("", own.source)


def _differ(cell: NotebookNode) -> str:
    return f"what was run is not the notebook's code: `make book` again\n\n{cell.source}"
