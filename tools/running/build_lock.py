"""One run at a time: `make book` and `make notebooks` write the same files."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import TextIO

LOCK = Path("build/.lock")


def take_lock() -> TextIO:
    """Wait until no other run, and no step of one, is at work here; return the lock, to be kept."""
    LOCK.parent.mkdir(exist_ok=True)
    lock = LOCK.open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        print(f"Waiting for {lock.read()}, or a step that it has left …", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    print(
        f"process {os.getpid()}, at work here since {time.strftime('%H:%M')}",
        end="",
        file=lock,
        flush=True,
    )
    return lock
