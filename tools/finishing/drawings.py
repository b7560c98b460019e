"""Drawings inside the pages: their colours follow the page, their text is text in its font.

Matplotlib's SVG is a picture on white, with much that no page needs. In the page it has the theme's
colours, light or dark; names of its own, since a page has many drawings; and numbers as long as an
eye can tell apart.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from calib_utils.plots import BLUE, GREY, ORANGE
from tools.finishing.pages import pages_of
from tools.sources.errors import MystError
from tools.sources.no_break import with_units_kept

IMAGE = re.compile(r'<img\b(?=[^>]*?\bsrc="(?P<path>[^"]+\.svg)")[^>]*>')
ALT = re.compile(r'\balt="(?P<alt>[^"]*)"')
# What course.css has for each colour that the chapters draw with.
COLOURS = {
    "#000000": "currentColor",
    "#ffffff": "var(--ground)",
    BLUE.lower(): "var(--blue)",
    ORANGE.lower(): "var(--orange)",
    GREY.lower(): "var(--grey)",
    "#f0c7a6": "var(--pale-orange)",
    "#b0b0b0": "var(--line)",
    "#cccccc": "var(--line)",
    "#d3d3d3": "var(--line)",
}
# What a browser takes for granted, or course.css says of every drawing.
GIVEN = {
    ("stroke-linejoin", "round"),
    ("stroke-linecap", "butt"),
    ("stroke-dashoffset", "0"),
    ("stroke-width", "1"),
    ("font-style", "normal"),
    ("font-weight", "400"),
    ("text-anchor", "start"),
    ("font-size", "11"),
}
NOT_OURS = {"metadata", "style", "title"}
# What has, as an attribute, none of the values that it has in CSS.
IN_CSS = "image-rendering"
REFERENCE = re.compile(r"url\(#(?P<id>[^)]+)\)")
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
LINE = re.compile(r"M [-\d.e]+ [-\d.e]+ (?:L [-\d.e]+ [-\d.e]+ ){8,}")
POINT, CLOSE = 4 / 3, 0.1


def draw(site: Path) -> None:
    """Rewrite the pages of a built site: their SVG pictures are drawings inside them."""
    pictures: set[Path] = set()
    # Of all pages, because slides join the drawings of two.
    names = (f"d{k}" for k in itertools.count(1))
    for page in pages_of(site):

        def drawn(found: re.Match[str], folder: Path = page.parent) -> str:
            picture = (folder / found["path"]).resolve()
            pictures.add(picture)
            alt = ALT.search(found[0])
            return drawing(picture.read_text("utf-8"), alt["alt"] if alt else "", next(names))

        page.write_text(IMAGE.sub(drawn, page.read_text("utf-8")), "utf-8")
    for picture in pictures:
        picture.unlink()


def drawing(svg: str, alt: str | None, name: str) -> str:
    """Matplotlib's SVG as an element of a page.

    Args:
        svg: the file.
        alt: what a reader who cannot see it should know, escaped as in HTML; or None, if the words
            beside it say it.
        name: what its ids begin with, unlike those of any other drawing of the page.

    Raises:
        MystError: a colour has no counterpart in the dark.
    """
    root = ElementTree.fromstring(svg)
    # A slide may show one panel after the other.
    groups = root.findall("./{*}g[@id='figure_1']/{*}g")
    panels = [one for one in groups if one.get("id", "").startswith("axes_")]
    for one in panels if len(panels) > 1 else []:
        one.set("class", "panel")
    used = dict.fromkeys(reference for one in root.iter() for reference in _references(one))
    names = {old: f"{name}-{k}" for k, old in enumerate(used)}
    width, height = (
        round(float(root.get(side, "0").removesuffix("pt")) * POINT) for side in ("width", "height")
    )
    inside = "".join(part for child in root for part in _parts(child, names))
    says = 'aria-hidden="true"' if alt is None else f'role="img" aria-label="{alt}"'
    return (
        f'<svg class="drawing" {says} width="{width}" height="{height}" '
        f'viewBox="{_short(root.get("viewBox", ""))}">{inside}</svg>'
    )


def _local(name: str) -> str:
    """Without the namespace that the parser puts before a name."""
    return name.rpartition("}")[2]


def _references(one: Element) -> Iterator[str]:
    for key, value in one.attrib.items():
        if _local(key) == "href" and value.startswith("#"):
            yield value[1:]
        yield from (found["id"] for found in REFERENCE.finditer(value))


def _parts(one: Element, names: dict[str, str]) -> Iterator[str]:
    """The element as text; what draws nothing is left out, what only groups is taken apart."""
    tag = _local(one.tag)
    if tag in NOT_OURS:
        return
    attributes = _attributes(one, names)
    inside = "".join(part for child in one for part in _parts(child, names))
    words = escape(with_units_kept((one.text or "").strip()), quote=False)
    if tag in ("g", "defs") and (not attributes or not inside):
        yield inside if tag == "g" else f"<defs>{inside}</defs>" * bool(inside)
    elif tag == "path" and attributes.get("fill") == "none" and "stroke" not in attributes:
        return  # an empty ground
    else:
        written = "".join(f' {key}="{value}"' for key, value in attributes.items())
        end = f">{words}{inside}</{tag}>" if words or inside else "/>"
        yield f"<{tag}{written}{end}"


def _attributes(one: Element, names: dict[str, str]) -> dict[str, str]:
    """What the element says, shorter, its style among it."""
    declarations = (part.partition(":") for part in one.get("style", "").split(";"))
    style = {key.strip(): value.strip() for key, _, value in declarations if value}
    said = {_local(key): value for key, value in one.attrib.items() if key != "style"} | style
    found = {}
    for key, value in said.items():
        if key == "id":
            if value not in names:
                continue
            value = names[value]
        elif key == "href" and value.startswith("#"):
            value = f"#{names[value[1:]]}"
        elif key in ("fill", "stroke"):
            value = _colour(value)
        elif key == "d":
            value = _short(LINE.sub(_fewer, " ".join(value.split()) + " "))
        elif key == "transform":
            # Matplotlib turns text by nothing.
            value = "" if value.startswith("rotate(-0 ") else _short(value)
        elif key == "font-family":
            continue
        elif not value.startswith("data:"):
            value = _short(value.removesuffix("px"))
        value = REFERENCE.sub(lambda found: f"url(#{names[found['id']]})", value)
        is_ink = one.tag.endswith("text") and (key, value) == ("fill", "currentColor")
        if key == IN_CSS:
            key, value = "style", f"{key}:{value}"
        if value and (key, value) not in GIVEN and not is_ink:
            found[key] = value
    return found


def _colour(value: str) -> str:
    if re.fullmatch("#[0-9a-f]{3}", value):  # as people write it
        value = "#" + "".join(2 * digit for digit in value[1:])
    if value.startswith("#") and value not in COLOURS:
        raise MystError(
            f"a figure has the colour {value}, for which there is none in the dark: draw with "
            "BLUE, ORANGE and GREY of calib_utils.plots, black and white, or add it to "
            "tools/finishing/drawings.py and book/assets/course.css"
        )
    return COLOURS.get(value, value)


def _short(text: str) -> str:
    """Numbers to a tenth of a point, those below 10 to a hundredth; no space that is not needed."""

    def rounded(found: re.Match[str]) -> str:
        value = float(found[0])
        return f"{value:.{1 if abs(value) >= 10 else 2}f}".rstrip("0").rstrip(".")

    text = NUMBER.sub(rounded, " ".join(text.split()))
    return re.sub(r"(?<=[A-Za-z]) (?=[-\d])|(?<=\d) (?=[A-Za-z-])|(?<=z) ", "", text)


def _fewer(found: re.Match[str]) -> str:
    """A long line through as few of its points as lie within a tenth of a point of it."""
    values = [float(value) for value in re.findall(r"[-\d.e]+", found[0])]
    points = list(zip(values[::2], values[1::2], strict=True))
    kept, ranges = {0, len(points) - 1}, [(0, len(points) - 1)]
    while ranges:
        low, high = ranges.pop()
        (x0, y0), (x1, y1) = points[low], points[high]
        length = math.hypot(x1 - x0, y1 - y0)
        far, most = low, CLOSE
        for k in range(low + 1, high):
            x, y = points[k][0] - x0, points[k][1] - y0
            away = abs(x * (y1 - y0) - y * (x1 - x0)) / length if length else math.hypot(x, y)
            if away > most:
                far, most = k, away
        if far != low:
            kept.add(far)
            ranges += [(low, far), (far, high)]
    chosen = [points[k] for k in sorted(kept)]
    return "M " + " L ".join(f"{x} {y}" for x, y in chosen) + " "
