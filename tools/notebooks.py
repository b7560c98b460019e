"""Make the two notebooks of each chapter from its one source.

    python -m tools.notebooks              write all notebooks that the sources have outgrown
    python -m tools.notebooks --execute    run them too, and store their text outputs
    python -m tools.notebooks 02 05 …      only these chapters

`build/notebooks/NN.ipynb` keeps the MyST and becomes the page. The committed `notebooks/NN.ipynb`
is flattened for Colab, and its stored outputs are what nbval compares every run with.
"""

from __future__ import annotations

import argparse
import sys
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from tools.book import Book, figure_of
from tools.flatten import Flattener
from tools.kernel import ExecutionError
from tools.myst import Directive, MystError, naming, parse

TAGS = (
    {"parameters"}
    | {f"hide-{part}" for part in ("input", "output", "cell")}
    | {f"remove-{part}" for part in ("input", "output", "cell")}
)
# What calib_utils needs beyond the packages that Colab has; with its own torch and NumPy kept.
COLAB_EXTRAS = "pooch safetensors"


def page_notebook(book: Book, page: str) -> NotebookNode:
    """The notebook that papermill runs: one cell for each cell of the source, MyST kept."""
    notebook = jupytext.reads(book.source(page), fmt="md:myst")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            _check(cell)
    notebook.metadata = _metadata()
    return _numbered(notebook)


def colab_notebook(book: Book, page: str, stored: NotebookNode | None = None) -> NotebookNode:
    """The committed notebook: plain Markdown, and the outputs of `stored`."""
    flattener = Flattener(book, page)
    cells = [_install_cell(book)] if book.repository else []
    in_solution = False
    for cell in page_notebook(book, page).cells:
        if cell.cell_type == "markdown":
            in_solution = _in_solution(cell.source, in_solution)
            text = flattener.flatten(cell.source)
            cells += [new_markdown_cell(text)] if text else []
            continue
        figure = figure_of(cell.metadata)
        cell.metadata = _colab_metadata(cell.metadata.get("tags", []), in_solution)
        cells.append(cell)
        if figure:
            cells.append(new_markdown_cell(flattener.caption(figure["name"], figure["caption"])))
    if stored:
        _take_outputs(cells, stored.cells)
    return _numbered(nbformat.v4.new_notebook(cells=cells, metadata=_metadata()))


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


def read_stored(path: Path) -> NotebookNode | None:
    return nbformat.read(path, as_version=4) if path.exists() else None


def write_if_changed(notebook: NotebookNode, path: Path) -> bool:
    text = nbformat.writes(notebook) + "\n"
    if path.exists() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return True


def _check(cell: NotebookNode) -> None:
    first = cell.source.partition("\n")[0]
    unknown = set(cell.metadata.get("tags", [])) - TAGS
    if unknown or "nbval" in cell.source.lower():
        raise MystError(f"cell `{first}`: only the tags {', '.join(sorted(TAGS))} are known")
    figure = figure_of(cell.metadata)
    if figure and not all(figure.get(key) for key in ("name", "caption", "alt")):
        raise MystError(f"cell `{first}`: a figure needs a name, a caption and an alt text")


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


def _install_cell(book: Book) -> NotebookNode:
    return new_code_cell(
        "import sys\n\n"
        'if "google.colab" in sys.modules:\n'
        f"    %pip install -q --no-deps git+{book.repository}@{book.branch}\n"
        f"    %pip install -q {COLAB_EXTRAS}",
        metadata=_colab_metadata(["hide-input"]),
    )


def _in_solution(markdown: str, before: bool) -> bool:
    """Whether the cells behind this one are a solution, which the page folds as a whole."""
    names = [block.name for block in parse(markdown) if isinstance(block, Directive)]
    gates = [name for name in names if name in ("solution-start", "solution-end")]
    return gates[-1] == "solution-start" if gates else before


def _colab_metadata(tags: list[str], in_solution: bool = False) -> dict[str, Any]:
    """Code that is folded on the page is folded in Colab and in JupyterLab."""
    metadata: dict[str, Any] = {"tags": tags} if tags else {}
    if in_solution or {"hide-input", "hide-cell", "remove-input", "remove-cell"} & set(tags):
        metadata |= {"cellView": "form", "jupyter": {"source_hidden": True}}
    return metadata


def _metadata() -> dict[str, Any]:
    return {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }


def _numbered(notebook: NotebookNode) -> NotebookNode:
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


def make(book: Book, page: str, execute: bool) -> None:
    """Write both notebooks of a page where they have changed; store new outputs if asked."""
    path = Path(f"{page}.ipynb")
    write_if_changed(page_notebook(book, page), Path("build") / path)
    notebook = colab_notebook(book, page, read_stored(path))
    changed = write_if_changed(notebook, path)
    if execute:
        from tools.execute import run  # brings papermill, which takes a second

        executed = run(path, Path("build/reference") / path, "png")
        for cell, ran in zip(notebook.cells, executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs = keep_text(ran.outputs)
        changed |= write_if_changed(_numbered(notebook), path)
    if changed:
        print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="NN", help="all without one")
    parser.add_argument("--execute", action="store_true", help="run them, store their outputs")
    arguments = parser.parse_args()
    book = Book()
    book.labels  # noqa: B018  read all pages first: an error in one names that one
    for page in book.chapters:
        number = page.removeprefix("notebooks/").partition("-")[0]
        if arguments.chapters and number not in arguments.chapters:
            continue
        with naming(page):
            make(book, page, arguments.execute)


if __name__ == "__main__":
    try:
        main()
    except (MystError, ExecutionError) as error:
        print(error)
        sys.exit(1)
