"""How long a chapter takes: its words, and its lines of code that are shown."""

from __future__ import annotations

import math

from tools.sources.myst import Directive, Text, parse

WORDS, LINES = 200, 12  # that a reader reads in a minute; a line of code takes five seconds
FOLDED = {f"{how}-{what}" for how in ("hide", "remove") for what in ("input", "cell")}


def reading_time(markdown: str) -> tuple[int, int]:
    """Minutes of reading, rounded up to five, and the number of exercises."""
    minutes, exercises = 0.0, 0
    for block in parse(markdown):
        if isinstance(block, Directive) and block.name == "code-cell":
            if not FOLDED & set(block.options.get("tags", [])):
                minutes += len([line for line in block.body.split("\n") if line.strip()]) / LINES
        elif isinstance(block, Text | Directive):
            text = block.text if isinstance(block, Text) else block.body
            minutes += len(text.split()) / WORDS
        exercises += isinstance(block, Directive) and block.name == "exercise"
    return 5 * math.ceil(minutes / 5), exercises
