"""Where notebooks are, and their cells in the source: so every report names file, line and cell."""

from __future__ import annotations

from pathlib import Path

import jupytext

# The cells of a notebook for Colab that stand in no source: for an answer, and this first line's.
ANSWER = "# Your answer"
INSTALLS = "# @title Install what is imported below, where it is missing"


def committed(page: str) -> Path:
    """The notebook that is made from `notebooks/NAME.md`, for Colab and GitHub."""
    return Path(f"notebooks/made/{page.removeprefix('notebooks/')}.ipynb")


def code_of(markdown: str) -> list[tuple[int, str]]:
    """Each code cell of a source: where its code begins in the text, and the code."""
    position, cells = 0, []
    for cell in jupytext.reads(markdown, fmt="md:myst").cells:
        if cell.cell_type == "code" and cell.source:
            fence = markdown.index("{code-cell}", position)
            start = markdown.index(f"\n{cell.source}\n", fence) + 1
            position = start + len(cell.source)
            cells.append((start, cell.source))
    return cells


def place(page: str, code: str) -> str:
    """Such as `notebooks/ece-and-mce.md:31: code cell 2`, of a cell in any notebook of a page."""
    text = Path(f"{page}.md").read_text("utf-8")
    cells = [(text.count("\n", 0, start) + 1, own) for start, own in code_of(text)]
    same = [own == code for _, own in cells]
    # For Colab, folded code has a title, and parameters stand inside a choice.
    for fits in (same, [own in code for _, own in cells]):
        if True in fits:
            count = fits.index(True)
            return f"{page}.md:{cells[count][0]}: code cell {count + 1}"
    return str(committed(page))
