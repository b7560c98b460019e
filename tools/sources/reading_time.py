"""How long a chapter takes: its words and the code that is shown, and what its exercises ask."""

from __future__ import annotations

import math
import re

from tools.sources.chapter_notebook import FOLDED
from tools.sources.myst import Directive, Text, parse

# That a reader reads in a minute, where the text is new and technical.
WORDS = 150
SECONDS_PER_LINE = 8
# The title of an exercise: how hard it is, what it asks, and how long that takes.
EXERCISE = re.compile(r"(?P<grade>●{1,3}) .+ · (?P<minutes>\d+) min")


def minutes_of_reading(markdown: str) -> float:
    """Minutes that the words take, and the code that is shown; without the exercises."""
    minutes = 0.0
    for block in parse(markdown):
        if isinstance(block, Directive) and block.name == "code-cell":
            if not FOLDED & set(block.options.get("tags", [])):
                lines = [line for line in block.body.split("\n") if line.strip()]
                minutes += len(lines) * SECONDS_PER_LINE / 60
        elif isinstance(block, Text | Directive) and getattr(block, "name", "") != "exercise":
            text = block.text if isinstance(block, Text) else block.body
            minutes += len(text.split()) / WORDS
    return minutes


def reading_time(markdown: str) -> int:
    """Minutes of reading, rounded up to five."""
    return 5 * math.ceil(minutes_of_reading(markdown) / 5)


def exercise_times(markdown: str) -> list[int]:
    """Minutes for each exercise, as its title says."""
    titles = [
        EXERCISE.fullmatch(block.argument)
        for block in parse(markdown)
        if isinstance(block, Directive) and block.name == "exercise"
    ]
    return [int(title["minutes"]) for title in titles if title]
