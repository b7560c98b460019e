"""A browser, and the built book as a server shows it, for the tests of the site."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.plainly import MystError
from tools.runner import require_loopback

SITE = Path(__file__).parents[1] / "build/html"
MINUTES = 600_000  # in milliseconds
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]

# A shell starts what runs in its background with Ctrl-C ignored, and so all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart() -> None:
    """Servers of the tests and their browser speak over the loopback interface."""
    try:
        require_loopback()
    except MystError as error:
        pytest.exit(str(error), returncode=1)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def patient(make: Callable[..., Any]) -> Callable[..., Any]:
    """As a maker of tabs, whose tabs wait on a busy machine for as long as it takes."""

    def made(**options: Any) -> Any:
        tab = make(**options)
        tab.set_default_timeout(MINUTES)
        return tab

    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        message = f"no browser: install one of {', '.join(BROWSERS)}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options: dict[str, Any] = {"executable_path": executable, "args": BROWSER_OPTIONS}
        browser = playwright.chromium.launch(**options, timeout=MINUTES)
        for name in ("new_page", "new_context"):
            setattr(browser, name, patient(getattr(browser, name)))
        yield browser
        browser.close()
