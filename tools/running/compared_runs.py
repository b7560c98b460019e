"""Where fingerprints are stored, and which run was compared with them: the site takes no other."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tools.sources.atomic import write_text

# Of what scripts make for pages of text.
PARTS = Path("book/fingerprints.json")


def of_page(page: str) -> Path:
    """Where the fingerprints of a chapter's figures are stored."""
    return Path("notebooks/figures", f"{page.removeprefix('notebooks/')}.json")


def digest(executed: Path) -> str:
    return hashlib.sha256(executed.read_bytes()).hexdigest()


def mark(executed: Path) -> Path:
    """The file beside a run that says so."""
    return executed.with_suffix(".checked")


def write_mark(executed: Path, compared: str) -> None:
    write_text(mark(executed), compared)


def is_checked(executed: Path) -> bool:
    """Whether this run was compared as it is now."""
    path = mark(executed)
    return path.exists() and path.read_text("utf-8") == digest(executed)
