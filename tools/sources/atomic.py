"""Write a file whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Replace a file at once, with the folders above it; a write that fails changes nothing."""
    write_bytes(path, text.encode(encoding))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for a file that is no text. Steps beside this one may write it, too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    unfinished.write_bytes(content)
    unfinished.replace(path)
