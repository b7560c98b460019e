"""A browser, and the built book as a server shows it, for the tests of the site."""

from __future__ import annotations

import functools
import http.server
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.browser import MISSING, browser_path
from tools.browser import browser as started_browser

SITE = Path(__file__).parents[1] / "build/html"

# A shell starts what runs in its background with Ctrl-C ignored, and so all that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if browser_path() is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    with started_browser() as browser:
        yield browser


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say at the end, and not only among other reasons, that nobody looked at the pages."""
    skipped = terminalreporter.stats.get("skipped", [])
    unseen = [report for report in skipped if MISSING in str(report.longrepr)]
    if unseen:
        terminalreporter.section("THE PAGES WERE NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.write_line(f"{len(unseen)} tests were skipped: {MISSING}", red=True)
