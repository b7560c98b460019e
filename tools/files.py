"""Write a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Replace a file at once, with the folders above it; a write that fails changes nothing.

    Of two processes that write one file at a time, the last has its way.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    unfinished.write_text(text, encoding, newline="")
    unfinished.replace(path)
