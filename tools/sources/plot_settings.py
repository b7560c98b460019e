"""How matplotlib draws for the book, in chapters and in scripts."""

from __future__ import annotations

from typing import Any

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
