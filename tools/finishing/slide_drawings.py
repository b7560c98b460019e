"""Drawings as a slide shows them: three rows of panels, for which a page has room, become two.

A slide is wide, so the panels of a tall drawing would be small on it.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

from bs4 import Tag

OUTSIDE = 2.0  # points; words farther from a frame are about its axis
GAP = 12.0  # between panels that stood in one column


class Panel(NamedTuple):
    """A panel, the frame of its axes, and the words to the left of that and below it."""

    tag: Tag
    x: float
    y: float
    size: tuple[float, float]
    beside: list[Tag]
    below: list[Tag]


def in_two_rows(drawing: Tag) -> bool:
    """Move the panels of three rows or more into two, in the order in which one reads them.

    Labels that panels share stand at those that come to an edge. Nothing changes with fewer rows,
    with panels of several sizes, or with words that belong to no panel.

    Returns:
        Whether the last place is free now.
    """
    panels = [_panel(drawing, tag) for tag in drawing.select("g.panel:has([clip-path])")]
    columns, rows = sorted({one.x for one in panels}), sorted({one.y for one in panels})
    others = drawing.select(":scope > :not(g.panel:has([clip-path]), defs)")
    if len(rows) < 3 or len({one.size for one in panels}) > 1 or others:
        return False
    _, _, width, height = map(float, str(drawing["viewbox"]).split())
    # Panels in a single column may measure different things.
    shared = len(columns) > 1
    right, down = columns[1] - columns[0] if shared else width + GAP, rows[1] - rows[0]
    across = (len(panels) + 1) // 2
    at = {(one.x, one.y): one for one in panels}
    for k, one in enumerate(panels):
        row, column = divmod(k, across)
        if shared:
            first = at[columns[0], one.y]
            _label(one, one.beside, first, first.beside if column == 0 else [])
        if k + across >= len(panels):
            last = at[one.x, rows[-1]]
            _label(one, one.below, last, last.below)
        x, y = columns[0] + column * right - one.x, rows[0] + row * down - one.y
        one.tag["transform"] = f"translate({x:.1f} {y:.1f})"
    width, height = width + (across - len(columns)) * right, height - (len(rows) - 2) * down
    drawing["viewbox"] = f"0 0 {width:.1f} {height:.1f}"
    drawing["width"], drawing["height"] = f"{width:.0f}", f"{height:.0f}"
    return len(panels) % 2 == 1


def _panel(drawing: Tag, tag: Tag) -> Panel:
    """Its frame is what clips its curves."""
    clipped = str(tag.select("[clip-path]")[0]["clip-path"])
    frame = drawing.select(f"[id='{clipped[5:-1]}'] rect")[0]
    x, y, width, height = (float(str(frame[side])) for side in ("x", "y", "width", "height"))
    beside: list[Tag] = []
    below: list[Tag] = []
    for words in tag.select("text[x]"):
        if float(str(words["x"])) < x - OUTSIDE:
            beside.append(words)
        elif float(str(words["y"])) > y + height + OUTSIDE:
            below.append(words)
    return Panel(tag, x, y, (width, height), beside, below)


def _label(one: Panel, old: list[Tag], like: Panel, labels: list[Tag]) -> None:
    """Give a panel the labels of another one in place of its own."""
    moved = f"translate({one.x - like.x:.1f} {one.y - like.y:.1f})"
    group = Tag(name="g", attrs={"transform": moved})
    group.extend([copy(words) for words in labels])
    for words in old:
        words.extract()
    one.tag.append(group)
