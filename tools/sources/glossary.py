"""The glossary."""

from __future__ import annotations

import re
from pathlib import Path

from tools.sources.book import Book

BOOK = Book()
LISTS = [
    [entry.split("\n") for entry in block.strip().split("\n\n")]
    for block in re.findall(
        r":::\{glossary\}\n(.*?)\n:::", Path("book/glossary.md").read_text("utf-8"), re.DOTALL
    )
]
ENTRIES = [entry for entries in LISTS for entry in entries]


def terms(entry: list[str]) -> list[str]:
    return [line for line in entry if not line.startswith("  ")]


def english(entry: list[str]) -> list[str]:
    return [name for name in terms(entry) if not re.search("[\uac00-\ud7a3]", name)]
