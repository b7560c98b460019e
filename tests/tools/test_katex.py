"""The server that sets formulas, as the book starts it."""

import socket
import sys
from pathlib import Path

from sphinxcontrib.katex import KaTeXServer

from tools.finishing.sphinx_extension import _start_katex

# It binds its file long before it listens.
SLOW = """
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
time.sleep(0.3)
server.listen()
server.accept()[0].sendall(b"here")
"""


def test_a_server_that_does_not_listen_yet_is_waited_for(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(
        KaTeXServer, "build_command", lambda socket: [sys.executable, "-c", SLOW, str(socket)]
    )
    process, client = _start_katex(tmp_path, timeout=60)
    with process, client:
        assert client.recv(4) == b"here"
        assert client.family == socket.AF_UNIX  # a port keeps each formula waiting
