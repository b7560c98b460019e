"""Figures that a reader can play with: their parts as data, and their place in a page.

A script `book/play/NAME.py` lets `calib_utils` compute every frame that a figure can show: the
numbers as they are printed, the bins, the curves. `book/assets/play.js` picks a frame and draws it;
it computes nothing. Where scripts run, the play takes the place of the chapter's picture, in the
same figure; print, and a browser without scripts, show the picture.

What changes is a `table`: a list with an entry for each setting of some of the controls.
"""

from __future__ import annotations

import json
import re
import sys
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._files import write_text

# As in play.js: the width of a panel in its own units. As in course.css, in rem: the heights of
# what is no drawing.
WIDTH = 340
TITLE, NUMBERS, BUTTONS = 2, 3.6, 2.4
CONTROL = {"range": 3.4, "choice": 2.4, "again": 2.4}
GUESS = 8.5
FEW = 100  # a bar of fewer answers is mostly chance
Json = dict[str, Any]


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def table(of: Iterable[Any], by: Sequence[int] = ()) -> Json:
    """One entry for each setting of the controls ``by``, the last of them running fastest."""
    return {"by": list(by), "of": list(of)}


def slider(
    label: str, stops: Iterable[object], start: int = 0, marks: dict[int, str] | None = None
) -> Json:
    """A control with its stops in order, and buttons that go straight to some of them."""
    return _control("range", label, stops, start) | {"marks": list((marks or {}).items())}


def choice(label: str, stops: Iterable[object], start: int = 0) -> Json:
    """A control whose stops have no order."""
    return _control("choice", label, stops, start)


def again(label: str, stops: Iterable[object]) -> Json:
    """A button that goes on to the next stop, and after the last to the first."""
    return _control("again", label, stops, 0)


def _control(kind: str, label: str, stops: Iterable[object], start: int) -> Json:
    return {"kind": kind, "label": label, "stops": [*map(str, stops)], "start": start}


def number(label: str, of: Iterable[str], by: Sequence[int]) -> Json:
    """A number under its name: for each setting, as it is printed."""
    return table(of, by) | {"label": label}


def at_once(part: Json) -> Json:
    """A number or a panel that a reader sees even before they have guessed."""
    return part | {"later": False}


def guess(
    controls: Sequence[int],
    ask: str,
    words: Iterable[str],
    by: Sequence[int],
    *,
    anew: int | None = None,
) -> Json:
    """What a reader is asked to set first, and what they then learn.

    Args:
        controls: The numbers of the controls with which they guess.
        ask: The question.
        words: For each setting of the controls ``by``, what a guess there was worth.
        by: Numbers of controls, ``controls`` among them.
        anew: The number of a control, each stop of which has a guess of its own. What one guesses
            with then stands beside the question, and goes with it.
    """
    return {"controls": list(controls), "ask": ask, "words": table(words, by), "anew": anew}


def frame(bins: Any, *, edges: bool = False) -> list[list[float]]:
    """Counts, right answers and summed confidence of `ReliabilityBins`, with or without edges."""
    means = np.array([bins.accuracy, bins.confidence])
    rows = frame_of_sums([bins.counts, *np.nan_to_num(bins.counts * means)])
    return [*rows, _short(bins.edges, 3)] if edges else rows


def frame_of_sums(sums: Any) -> list[list[float]]:
    """The same, of bins that were stored as counts, right answers and summed confidence."""
    counts, right, summed = map(np.asarray, sums)
    # Of many answers a tenth less is not seen.
    summed = np.where(counts < 100, summed, summed.round(1))
    return [counts.astype(int).tolist(), np.rint(right).astype(int).tolist(), _short(summed, 2)]


def diagram(
    frames: Json,
    x: str = "Confidence",
    *,
    height: int = 330,
    few: int = 0,
    relative: bool = False,
) -> Json:
    """A reliability diagram below a strip of counts; a bin with fewer than ``few`` is pale.

    The strip is as high as the fullest bin of all frames, or, if ``relative``, of the one shown.
    """
    top = 0 if relative else max(max(counts) for counts, *_ in frames["of"])
    panel = {"kind": "bins", "height": height, "x": x, "y": "accuracy", "few": few, "top": top}
    return panel | {"frames": frames}


