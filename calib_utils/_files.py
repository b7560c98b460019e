"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


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
