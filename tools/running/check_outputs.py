"""Check a page's outputs with nbval.

Papermill has run what becomes the page. Every output of that run must be the one that the committed
notebook stores, as nbval compares them, and every figure must show what the stored picture does. A
run to which a profile gave other parameters has nothing stored to be compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from difflib import unified_diff
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, coalesce_streams, find_metadata_tags, nocolors

from tools.running.notebook_pictures import difference, of_cell, small
from tools.sources.book import figure_of
from tools.sources.locations import ANSWER, INSTALLS, committed, place
from tools.sources.opening import lower_picture

# Neither what nbval leaves out nor figures, which are compared as pictures.
LEFT_OUT = (
    *("metadata", "output_type", "name", "execution_count"),
    *("image/png", "image/jpeg", "image/svg+xml"),
)
# Above folded code, in Colab alone.
TITLE = re.compile(r"\A# @title .*\n")
SHOWN = 2
AGAIN = "If the change is wanted: `make notebooks`, and read the diff."


class Comparison:
    """As much of nbval's cell as its comparison needs, without pytest and a kernel around it."""

    colors = nocolors
    # No difference is forgiven: no output may depend on the machine.
    parent = SimpleNamespace(skip_compare=LEFT_OUT, sanitize_patterns={})
    agree = IPyNbCell.compare_outputs
    sanitize = IPyNbCell.sanitize
    comparison_traceback: list[str]  # what it says of a difference

    def format_output_compare(self, kind: str, old: Any, new: Any) -> None:
        """What nbval takes from pytest."""
        before, after = str(old).splitlines(), str(new).splitlines()
        shown = unified_diff(before, after, "stored", "now", n=1, lineterm="")
        self.comparison_traceback += [f"mismatch '{kind}'", *shown]


def check_outputs(page: str, executed: Path) -> str:
    """What of a page's run differs from the committed notebook, and what to do; else nothing."""
    path, run = committed(page), nbformat.read(executed, as_version=4)
    if not has_own_parameters(run):
        return ""
    stored = nbformat.read(path, as_version=4)
    said = compare_run(page, stored, run) or compare_figures(page, stored, run)
    return said and f"{path}: the outputs are not the stored ones.\n\n{said}\n\n{AGAIN}"


def has_own_parameters(run: NotebookNode) -> bool:
    """Whether a run took the parameters that stand in the notebook."""
    return not any("injected-parameters" in cell.metadata.get("tags", []) for cell in run.cells)


def compare_run(page: str, stored: NotebookNode, run: NotebookNode) -> str:
    """What of a page that was run differs from its committed notebook; nothing if it agrees."""
    try:
        return compare_cells(page, [(cell, own) for cell, own in paired(stored, run) if own])
    except ValueError as error:
        return str(error)


def compare_cells(page: str, cells: Iterable[tuple[NotebookNode, NotebookNode]]) -> str:
    """What differs in the first cells that do; those behind often differ for the same reason.

    Args:
        page: where they are in the source.
        cells: those with the stored outputs, and those that were run.
    """
    found, judge = [], Comparison()
    for cell, ran in cells:
        check = dict(find_metadata_tags(cell.metadata)).get("check", True)
        if check and not judge.agree(*map(coalesce_streams, (ran.outputs, cell.outputs))):
            said = "\n".join(judge.comparison_traceback)
            found.append(
                f"{place(page, cell.source)}\nCell outputs differ\n{said}\n\n{cell.source}"
            )
    more = [f"… and {len(found) - SHOWN} more cells"] * (len(found) > SHOWN)
    return "\n\n".join([*found[:SHOWN], *more])


def compare_figures(page: str, stored: NotebookNode, run: NotebookNode) -> str:
    """Which figures of a run do not show what is stored, if there are any.

    A figure that varies between machines, such as that of a training, only has to be there.
    """
    said = []
    stored = deepcopy(stored)
    lower_picture(stored.cells)
    for cell, own in paired(stored, run):
        figure = figure_of(own.metadata) if own else None
        if figure and own and "varies" not in own.metadata.get("tags", []):
            drawn = of_cell(own)
            if found := difference(of_cell(cell), small(drawn) if drawn else None):
                said.append(f"{place(page, cell.source)}: {figure['name']}: {found}")
    return "\n".join(said)


def paired(
    stored: NotebookNode, run: NotebookNode
) -> Iterator[tuple[NotebookNode, NotebookNode | None]]:
    """Each code cell of a committed notebook, and the page's; None for one only readers use.

    Raises:
        ValueError: The code of the two is not the same.
    """
    waiting = [cell for cell in run.cells if cell.cell_type == "code"]
    for cell in stored.cells:
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