def lines(
    title: str,
    x: Json,
    y: Json,
    curves: Sequence[Json],
    *,
    at: int | None = None,
    marks: Sequence[tuple[float, str]] = (),
    height: int = 165,
    begins: bool = False,
) -> Json:
    """Curves. Dots run along those that ``at``, the control of the x axis, moves them on.

    Args:
        title: What the curves are about.
        x: The horizontal `axis`, or a table of such.
        y: The vertical `axis`.
        curves: Made by `curve`.
        at: The control whose stops are the points of every curve with a dot.
        marks: Places on the x axis, each with the words at its dotted line.
        height: Of the panel, whose width is 340.
        begins: Whether what stands at 0 of the x axis is shown before a guess.
    """
    panel = {"kind": "lines", "height": height, "title": title, "x": x, "y": y, "begins": begins}
    return panel | {"curves": list(curves), "at": at, "marks": [list(mark) for mark in marks]}


def picture(title: str, sprite: bytes, across: int, down: int, cells: Json) -> Json:
    """One of the equal cells of a WebP image, by column and row."""
    source = f"data:image/webp;base64,{b64encode(sprite).decode()}"
    panel = {"kind": "picture", "height": 190, "title": title, "source": source}
    return panel | {"across": across, "down": down, "cells": cells}


def axis(
    low: float, high: float, ticks: Iterable[float | tuple[float, str]], label: str = ""
) -> Json:
    """From where to where an axis reaches, and where it says what, if not the number itself."""
    named = (tick if isinstance(tick, tuple) else (tick, str(tick)) for tick in ticks)
    inside = [[at, words] for at, words in named if low <= at <= high]
    return {"low": low, "high": high, "ticks": inside, "label": label}


def logarithms(numbers: Iterable[int]) -> list[tuple[float, str]]:
    """The ticks of a logarithmic axis."""
    return [(float(np.log10(number)), f"{number:,}") for number in numbers]


def curve(
    x: Sequence[float] | np.ndarray | Json,
    y: Sequence[float] | np.ndarray | Json,
    name: str = "",
    style: str = "a",
    *,
    digits: int = 4,
    dots: str = "",
    moves: bool = False,
    so_far: bool = False,
) -> Json:
    """A line through points; coordinates that are no table stand still.

    ``style`` is a, b, c, or w for a wide one that others may lie on; ``dots`` is o, s or d for
    signs instead of the line, ``o+`` for both. Of one that is drawn ``so_far``, only the points up
    to the stop of the panel's control are shown.
    """
    tables = (one if isinstance(one, dict) else table([one]) for one in (x, y))
    short = [
        table([_short(np.asarray(values), digits) for values in one["of"]], one["by"])
        for one in tables
    ]
    drawn = {"x": short[0], "y": short[1], "name": name}
    return drawn | {"style": style, "dots": dots, "moves": moves, "soFar": so_far}


def play(
    figures: Sequence[str],
    title: str,
    caption: str,
    alt: str,
    controls: Sequence[Json],
    numbers: Sequence[Json],
    panels: Sequence[Json],
    guess: Json | None = None,
    *,
    address: str = "",
) -> Json:
    """What a reader can try in the place of the figures of these names.

    ``caption`` follows the finding with which that of the figure begins, and says what is seen. The
    first of the ``panels`` is the picture that one looks at while one turns the knobs. ``address``
    is what a link to a state begins with, if not the figure's name.

    With a `guess`, what is not marked as `at_once` is shown once the reader has made theirs.

    Raises:
        ValueError: A table has not one entry for each setting of its controls.
    """
    tables = [*numbers, *([guess["words"]] if guess else [])]
    for panel in panels:
        tables += [panel[key] for key in ("frames", "cells") if key in panel]
        tables += [panel["x"]] if panel["kind"] == "lines" and "of" in panel["x"] else []
        tables += [curve[side] for curve in panel.get("curves", []) for side in "xy"]
    for one in tables:
        settings = int(np.prod([len(controls[control]["stops"]) for control in one["by"]]))
        if len(one["of"]) != settings:
            raise ValueError(f"{title}: {len(one['of'])} entries for {settings} settings")

    def hidden(part: Json) -> Json:
        later = {"later": True} if guess and part.get("later", True) else {}
        return {key: part[key] for key in part if key != "later"} | later

    return {
        "figures": list(figures),
        "title": title,
        "caption": caption,
        "alt": alt,
        "controls": list(controls),
        "numbers": [*map(hidden, numbers)],
        "panels": [*map(hidden, panels)],
        "guess": guess,
        "address": address,
    }


