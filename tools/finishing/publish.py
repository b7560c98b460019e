"""Where the site is built, and how it comes into its place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

BUILD = Path("build")
NEW, SITE = BUILD / "site/_build/html", BUILD / "html"


def replace_site() -> None:
    """Swap the new site in; the old one is deleted only when the new one is in its place."""
    old = BUILD / "html.old"
    shutil.rmtree(old, ignore_errors=True)
    if SITE.exists():
        os.rename(SITE, old)
    os.rename(NEW, SITE)
    shutil.rmtree(old, ignore_errors=True)
