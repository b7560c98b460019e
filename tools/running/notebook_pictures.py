"""The pictures in a committed notebook, which GitHub and Colab show before anything has run.

A picture is small, and changes only when its figure shows something else, so that a commit of
words holds no pictures.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from nbformat import NotebookNode
from PIL import Image

from tools.running.fingerprints import Print, differences

PNG = "image/png"
# Enough for lines and letters; most figures of the book have four.
COLOURS = 64


def of_cell(cell: NotebookNode) -> str | None:
    """The picture that a cell has drawn, as it is stored."""
    found = (output.get("data", {}).get(PNG) for output in cell.get("outputs", []))
    return next(filter(None, found), None)


def kept(
    figure: dict[str, str],
    before: NotebookNode | None,
    drawn: str,
    prints: tuple[Mapping[str, Print], Mapping[str, Print]],
) -> str:
    """The picture of a figure: the stored one, unless the figure shows something else now.

    Args:
        figure: its name and more.
        before: the cell as it is committed.
        drawn: what the cell has drawn.
        prints: the fingerprints as they were stored, and as they are now.
    """
    old = of_cell(before) if before else None
    was, now = ({figure["name"]: of.get(figure["name"], {})} for of in prints)
    return old if old and not differences(was, now) else small(drawn)


def small(png: str) -> str:
    """A picture on white, because a page may be dark, in few colours."""
    with Image.open(BytesIO(b64decode(png))) as opened:
        picture = opened.convert("RGBA")
    paper = Image.new("RGBA", picture.size, "white")
    paper.alpha_composite(picture)
    written = BytesIO()
    few = paper.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(written, format="PNG", optimize=True)
    return b64encode(written.getvalue()).decode() + "\n"


def show(outputs: list[NotebookNode], png: str, alt: str) -> None:
    """Add a picture to the output of a cell that has drawn one."""
    output: Any = next(one for one in outputs if one.output_type == "display_data")
    output.data = {PNG: png} | output.data
    output.metadata = {PNG: {"alt": alt}}
