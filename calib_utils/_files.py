"""Files that are written at once or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of ``path`` when all went well.

    Folders that are missing are made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Its own for each process: one that was left behind by a killed parent may write as well.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
