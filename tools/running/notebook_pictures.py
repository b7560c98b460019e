"""The pictures in a committed notebook, which GitHub and Colab show before anything has run.

They are also what a run is compared with: a figure that shows something else than its stored
picture stops the build. One that shows the same keeps it, so a commit of words holds no pictures.
"""

from __future__ import annotations

import tempfile
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

from matplotlib.testing.compare import compare_images
from matplotlib.testing.exceptions import ImageComparisonFailure
from nbformat import NotebookNode
from PIL import Image

PNG = "image/png"
# Enough for lines and letters; most figures of the book have four.
COLOURS = 64
# Root mean square, of 255. Rounding gives less than 0.1, a small bar that is 2 % longer 1.2, and a
# different letter 4.
FURTHEST = 0.5


def of_cell(cell: NotebookNode) -> str | None:
    """The picture that a cell has drawn, as it is stored."""
    found = (output.get("data", {}).get(PNG) for output in cell.get("outputs", []))
    return next(filter(None, found), None)


def difference(stored: str | None, drawn: str | None) -> str:
    """How two pictures differ, each in the form of `small`; nothing if they show the same."""
    if not stored or not drawn:
        return f"a picture is {'drawn' if drawn else 'stored'} only" if stored or drawn else ""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("stored.png", "drawn.png")]
        for path, picture in zip(paths, (stored, drawn), strict=True):
            path.write_bytes(b64decode(picture))
        try:
            before, now = map(str, paths)
            found = compare_images(before, now, FURTHEST, in_decorator=True)
        except ImageComparisonFailure as error:  # other sizes
            return f"it has another size: {str(error).partition(':')[2].strip()}"
    return f"it differs by {float(found['rms']):.2f} (root mean square, of 255)" if found else ""


def kept(stored: str | None, drawn: str) -> str:
    """The picture to store: the stored one, unless the figure shows something else now."""
    new = small(drawn)
    return stored if stored and not difference(stored, new) else new


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
