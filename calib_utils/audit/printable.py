"""Text from cells and names, made safe to show in a terminal or on a page."""

from __future__ import annotations

import re

__all__ = ["printable"]

# Control characters (ESC among them), line ends, and marks that reverse the direction of writing.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """The text without control characters, with a space in place of each that is white space."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", text)
