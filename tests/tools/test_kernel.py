"""The sign of life of a run."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from pathlib import Path

import pytest

from tools.running import kernel
from tools.running.kernel import heartbeat


def test_heartbeat_shows_the_bars_of_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()  # which another thread fills; what pytest captures may be cut meanwhile
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(kernel, "SECONDS_BETWEEN_SIGNS", 0.01)
    expected = re.compile(r"^  … a chapter: cell 3 of 9, \d+ s, training: 12 of 60$", re.MULTILINE)
    with heartbeat("a chapter") as status:
        status.count, status.total = 3, 9
        # As a training does in the kernel, where tqdm is switched off.
        Path(os.environ["CALIB_PROGRESS_FILE"]).write_text("training: 12 of 60", "utf-8")
        end = time.monotonic() + 600
        while not expected.search(said.getvalue()):
            assert time.monotonic() < end
            time.sleep(0.01)
    assert "CALIB_PROGRESS_FILE" not in os.environ
