"""What every run of a notebook shares: the kernel's environment, and a sign of life."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

SECONDS_BETWEEN_SIGNS = 15
# Of a drawing: its names, else random; text as text, on nothing; letters that are 9 px high on a
# phone when the drawing, 4.8 inches wide or less, is as wide as the phone.
DRAWING = {
    "svg.hashsalt": "course",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.titlesize": "medium",
    "figure.titlesize": "medium",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "legend.facecolor": "white",
    "savefig.pad_inches": 0.04,
}


class ExecutionError(RuntimeError):
    """A cell failed; the message names notebook, cell and error."""


def kernel_environment(figures: str) -> dict[str, str]:
    """Variables that make a run repeatable and draw figures as `"svg"` or `"png"`.

    One thread and a fixed hash seed give the same digits each time, a fixed date and fixed names
    the same drawings; tqdm's bars differ from run to run; an IPython folder of our own keeps the
    settings of the person at the keyboard out. A sentence that the results do not bear out is an
    error here.
    """
    folder = Path("build/ipython").absolute() / figures
    config = folder / "profile_default/ipython_kernel_config.py"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f"c.InlineBackend.figure_formats = {{'{figures}'}}\nc.IPKernelApp.log_level = 'CRITICAL'\n"
        f"c.InlineBackend.rc = {DRAWING}\n",
        "utf-8",
    )
    return {
        "CALIB_CLAIMS": "strict",
        "IPYTHONDIR": str(folder),
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
        "TQDM_DISABLE": "1",
    }


@dataclass
class Status:
    """The code cell that is running."""

    count: int = 0
    total: int = 0
    source: str = ""


@contextmanager
def heartbeat(name: str) -> Iterator[Status]:
    """Print every few seconds what is running, at which cell, and for how long.

    A training in the kernel keeps its bars in the file that `CALIB_PROGRESS_FILE` names, and
    what they say is printed, too.
    """
    status, start, done = Status(), time.monotonic(), Event()
    folder = tempfile.TemporaryDirectory()
    progress = Path(folder.name, "progress")
    os.environ["CALIB_PROGRESS_FILE"] = str(progress)

    def beat() -> None:
        while not done.wait(SECONDS_BETWEEN_SIGNS):
            cell = f" cell {status.count} of {status.total}," if status.total else ""
            bars = progress.read_text("utf-8") if progress.exists() else ""
            seconds = time.monotonic() - start
            said = f"  … {name}:{cell} {seconds:.0f} s{', ' * bool(bars)}{bars}"
            print(said, file=sys.stderr, flush=True)

    thread = Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield status
    finally:
        done.set()
        thread.join()
        del os.environ["CALIB_PROGRESS_FILE"]
        folder.cleanup()
