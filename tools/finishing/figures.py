"""Write the figures of the book into a folder, for slides.

`python -m tools.finishing.figures slides` does so.
Each is an SVG file named by its label, such as `fig-ten-answers.svg`; `figures.md` lists them with
number, caption and a text for those who cannot see them. `make book` must have run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from calib_utils._files import write_text
from tools.sources.book import Book, figure_of
from tools.sources.flatten import Flattener
from tools.sources.myst import Directive, parse

FIGURES = Path("build/figures")


def figures(book: Book, executed: Path) -> Iterator[tuple[str, str, str]]:
    """Label, entry of the list, and SVG of each figure that a chapter draws or shows.

    Raises:
        SystemExit: if a chapter was not executed.
    """
    for page in book.chapters:
        path = executed / f"{page}.ipynb"
        if not path.exists():
            raise SystemExit(f"{path} does not exist: run `make book` first")
        flattener = Flattener(book, page)
        for cell in nbformat.read(str(path), as_version=4).cells:
            for name, caption, alt, svg in [*_drawn(cell), *_shown(cell)]:
                caption = flattener.caption(name, caption)
                yield name, f"## {name}.svg\n\n{caption}\n\nText: {alt.strip()}\n", svg


def _drawn(cell: NotebookNode) -> Iterator[tuple[str, str, str, str]]:
    """Name, caption, alt text and SVG of the picture that a cell of code draws."""
    figure = figure_of(cell.metadata)
    for output in cell.get("outputs", []):
        if figure and (svg := output.get("data", {}).get("image/svg+xml")):
            yield figure["name"], figure["caption"], figure["alt"], svg


def _shown(cell: NotebookNode) -> Iterator[tuple[str, str, str, str]]:
    """The same of those that text shows, and scripts have drawn."""
    for block in parse(cell.source) if cell.cell_type == "markdown" else ():
        if isinstance(block, Directive) and block.name == "figure":
            svg = (FIGURES / Path(block.argument).name).read_text("utf-8")
            yield block.options["name"], block.body, block.options["alt"], svg


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", default="cpu", help="cpu (default) or gpu")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for label, entry, drawing in figures(Book(), Path("build/executed") / arguments.profile):
        write_text(arguments.folder / f"{label}.svg", drawing)
        entries.append(entry)
    write_text(arguments.folder / "figures.md", "\n".join(["# Figures\n", *entries]))
    print(f"{len(entries)} figures are in {arguments.folder}")


if __name__ == "__main__":
    main()
