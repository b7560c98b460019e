"""What students wrote in Markdown, as HTML that loads and runs nothing.

Tags that a student typed are shown, not obeyed. Formulas become pictures, and pictures are those
that the notebook itself holds: the pages forbid all others.
"""

from __future__ import annotations

import base64
import io
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

LONGEST = 500  # characters of a formula that is drawn


def html_of(text: str) -> str:
    """HTML of a student's Markdown, with tables, formulas and pictures."""
    return str(_renderer().render(text))


@cache
def _renderer() -> MarkdownIt:
    found = MarkdownIt("commonmark", {"html": False}).enable("table")
    return found.use(dollarmath_plugin, allow_labels=False, allow_digits=False, renderer=_formula)


def _formula(source: str, options: dict[str, Any]) -> str:
    """A formula as a picture; as it was typed where Matplotlib cannot draw it."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    plain, drawn = " ".join(source.split()), io.BytesIO()
    try:
        if len(plain) > LONGEST:
            raise ValueError("too long")
        depth = math_to_image(f"${plain}$", drawn, FontProperties(size=12), 72, "svg")
    except Exception:  # whatever students type
        return f"<code>{escape(source)}</code>"
    data = base64.b64encode(drawn.getvalue()).decode()
    style = f"vertical-align: {-depth:.1f}pt"
    return f'<img alt="{escape(plain)}" style="{style}" src="data:image/svg+xml;base64,{data}">'
