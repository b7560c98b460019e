"""The report as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calib_audit import report
from tests.calib_audit.samples import LABEL, SCORE


def test_write_replaces_no_device(tmp_path: Path) -> None:
    """As administrator one would have no /dev/null any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    found = report({"score": SCORE, "label": LABEL}, cross_fit=0)
    try:
        found.write(json=pipe)
        assert os.read(reader, 100_000).decode() == found.json()
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(ValueError, match="found a folder"):
        found.write(json=tmp_path)
