"""Text from cells and names that does nothing to a terminal or a page but to stand there."""

from __future__ import annotations

import re

__all__ = ["printable"]

# Of a terminal (ESC among them), ends of lines, and what turns the direction of writing around.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text without control characters; a space in place of those that are white."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", text)
