"""The committed notebook of a chapter, which Colab and GitHub open and nbval runs.

Its text is plain Markdown, with an empty cell behind each exercise. Code that the page folds has a
title there, the checks that the page removes have a section at the end, and the profiles are a
choice in a form. Its stored outputs are what every later run is compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.sources.book import Book, figure_of, table_of
from tools.sources.chapter_notebook import (
    CHECK,
    fold_title,
    is_check,
    is_solutions,
    notebook_metadata,
    numbered,
    page_notebook,
)
from tools.sources.errors import ExecutionError
from tools.sources.flatten import Flattener
from tools.sources.locations import ANSWER
from tools.sources.myst import Directive, parse
from tools.sources.opening import PNG, assigned, install_code, lower_picture, raise_picture

CHECKS = f"""\
## {CHECK}

It was written for the original values. When you have changed some of them, run these cells,
whose titles quote what they check. They name each sentence that no longer holds and your values."""

# A disk that outlives the session, for training that goes on where it was cut off.
TICK = 'keep_on_drive = False  # @param {type:"boolean"}'
MOUNT = """\
if keep_on_drive:
    from google.colab import drive

    drive.mount("/content/drive")
    checkpoint_folder = "/content/drive/MyDrive/calibration\""""


def colab_notebook(book: Book, page: str, stored: NotebookNode | None = None) -> NotebookNode:
    """The committed notebook: plain Markdown, and the outputs of `stored`."""
    flattener = Flattener(book, page)
    cells: list[NotebookNode] = []
    drawn: list[tuple[NotebookNode, str]] = []
    own = page_notebook(book, page).cells
    checks = [cell for cell in own if is_check(cell)]
    for cell in own:
        if cell in checks[:1]:
            cells.append(new_markdown_cell(CHECKS))
        if cell.cell_type == "markdown":
            for part, is_exercise in _exercises(cell.source):
                text = flattener.flatten(part)
                cells += [new_markdown_cell(text)] if text else []
                if is_exercise and not is_solutions(page):
                    cells.append(new_code_cell(ANSWER))
            continue
        tags = cell.metadata.get("tags", [])
        figure, table = figure_of(cell.metadata), table_of(cell.metadata)
        # Here code is run rather than copied, so all that has a title is folded.
        title = fold_title(cell.metadata) or cell.metadata.get("mystnb", {}).get("code_prompt_show")
        title = _quoted(cell.source) if is_check(cell) else title
        if "parameters" in tags:
            cell.source = _form(book, page, cell.source)
        elif title:
            cell.source = f"# @title {title}\n{cell.source}"
        cell.metadata = _colab_metadata(tags, bool(title))
        cells.append(cell)
        if figure:
            drawn.append((cell, figure["alt"]))
            caption = flattener.caption(figure["name"], figure["caption"])
            cells.append(new_markdown_cell(caption))
        if table:
            caption = flattener.caption(table["name"], table["caption"])
            cells.append(new_markdown_cell(caption))
    # The opening comes first, which is all that a preview of a notebook shows.
    first = next((k for k, cell in enumerate(cells) if cell.cell_type == "code"), 0)
    install = install_code(book, (cell.source for cell in own if cell.cell_type == "code"))
    as_form = _colab_metadata(["hide-input"], is_folded=True)
    cells.insert(first, new_code_cell(install, metadata=as_form))
    if stored:
        lower_picture(stored.cells)
        _take_outputs(cells, stored.cells)
        for cell, alt in drawn:
            for output in cell.outputs:
                if PNG in output.get("data", {}):
                    output.metadata[PNG] = {"alt": alt}
    if not is_solutions(page):
        raise_picture(cells)
    return numbered(new_notebook(cells=cells, metadata=notebook_metadata()))


def keep_text(outputs: list[NotebookNode], where: str) -> list[NotebookNode]:
    """Outputs as they are compared: no pictures, no metadata, no traceback.

    Raises:
        ExecutionError: something was written to stderr, such as a warning.
    """
    kept: list[NotebookNode] = []
    for output in outputs:
        if output.get("name") == "stderr":
            text = output.text.strip()
            raise ExecutionError(f"{where} writes to stderr, where nobody reads it:\n\n{text}")
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


def _quoted(check: str) -> str:
    """What the claims of a check are about, for its title."""
    about = [
        ast.literal_eval(word.value)
        for node in ast.walk(ast.parse(check))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim"
        for word in node.keywords
        if word.arg == "about"
    ]
    more = f", and {len(about) - 1} more" if len(about) > 1 else ""
    return f"“{about[0]}”{more}" if about else CHECK


def _form(book: Book, page: str, parameters: str) -> str:
    """The parameters cell, with each profile's values behind one choice."""
    profiles = {name: book.parameters(page, name) for name in book.profiles}
    if len({str(values) for values in profiles.values()}) < 2:
        return parameters
    choice = ", ".join(f'"{name}"' for name in profiles)
    first, *others = profiles
    keeps = "checkpoint_folder" in profiles[first]
    lines = ["# @title Parameters", f'profile = "{first}"  # @param [{choice}]']
    lines += [TICK] if keeps else []
    lines += ["", *parameters.splitlines()]
    for name in others:
        lines += [f'if profile == "{name}":']
        lines += [assigned(key, value, "    ") for key, value in profiles[name].items()]
    lines += [MOUNT] if keeps else []
    return "\n".join(lines)


def _colab_metadata(tags: list[str], is_folded: bool) -> dict[str, Any]:
    """What folds code in Colab and in JupyterLab, and what nbval is not to compare."""
    if "varies" in tags:
        tags = [*tags, "nbval-ignore-output"]
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if is_folded:
        metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
    return metadata
