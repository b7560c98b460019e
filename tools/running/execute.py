"""Run a chapter with papermill: `python -m tools.running.execute PAGE PROFILE PARAMETERS`.

Reads `build/notebooks/…`, writes `build/executed/PROFILE/…`. The profile's parameters are given as
JSON: its file may have changed since the pipeline read it.
A failure is told in a few lines: source file and line, cell, error.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError

from tools.running.kernel import Status, heartbeat, kernel_environment
from tools.sources.book import DEFAULT_PROFILE, figure_of
from tools.sources.errors import ExecutionError, plainly
from tools.sources.locations import place
from tools.sources.plot_settings import strange

BUILD = Path("build")
SECONDS_TO_START = 600  # of a kernel, on a busy machine
# That a cell may take; with another profile it may train for hours.
SECONDS, DAY = 600, 86_400
# A kernel gets the numbers of ports that are free, and opens them a second later. If another
# process has taken one by then, the kernel ends, so it is started again. No cell has run yet.
ENDED_AT_START = "Kernel died before replying to kernel_info"
STARTS = 3


def run(
    source: Path,
    target: Path,
    figures: str,
    parameters: dict[str, Any] | None = None,
    limit: int = SECONDS,
) -> NotebookNode:
    """Execute `source` in the folder `notebooks/`; write `target` once every cell has run.

    A cell may take `limit` seconds.
    """
    environment = kernel_environment(figures)
    os.environ.clear()
    os.environ.update(environment)
    unfinished = target.with_suffix(".part.ipynb")
    target.parent.mkdir(parents=True, exist_ok=True)
    with heartbeat(source.stem) as status:
        status.total = sum(map(is_code, nbformat.read(source, as_version=4).cells))
        try:
            notebook = _execute(
                source,
                unfinished.absolute(),
                parameters,
                kernel_name="python3",
                progress_bar=False,
                cwd="notebooks",
                on_cell_start=_telling(status),
                start_timeout=SECONDS_TO_START,
                execution_timeout=limit,
                # What is printed comes in pieces whose ends depend on the moment.
                coalesce_streams=True,
            )
        except PapermillExecutionError as error:
            what = f"{error.ename}: {error.evalue}"
            raise ExecutionError(_explain(source, error.source, what)) from error
        except DeadKernelError as error:
            what = f"the kernel died ({error})"
            raise ExecutionError(_explain(source, status.source, what)) from error
        except CellTimeoutError as error:
            what = f"it took longer than {limit} s: make it faster"
            raise ExecutionError(_explain(source, status.source, what)) from error
    unfinished.replace(target)
    return notebook


def run_page(page: str, profile: str, given: str = "{}") -> None:
    """Run the page's notebook with a profile, whose parameters the page shows if one is another."""
    source = BUILD / f"{page}.ipynb"
    defaults = parameters_of(nbformat.read(source, as_version=4))
    parameters: dict[str, Any] = json.loads(given)
    if unknown := parameters.keys() - defaults.keys():
        raise ExecutionError(
            f"{page}: its parameters cell does not have {', '.join(sorted(unknown))}, which "
            f"notebooks/parameters/{profile}.yml gives; it has {', '.join(defaults) or 'none'}"
        )
    target = BUILD / "executed" / profile / f"{page}.ipynb"
    other = parameters if parameters != defaults else None
    limit = SECONDS if profile == DEFAULT_PROFILE else DAY
    notebook = run(source, target, "svg png", other, limit)
    for cell in notebook.cells:
        check_pictures(cell, page)
        check_paths(cell, page)


def parameters_of(notebook: NotebookNode) -> dict[str, Any]:
    """The values in the cell tagged `parameters`; none without such a cell."""
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", []):
            lines = ast.parse(cell.source).body
            return {line.targets[0].id: ast.literal_eval(line.value) for line in lines}
    return {}


def check_pictures(cell: NotebookNode, page: str) -> None:
    """Raise ExecutionError unless the cell's pictures are the one that its metadata describes."""
    pictures = sum(
        any(kind.startswith("image/") for kind in output.get("data", {}))
        for output in cell.get("outputs", [])
    )
    described = figure_of(cell.metadata) is not None
    hidden = "remove-cell" in cell.metadata.get("tags", [])
    if pictures != described and not hidden:
        raise ExecutionError(
            f"{place(page, cell.source)} draws {pictures} pictures and describes {int(described)}: "
            "each needs a cell of its own, with a figure's name, caption and alt text"
        )

    for output in cell.get("outputs", []):
        if described and (found := strange(output.get("data", {}).get("image/svg+xml", ""))):
            raise ExecutionError(
                f"{place(page, cell.source)} draws with {', '.join(found)}: draw with BLUE, ORANGE "
                "and GREY of calib_utils.plots, black and white, which are told apart in the dark"
            )


def check_paths(cell: NotebookNode, page: str) -> None:
    """Raise ExecutionError where an output names a file of the machine that the page was made on.

    Such as a warning does: no reader has that file, and it tells who made the page, and where.
    """
    # A home may be the root, of which every path is a part; an address on the web may have /tmp.
    own = {str(path) for path in (Path.home(), Path.cwd(), Path(tempfile.gettempdir()))} - {"/"}
    starts = [*map(re.escape, own), r"/[^\s\"'<>]*/(?:site|dist)-packages"]
    named = re.compile(rf"(?<![\w.:/-])(?:{'|'.join(starts)})(?![\w.-])[^\s\"'<>]*")
    for output in cell.get("outputs", []):
        texts = [output.get("text", ""), *output.get("data", {}).values()]
        for text in texts:
            if isinstance(text, str) and (found := named.search(text)):
                line = next(line for line in text.splitlines() if found[0] in line)
                raise ExecutionError(
                    f"{place(page, cell.source)} names {found[0]}, a file of this machine, in what "
                    f"it says: print no paths, and let nothing warn\n\n    {line.strip()}"
                )


def is_code(cell: NotebookNode) -> bool:
    """Whether a cell has code of the chapter: not the profile's parameters."""
    return cell.cell_type == "code" and "injected-parameters" not in cell.metadata.get("tags", [])


def _execute(*arguments: Any, **options: Any) -> NotebookNode:
    for _ in range(STARTS - 1):
        try:
            return papermill.execute_notebook(*arguments, **options)
        except RuntimeError as error:
            if ENDED_AT_START not in str(error):
                raise
    return papermill.execute_notebook(*arguments, **options)


def _telling(status: Status) -> Callable[..., None]:
    """What nbclient calls as a cell begins; `status` then says which one is running."""

    def cell_start(cell: NotebookNode, cell_index: int) -> None:
        if is_code(cell):
            status.count, status.source = status.count + 1, cell.source

    return cell_start


def _explain(source: Path, code: str, what: str) -> str:
    """Name the file and line that the author can open, the cell, its code, and the error."""
    page = Path(*source.parts[source.parts.index("notebooks") :]).with_suffix("").as_posix()
    lines = code.strip().splitlines()
    shown = lines if len(lines) < 12 else [*lines[:5], "…", *lines[-5:]]
    quoted = "\n".join(f"    {text}" for text in shown)
    return f"{place(page, code)} failed\n\n{quoted}\n\n{what}"


if __name__ == "__main__":
    with plainly():
        run_page(*sys.argv[1:])
