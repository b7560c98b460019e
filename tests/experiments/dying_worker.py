"""What a worker does in a test; in a module that is quick to import."""

import os
import signal
from pathlib import Path


def end(key: str, folder: Path) -> tuple[str, str]:
    """What a worker does: it dies, as at the hand of a system that is out of memory."""
    with (folder / key).open("a") as file:
        file.write("x")
    if key == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return key, ""
