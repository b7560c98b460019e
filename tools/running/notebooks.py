"""Make the two notebooks of each chapter from its one source.

    python -m tools.running.notebooks             write all notebooks that the sources have outgrown
    python -m tools.running.notebooks --execute    run them too, store their texts and pictures
    python -m tools.running.notebooks --changed    say what is doubtful in edited lines
    python -m tools.running.notebooks ece-and-mce solutions/ece-and-mce …   only these pages

`build/notebooks/NAME.ipynb` becomes the page; `notebooks/made/NAME.ipynb` is committed, for Colab.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.sources.book import Book, chosen, figure_of
from tools.sources.chapter_notebook import is_solutions, numbered, page_notebook, write_if_changed
from tools.sources.colab_notebook import colab_notebook, keep_text
from tools.sources.errors import plainly
from tools.sources.locations import committed, place
from tools.sources.myst import naming
from tools.sources.opening import lower_picture, raise_picture
from tools.sources.readme import README, update

NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.]\d)")
WORD = re.compile(r"[a-z]+")


def read_stored(path: Path) -> NotebookNode | None:
    return nbformat.read(path, as_version=4) if path.exists() else None


def make(book: Book, page: str, execute: bool) -> None:
    """Write both notebooks of a page where they have changed; store new outputs if asked."""
    path, made = committed(page), Path("build", f"{page}.ipynb")
    write_if_changed(page_notebook(book, page), made)
    notebook = colab_notebook(book, page, read_stored(path))
    changed = write_if_changed(notebook, path)
    if execute:
        # These bring nbval and papermill, which take a second each.
        from tools.running.check_outputs import paired
        from tools.running.execute import run
        from tools.running.notebook_pictures import kept, of_cell, show

        ran = run(made, Path("build/reference", f"{page}.ipynb"), "svg png")
        printed = numbers_of(notebook)
        lower_picture(notebook.cells)
        for cell, of in paired(notebook, ran):
            before = cell.copy()
            cell.outputs = keep_text(of.outputs, place(page, cell.source)) if of else []
            if of and (figure := figure_of(of.metadata)):
                show(cell.outputs, kept(of_cell(before), of_cell(of) or ""), figure["alt"])
        for line in outdated(book.source(page), printed - numbers_of(notebook)):
            print(f"{page}.md:{line}")
        if not is_solutions(page):
            raise_picture(notebook.cells)
        changed |= write_if_changed(numbered(notebook), path)
    if changed:
        print(f"wrote {path}")


def numbers_of(notebook: NotebookNode) -> set[str]:
    """The numbers that the cells have printed, as they are spelled; a single digit says nothing."""
    texts = [
        str(output.get("text") or output.get("data", {}).get("text/plain", ""))
        + str(output.get("data", {}).get("text/markdown", ""))
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]
    return {number for number in NUMBER.findall(" ".join(texts)) if len(number) > 1}


def outdated(markdown: str, lost: set[str]) -> Iterator[str]:
    """Each line of prose with a number that the last run printed and this one does not."""
    for number, line in enumerate(markdown.splitlines(), start=1):
        if found := lost.intersection(NUMBER.findall(line)):
            said = ", ".join(sorted(found))
            yield f"{number}: no cell prints {said} any more: {line.strip()}"


def doubtful(page: str) -> Iterator[str]:
    """Each line edited since the last commit with a number that no cell has, or a new word."""
    source, text = f"{page}.md", Path(f"{page}.md").read_text("utf-8")
    notebook = nbformat.read(committed(page), as_version=4)
    code = " ".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    numbers = numbers_of(notebook) | set(NUMBER.findall(code))
    words = set(_git("grep", "-ohiE", WORD.pattern, "HEAD", "--", "*.md").lower().split())
    edited = _git("diff", "-U0", "HEAD", "--", source)
    for start, count in re.findall(r"^@@ \S+ \+(\d+)(?:,(\d+))? @@", edited, re.MULTILINE):
        for number in range(int(start), int(start) + int(count or 1)):
            line = text.splitlines()[number - 1]
            new = {found for found in NUMBER.findall(line) if len(found) > 1} - numbers
            if new:
                yield f"{source}:{number}: no cell has {', '.join(sorted(new))}"
            if new := {*WORD.findall(line.lower())} - words:
                yield f"{source}:{number}: nowhere else: {', '.join(sorted(new))}"


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], capture_output=True, text=True, check=False).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="NAME", help="all without one")
    parser.add_argument("--execute", action="store_true", help="run them, store their outputs")
    parser.add_argument("--changed", action="store_true", help="look at edited lines")
    arguments = parser.parse_args()
    book = Book()
    if arguments.changed:
        for page in chosen(book.chapters, arguments.chapters):
            for line in doubtful(page):
                print(line)
        return
    book.labels  # noqa: B018  read all pages first: an error in one names that one
    pages = chosen(book.chapters, arguments.chapters)
    if arguments.execute:
        from tools.running.check_parts import store_parts

        store_parts([Path(f"{page}.md") for page in pages])  # first, for notebooks hold them
    for page in pages:
        with naming(page):
            make(book, page, arguments.execute)
    if README.exists() and update(book):
        print(f"wrote {README}")


if __name__ == "__main__":
    with plainly():
        main()
