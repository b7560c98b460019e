"""Text files that are written completely or not at all, and devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from calib_utils import _files

__all__ = ["replacing", "write_text"]


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """A text file to write to, which replaces ``path`` once it is complete.

    A device or a pipe, such as ``/dev/stdout``, is written to directly.
    """
    if path.is_dir():
        raise ValueError(f"{path}: expected the name of a file, found a folder")
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    with _files.replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        yield file


def write_text(path: Path, text: str) -> None:
    """Write a whole file."""
    with replacing(path) as file:
        file.write(text)