def write(*plays: Json) -> None:
    """The plays of a script as the file that its command names."""
    text = json.dumps(plays, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    write_text(Path(sys.argv[1]), text + "\n")


def plays_in(folder: Path) -> dict[str, Json]:
    """The plays of a folder's files, by the name of the figure.

    Raises:
        ValueError: Two plays are for the same figure.
    """
    found: dict[str, Json] = {}
    for path in sorted(folder.glob("*.json")):
        for one in json.loads(path.read_text("utf-8")):
            for name in one["figures"]:
                if name in found:
                    raise ValueError(f"{path}: there is another play for {name}")
                found[name] = one
    return found


def placed(body: str, plays: dict[str, Json]) -> str:
    """A page's text with each play in its figure."""

    def put(found: re.Match[str]) -> str:
        one = plays.get(found["name"])
        if one is None:
            return found[0]
        if one.get("kind") == "story":
            return told(found[0], one)
        text = embedded({key: one[key] for key in one if key not in ("figures", "caption")})
        style = ";".join(f"--{name}:{value:.1f}" for name, value in reserved(one).items())
        head, rest = found[0].split(">", 1)
        return (
            f'{head}><div class="play-stage" style="{style}"></div>'
            f'<script type="application/json" data-play="{found["name"]}">{text}</script>'
            f"{captioned(rest, one['caption'])}"
        )

    return FIGURE.sub(put, body)


def captioned(figure: str, words: str) -> str:
    """A figure whose caption has, behind its finding, words for the picture and for the play."""

    def both(found: re.Match[str]) -> str:
        still = f'<span class="play-still">{found["rest"]}</span>' if found["rest"] else ""
        return f'{found["finding"]} {still}<span class="play-words">{escape(words)}</span></span>'

    return CAPTION.sub(both, figure, count=1)


def embedded(data: Json) -> str:
    """Data as text of a script element, which no word in it ends."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def told(figure: str, story: Json) -> str:
    """A picture that moves as one scrolls (story.js), in its figure, with the words of each state.

    The picture that was there is for print, and for readers without scripts or movement.
    """
    steps = "".join(f"<p>{escape(words)}</p>" for words in story["steps"])
    data = embedded({key: story[key] for key in ("dots", "frames", "few", "alt")})
    head, rest = figure.split(">", 1)
    return (
        f'{head}><div class="story" role="group" aria-label="{escape(story["title"])}">'
        f'<div class="story-stage"></div><div class="story-steps">{steps}</div>'
        f'<script type="application/json" data-story="{story["figures"][0]}">{data}</script></div>'
        f'{rest}<script defer src="../_static/story.js"></script>'
    )


FIGURE = re.compile(
    r'<figure\b[^>]*\bid="(?P<name>fig-[a-z0-9-]+)"[^>]*>.*?<figcaption>.*?</figure>', re.DOTALL
)
# Its first sentence, and what follows it.
CAPTION = re.compile(
    r'(?P<finding><span class="caption-text">.*?[.?!])(?=\s+[A-Z]|</span>)\s*(?P<rest>.*?)</span>'
    r"(?=\s*(?:<a\b|</p>|</figcaption>))",
    re.DOTALL,
)


def reserved(one: Json) -> dict[str, float]:
    """About the height of a play on a phone and on a wide page, so that little jumps when it comes.

    In per cent of the width of its place, and with `-lines` in rem in addition.
    """
    first, *others = (panel["height"] / WIDTH for panel in one["panels"])
    controls = [CONTROL[c["kind"]] + BUTTONS * bool(c.get("marks")) for c in one["controls"]]
    rows = -(-len(one["numbers"]) // (3 if len(one["numbers"]) == 3 else 2))
    beside = sum(controls) + NUMBERS * rows + GUESS * bool(one["guess"])
    narrow = {"narrow": 100 * (first + sum(others)), "narrow-lines": TITLE + beside}
    # Beside the first panel on a wide page, which others follow two by two.
    below = sum(max(others[k : k + 2]) for k in range(0, len(others), 2))
    return narrow | {"wide": 50 * (first + below), "wide-lines": TITLE}


def _short(values: np.ndarray, digits: int) -> list[float]:
    """Rounded, and 3 instead of 3.0: a picture needs no more."""
    rounded = np.round(np.asarray(values, dtype=float), digits)
    return [int(value) if value == int(value) else float(value) for value in rounded]
