"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which replaces ``path`` once it is complete.

    Missing folders are created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # One for each process, because the orphan of a killed parent may still be writing.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def replacing_text(path: Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """A text file to write to, which replaces ``path`` once it is complete.

    A device or a pipe, such as ``/dev/stdout``, is written to directly.
    """
    if path.is_dir():
        raise ValueError(f"{path}: expected the name of a file, found a folder")
    if path.exists() and not path.is_file():
        with path.open("w", encoding=encoding, newline="") as file:
            yield file
        return
    with replacing(path) as part, part.open("w", encoding=encoding, newline="") as file:
        yield file


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a whole file."""
    with replacing_text(path, encoding) as file:
        file.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    """The same for a file that is no text."""
    with replacing(path) as part:
        part.write_bytes(content)
