"""Which stored records a step reads, and which folders of them: it runs again when one changes.

A step and its kernels, of which this is an extension, write them in the file that `CALIB_OPENED`
names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

STORED = Path("calib_records")
OPENED = "CALIB_OPENED"


def watch() -> None:
    """Note every record that this process opens from now on, and every folder that it lists."""
    if OPENED in os.environ:
        sys.addaudithook(_note)


def load_ipython_extension(shell: Any) -> None:
    """As IPython asks for it."""
    watch()


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | Path):
        _, folder, name = str(arguments[0]).partition(f"{STORED}/")
        if folder and (event != "open" or name.endswith(".npz")):
            with open(os.environ[OPENED], "a", encoding="utf-8") as file:
                file.write(f"{folder}{name}\n")
