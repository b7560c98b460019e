"""How matplotlib draws for the book, in chapters and in scripts."""

from __future__ import annotations

import io
import re
import sys
from base64 import b64encode
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
# What no page needs of matplotlib's file; where its numbers are; its fonts, which few readers have;
# and its orange, in which words on white are hard to read.
HEAD = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
DRAWN = re.compile(r' (?:d|x|y|width|height|viewBox|transform|style)="[^"]*"')
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
FONTS = re.compile(r"'DejaVu Sans'(?:, [^;\"]*)?(?=[;\"])")
READABLE = {"#d55e00": "#c24e00"}
# Black, white and greys; BLUE, ORANGE and GREY of calib_utils.plots, and a pale orange.
COLOURS = {
    *("#000000", "#ffffff", "#b0b0b0", "#cccccc", "#d3d3d3"),
    *("#0072b2", "#d55e00", "#595959", "#f0c7a6", *READABLE.values()),
}
COPIES = Path("notebooks/made/figures")


def svg_of(figure: Figure) -> str:
    """A figure as an SVG file says it, the same each time; it is closed."""
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return short(text.getvalue())


def inside(figure: Figure) -> str:
    """A figure as a part of a page, beside words that say what it does."""
    source = b64encode(svg_of(figure).encode()).decode()
    return f'<img class="drawing" alt="" src="data:image/svg+xml;base64,{source}">'


def short(svg: str) -> str:
    """Matplotlib's drawing as readers get it, its numbers as long as an eye can tell apart."""

    def rounded(found: re.Match[str]) -> str:
        value = float(found[0])
        return f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")

    text = DRAWN.sub(lambda found: NUMBER.sub(rounded, " ".join(found[0].split(" "))), svg)
    text = FONTS.sub("system-ui, 'Segoe UI', sans-serif", HEAD.sub("", text))
    for old, new in READABLE.items():
        text = text.replace(old, new)
    return re.sub(r"\s*\n\s*", "\n", text).strip() + "\n"


def strange(svg: str) -> list[str]:
    """The colours of a drawing that are not the book's."""
    return sorted({*re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg)} - COLOURS)


def save(figure: Callable[[], Figure]) -> None:
    """Draw a script's figure into the file that its command names.

    For one that a chapter shows, there is a PNG beside it, to be compared with the chapter's copy.
    """
    import matplotlib.pyplot as plt

    plt.rcParams |= DRAWING
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    has_copy = (COPIES / f"{target.stem}.png").exists()
    for path in (target, *([target.with_suffix(".png")] if has_copy else [])):
        figure().savefig(path, metadata={"Date": None})  # a second save would lay it out again
    if found := strange(target.read_text("utf-8")):
        raise SystemExit(f"{sys.argv[0]} draws with {', '.join(found)}: see calib_utils.plots")
