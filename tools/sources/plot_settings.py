"""How matplotlib draws for the book, in chapters and in scripts."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of a drawing: its names, else random; text as text, on nothing; letters that are 9 px high on a
# phone when the drawing, 4.8 inches wide or less, is as wide as the phone; of an image its own few
# pixels, which a browser makes larger.
DRAWING: Any = {
    "svg.hashsalt": "course",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.titlesize": "medium",
    "figure.titlesize": "medium",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.facecolor": "white",
    "image.interpolation": "none",
    "savefig.pad_inches": 0.04,
}


def svg_of(figure: Figure) -> str:
    """A figure as an SVG file says it, the same each time; it is closed."""
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()


def save(figure: Callable[[], Figure]) -> None:
    """Draw a script's figure into the file that its command names, and as a PNG beside it."""
    import matplotlib.pyplot as plt

    plt.rcParams |= DRAWING
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    for path in (target, target.with_suffix(".png")):
        figure().savefig(path, metadata={"Date": None})  # a second save would lay it out again
