"""The code on a page of the book."""

from __future__ import annotations

import re


def blocks_of(language: str, text: str) -> list[str]:
    """What stands between the fences of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
