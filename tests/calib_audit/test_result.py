"""The report as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from calib_utils._files import write_text


def test_write_replaces_no_device(tmp_path: Path) -> None:
    """As administrator one would have no /dev/null any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "all of it")
        assert os.read(reader, 100) == b"all of it"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(ValueError, match="found a folder"):
        write_text(tmp_path, "")
