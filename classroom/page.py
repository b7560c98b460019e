"""Pages for students and teachers, from the templates in ``pages/``.

They load nothing, and run no script but one of ours. What a template fills in is text, and a tag in
it is shown, not obeyed; only `classroom.markdown` makes HTML of what students wrote.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from classroom.markdown import html_of


def percent(share: float, digits: int = 0) -> str:
    """A share as students read it, such as "12 %"."""
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("pages")),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
PAGES.filters |= {
    "g": "{:g}".format,
    "markdown": lambda text: html_of(text) if text else Markup("<p>None.</p>"),
    "percent": percent,
}


def page(template: str, title: str, *, forms: bool = False, script: str = "", **values: Any) -> str:
    """A whole page.

    Args:
        template: The name of its file, without the ending.
        title: Its title and heading.
        forms: Whether it may send forms to where it comes from.
        script: What it runs.
        values: What the template fills in.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    policy += f"form-action '{'self' if forms else 'none'}'"
    if script:
        hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{hashed}'"
    made = PAGES.get_template(f"{template}.html")
    return made.render(title=title, policy=policy, script=script, **values)
