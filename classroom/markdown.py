"""What students wrote in Markdown, as HTML that loads and runs nothing.

Tags that a student typed are shown, not obeyed. Formulas become pictures, and pictures are those
that the notebook itself holds: the pages forbid all others.
"""

from __future__ import annotations

import base64
import io
import re
from functools import lru_cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from classroom.submission import PICTURE

LONGEST = 300  # characters of a formula that is drawn
MOST = 50  # formulas of a text that are drawn
MOST_SIGNS = 1_500  # characters of all of them, since each takes time to draw
CELLS = 20_000  # of the largest table that there may be: short rows are filled up
# As Colab writes a picture that was made smaller.
TAG = re.compile(rf"<img [^<>]{{0,200}}?src=([\"']?)({PICTURE.pattern})\1[^<>]{{0,200}}>")


@lru_cache(1_000)
def html_of(text: str) -> Markup:
    """HTML of a student's Markdown, with tables, formulas and pictures.

    A definition such as ``[1]: address`` is shown as it was typed: thousands of them would take the
    parser many seconds, and they could only name pages that must not load.
    """
    left, signs = MOST, MOST_SIGNS

    def formula(source: str, options: dict[str, Any]) -> str:
        nonlocal left, signs
        left, signs = left - 1, signs - len(source)
        return drawn(source) if min(left, signs) >= 0 else f"<code>{escape(source)}</code>"

    renderer, lines = MarkdownIt("commonmark", {"html": False}), text.split("\n")
    if len(lines) * max(line.count("|") for line in lines) <= CELLS:
        renderer.enable("table")
    renderer.disable("reference")
    renderer.use(dollarmath_plugin, allow_labels=False, allow_digits=False, renderer=formula)
    renderer.add_render_rule("image", _picture)
    return Markup(renderer.render(TAG.sub(r"![picture](\2)", text)))


@lru_cache(10_000)
def drawn(source: str) -> str:
    """A formula as a picture; as it was typed where Matplotlib cannot draw it."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    plain, image = " ".join(source.split()), io.BytesIO()
    try:
        if len(plain) > LONGEST:
            raise ValueError("too long")
        depth = math_to_image(f"${plain}$", image, FontProperties(size=12), 72, "svg")
    except Exception:  # whatever students type
        return f"<code>{escape(source)}</code>"
    data = base64.b64encode(image.getvalue()).decode()
    style = f"vertical-align: {-depth:.1f}pt"
    return f'<img alt="{escape(plain)}" style="{style}" src="data:image/svg+xml;base64,{data}">'


def _picture(self: RendererHTML, tokens: Any, place: int, options: Any, env: Any) -> str:
    """A picture that the notebook holds; of any other, where it would be."""
    token = tokens[place]
    if PICTURE.fullmatch(source := str(token.attrs["src"])):
        return self.image(tokens, place, options, env)
    return f"<code>{escape(token.content)} ({escape(source)})</code>"
