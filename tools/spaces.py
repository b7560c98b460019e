"""Where no line may break: between a number and its unit."""

from __future__ import annotations

import re

UNITS = "ms|s|min|kB|MB|GB"
BEFORE_UNIT = re.compile(rf"(?<=\d) ?(?=%(?!\w))|(?<=\d) (?=(?:{UNITS})\b)")


def with_units_kept(text: str) -> str:
    """The text with a no-break space between each number and per cent, or another unit."""
    return BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)
