"""A browser without a window, for who tests, measures or looks at the built pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"no browser: install one of {', '.join(BROWSERS)}"
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
# As wide as a small phone of today, in CSS pixels.
PHONE = {"width": 375, "height": 800}


def browser_path() -> str | None:
    """The program, if one is installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[Any]:
    """Playwright's browser.

    Raises:
        SystemExit: None is installed.
    """
    from playwright.sync_api import sync_playwright

    path = browser_path()
    if path is None:
        raise SystemExit(MISSING)
    with sync_playwright() as playwright:
        options: dict[str, Any] = {"executable_path": path, "args": OPTIONS}
        # A busy machine starts it in its own time.
        started = playwright.chromium.launch(**options, timeout=600_000)
        yield started
        started.close()
