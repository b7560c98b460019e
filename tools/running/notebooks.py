"""Make the two notebooks of each chapter from its one source.

    python -m tools.running.notebooks             write all notebooks that the sources have outgrown
    python -m tools.running.notebooks --execute    run them too, and store their text outputs
    python -m tools.running.notebooks ece-and-mce solutions/ece-and-mce …   only these pages

`build/notebooks/NAME.ipynb` becomes the page; `notebooks/NAME.ipynb` is committed, for Colab.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.sources.book import Book
from tools.sources.chapter_notebook import chosen, numbered, page_notebook, write_if_changed
from tools.sources.colab_notebook import colab_notebook, keep_text
from tools.sources.errors import ExecutionError
from tools.sources.locations import place
from tools.sources.myst import MystError, naming


def read_stored(path: Path) -> NotebookNode | None:
    return nbformat.read(path, as_version=4) if path.exists() else None


def make(book: Book, page: str, execute: bool) -> None:
    """Write both notebooks of a page where they have changed; store new outputs if asked."""
    path = Path(f"{page}.ipynb")
    write_if_changed(page_notebook(book, page), Path("build") / path)
    notebook = colab_notebook(book, page, read_stored(path))
    changed = write_if_changed(notebook, path)
    if execute:
        from tools.running.execute import run  # brings papermill, which takes a second

        executed = run(path, Path("build/reference") / path, "png", book.limit(page))
        for cell, ran in zip(notebook.cells, executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs = keep_text(ran.outputs, place(page, cell.source))
        changed |= write_if_changed(numbered(notebook), path)
    if changed:
        print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="NAME", help="all without one")
    parser.add_argument("--execute", action="store_true", help="run them, store their outputs")
    arguments = parser.parse_args()
    book = Book()
    book.labels  # noqa: B018  read all pages first: an error in one names that one
    for page in chosen(book, arguments.chapters):
        with naming(page):
            make(book, page, arguments.execute)


if __name__ == "__main__":
    try:
        main()
    except (MystError, ExecutionError) as error:
        print(error)
        sys.exit(1)
