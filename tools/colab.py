"""The committed notebook of a chapter, which Colab and GitHub open and nbval runs.

Its text is plain Markdown, with an empty cell behind each exercise. Its stored outputs are what
every later run is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.book import Book, figure_of
from tools.flatten import Flattener
from tools.kernel import ExecutionError
from tools.myst import Directive, parse
from tools.page import is_solutions, notebook_metadata, numbered, page_notebook

# What calib_utils needs beyond the packages that Colab has; with its own torch and NumPy kept.
COLAB_EXTRAS = "pooch safetensors"
ANSWER = "# Your answer"


def colab_notebook(book: Book, page: str, stored: NotebookNode | None = None) -> NotebookNode:
    """The committed notebook: plain Markdown, and the outputs of `stored`."""
    flattener = Flattener(book, page)
    cells = [_install_cell(book)] if book.repository else []
    for cell in page_notebook(book, page).cells:
        if cell.cell_type == "markdown":
            for part, is_exercise in _exercises(cell.source):
                text = flattener.flatten(part)
                cells += [new_markdown_cell(text)] if text else []
                if is_exercise and not is_solutions(page):
                    cells.append(new_code_cell(ANSWER))
            continue
        figure = figure_of(cell.metadata)
        cell.metadata = _colab_metadata(cell.metadata.get("tags", []))
        cells.append(cell)
        if figure:
            cells.append(new_markdown_cell(flattener.caption(figure["name"], figure["caption"])))
    if stored:
        _take_outputs(cells, stored.cells)
    return numbered(new_notebook(cells=cells, metadata=notebook_metadata()))


def keep_text(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Outputs as they are stored: no pictures, no metadata, no paths of a traceback.

    Raises:
        ExecutionError: something was written to stderr, such as a warning.
    """
    kept = []
    for output in outputs:
        if output.get("name") == "stderr":
            raise ExecutionError(f"a cell writes to stderr, where nobody reads it: {output.text}")
        output = nbformat.from_dict(output)
        if "data" in output:
            output.data = {k: v for k, v in output.data.items() if not k.startswith("image/")}
            output.metadata = {}
        if output.output_type == "error":
            output.traceback = []
        kept.append(output)
    return kept


def _take_outputs(cells: list[NotebookNode], stored: list[NotebookNode]) -> None:
    """Give each code cell the outputs of the same code, wherever it stood.

    A cell whose code has changed keeps the outputs of its place, so that nbval says what differs
    and an undone change leaves nothing behind.
    """
    new = [cell for cell in cells if cell.cell_type == "code"]
    old = [cell for cell in stored if cell.cell_type == "code"]
    matches = SequenceMatcher(None, [c.source for c in old], [c.source for c in new], False)
    for what, start, end, new_start, new_end in matches.get_opcodes():
        if what in ("equal", "replace"):
            for before, after in zip(old[start:end], new[new_start:new_end], strict=False):
                after.outputs = before.outputs


def _exercises(markdown: str) -> Iterator[tuple[str, bool]]:
    """Markdown cut behind each exercise; with each part, whether it ends with one."""
    part: list[str] = []
    for block in parse(markdown):
        part.append(block.text)
        if isinstance(block, Directive) and block.name == "exercise":
            yield "\n".join(part), True
            part = []
    yield "\n".join(part), False


def _install_cell(book: Book) -> NotebookNode:
    return new_code_cell(
        "import sys\n\n"
        'if "google.colab" in sys.modules:\n'
        f"    %pip install -q --no-deps git+{book.repository}@{book.branch}\n"
        f"    %pip install -q {COLAB_EXTRAS}",
        metadata=_colab_metadata(["hide-input"]),
    )


def _colab_metadata(tags: list[str]) -> dict[str, Any]:
    """Code that is folded on the page is folded in Colab and in JupyterLab."""
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if {"hide-input", "hide-cell", "remove-input", "remove-cell"} & set(tags):
        metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
    return metadata
