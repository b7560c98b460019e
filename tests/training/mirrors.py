"""A server on this machine that gives files, or fails to."""

import contextlib
import http.server
import os
import threading
import time
from types import SimpleNamespace

import pytest


@pytest.fixture
def mirror(monkeypatch):
    """A server on this machine. ``answers`` maps a path to a function of (handler, start)."""
    state = SimpleNamespace(answers={}, asked=[])

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            start = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-")
            state.asked.append((self.path, int(start)))
            state.answers[self.path](self, int(start))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def serve(content: bytes, stop: int | None = None, ranges: bool = True):
    """An answer that closes the connection after byte ``stop``, as a broken one does."""

    def answer(handler, start):
        if start >= len(content) and ranges:
            handler.send_error(416)
            return
        start = start if ranges else 0
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        handler.wfile.write(content[start:stop])

    return answer


def slowly(content: bytes, size: int = 50_000, pause: float = 0.05):
    """An answer of a few bytes at a time."""

    def answer(handler, start):
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(content) - start))
        handler.end_headers()
        with contextlib.suppress(ConnectionError):
            for first in range(start, len(content), size):
                handler.wfile.write(content[first : first + size])
                time.sleep(pause)

    return answer


def missing(handler, _):
    handler.send_error(404)


def files(folder) -> list[str]:
    """What is in a folder, but for the lock."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))
