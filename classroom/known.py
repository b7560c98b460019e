"""What a teacher knows of a sheet and its students do not: what it asks, and what is right on it.

An assignment's ``known.py`` computes it from the secret, and its ``teacher.toml`` says it in
sentences for the page of marking, beside the questions for a conversation (`classroom.cards`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from classroom import goals
from classroom.notebooks import rendered, values_of
from classroom.variants import secret_of, variant_of, words


def asked(name: str, secret: bytes, sheet: str) -> dict[str, str]:
    """What a sheet asks, a sentence for each choice of the assignment."""
    return words(name, variant_of(name, secret, sheet))


@lru_cache(100)
def known(name: str, secret: bytes, sheet: str) -> dict[str, str]:
    """All values that a text for the teacher may use, those of the sheet among them."""
    variant = variant_of(name, secret, sheet)
    values = values_of(goals.read_goals(name), variant, sheet)
    if (goals.ASSIGNMENTS / name / "known.py").is_file():
        values |= goals.load(name, "known").known(secret_of(secret, sheet), variant)
    return values


def facts(name: str, secret: bytes, sheet: str) -> list[str]:
    """What is right on a sheet, in sentences."""
    return [rendered(line, known(name, secret, sheet)) for line in for_teacher(name)["known"]]


def for_teacher(name: str) -> dict[str, Any]:
    """An assignment's ``teacher.toml``: ``known``, and ``cards``."""
    file = goals.ASSIGNMENTS / name / "teacher.toml"
    found = goals.parsed(file.read_text("utf-8")) if file.is_file() else {}
    return {"known": [], "cards": [], **found}


def example(folder: Path, name: str, heading: str) -> str:
    """The marked answer to a question, from the class's own ``sample.md``; "" without one.

    Args:
        folder: of the class.
        name: of the assignment.
        heading: of the question. A sample without headings answers all of them.
    """
    file = folder / "teacher" / name / "sample.md"
    text = file.read_text("utf-8") if file.is_file() else ""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(heading, "" if parts[1:] else text)
