"""Let nbval compare what a run has left: a plugin for pytest, which takes `--run EXECUTED`.

A chapter runs once. nbval asks a kernel for the outputs of each cell of the committed notebook;
this one answers with those of the page's notebook, which papermill has run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import nbval.plugin
import pytest
from nbformat import NotebookNode

from tools.sources.locations import ANSWER, INSTALLS

TITLE = re.compile(r"\A# @title .*\n")
RUN = "replayed"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run", type=Path, help="the notebook that has been run")


def pytest_configure(config: pytest.Config) -> None:
    """Take the kernel's place; what was run must be the code of the notebook."""
    committed, run = (
        nbformat.read(path, as_version=4) for path in (config.args[0], config.option.run)
    )
    try:
        cells = [own for _, own in paired(committed, run)]
    except ValueError as error:
        raise pytest.UsageError(str(error)) from error
    nbval.plugin.RunningKernel = lambda *arguments, **options: Replay(cells)


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


class Replay:
    """Speaks as nbval's `RunningKernel`, of cells that have run."""

    def __init__(self, cells: list[NotebookNode | None]) -> None:
        self.cells = iter(cells)
        self.messages: list[dict[str, Any]] = []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        cell = next(self.cells)
        for output in cell.outputs if cell else ():
            if "data" in output:
                shown = {k: v for k, v in output.data.items() if not k.startswith("image/")}
                output = nbformat.from_dict(output | {"data": shown})
            self._say(output.output_type, output)
        self._say("status", {"execution_state": "idle"})
        return RUN

    def _say(self, kind: str, content: dict[str, Any]) -> None:
        header = {"msg_id": RUN}
        self.messages.append({"msg_type": kind, "parent_header": header, "content": content})

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        pass

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        return self.messages.pop(0)

    def is_alive(self) -> bool:
        return True

    def stop(self) -> None:
        pass
