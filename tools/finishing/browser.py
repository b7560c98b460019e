"""A browser without a window, and a server, for who tests, measures or looks at built pages."""

from __future__ import annotations

import gzip
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
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


class Packed(http.server.SimpleHTTPRequestHandler):
    """A server that packs what it sends, as that of GitHub Pages does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body, packed = packed_file(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(body)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@cache
def packed_file(path: Path) -> tuple[bytes, bool]:
    """What is sent, and whether it is packed; fonts are packed already."""
    body = path.read_bytes()
    return (body, False) if path.suffix in (".woff2", ".png") else (gzip.compress(body), True)


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of a site in a folder, as long as the context lasts."""

    def handler(*args: Any) -> Packed:
        return Packed(*args, directory=str(site))

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
