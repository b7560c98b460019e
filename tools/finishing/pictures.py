"""Matplotlib's drawings as pages show them: files with short numbers, each shown at its own size.

The style sheet turns them for a dark page, and leaves a photograph in one as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from tools.finishing.pages import pages_of
from tools.sources.plot_settings import short

IMAGE = re.compile(r'<img\b(?P<rest>[^>]*?\bsrc="(?P<path>[^":]+\.svg)"[^>]*?) ?/?>')
SIZE = re.compile(r'<svg\b[^>]*?\bviewBox="0 0 (?P<width>[\d.]+) (?P<height>[\d.]+)"')
PIXELS = 4 / 3  # of a point


def show_pictures(site: Path) -> None:
    """Rewrite the drawings of a built site, and in its pages the elements that show them."""
    for path in sorted((site / "_images").glob("*.svg")):
        path.write_text(short(path.read_text("utf-8")), "utf-8")
    for page in pages_of(site):

        def sized(found: re.Match[str], folder: Path = page.parent) -> str:
            svg = (folder / found["path"]).read_text("utf-8")
            size = SIZE.search(svg)
            if size is None:
                return found[0]
            width, height = (round(PIXELS * float(size[side])) for side in ("width", "height"))
            kind = "drawing photograph" if "<image" in svg else "drawing"
            return f'<img class="{kind}" width="{width}" height="{height}"{found["rest"]}>'

        page.write_text(IMAGE.sub(sized, page.read_text("utf-8")), "utf-8")
