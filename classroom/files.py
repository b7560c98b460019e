"""Write a file whole or not at all."""

from __future__ import annotations

from pathlib import Path

from calib_utils._files import replacing


def write_text(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Replace a file at once, with the folders above it; a write that fails changes nothing."""
    write_bytes(path, text.encode(encoding))


def write_bytes(path: Path, content: bytes) -> None:
    """The same for a file that is no text."""
    with replacing(path) as part:
        part.write_bytes(content)
