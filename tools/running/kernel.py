"""What every run of a notebook shares: its environment, and a sign of life."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from calib_utils._files import write_text
from tools.sources.plot_settings import DRAWING

SECONDS_BETWEEN_SIGNS = 15
# The variables of a person that a run needs: where things are, and the way to the network.
KEPT = re.compile(
    r"PATH|PYTHONPATH|LD_LIBRARY_PATH|HOME|XDG_CACHE_HOME|TMPDIR|SYSTEMROOT|"
    r"(CALIB|CUDA|NVIDIA)_\w+|\w+_PROXY|SSL_CERT_\w+|\w+_CA_BUNDLE",
    re.IGNORECASE,
)


def plain_environment() -> dict[str, str]:
    """All variables of a step: made here, so that no setting of a person changes what it makes.

    One thread and a fixed hash seed give the same digits each time, a fixed date the same
    drawings.
    """
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    # With matplotlib's list of fonts, which takes seconds to make, and without a matplotlibrc.
    home = Path(sys.prefix) if os.access(sys.prefix, os.W_OK) else Path("build").absolute()
    return kept | {
        "LC_ALL": "C.UTF-8",
        "MPLCONFIGDIR": str(home / "share/matplotlib"),
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
    }


def kernel_environment(figures: str) -> dict[str, str]:
    """All variables of a kernel that draws figures as `"svg"`, as `"png"`, or as `"svg png"`.

    IPython and Jupyter have folders of their own here; tqdm's bars differ from run to run. A
    sentence that the results do not bear out is an error.
    """
    folder = Path("build/ipython").absolute() / figures.replace(" ", "-")
    # Steps beside this one write it, too, and their kernels read it.
    write_text(
        folder / "profile_default/ipython_kernel_config.py",
        f"c.InlineBackend.figure_formats = {set(figures.split())}\n"
        "c.IPKernelApp.log_level = 'CRITICAL'\n"
        f"c.InlineBackend.rc = {DRAWING}\n",
    )
    jupyter = {f"JUPYTER_{kind}_DIR": str(folder) for kind in ("CONFIG", "DATA", "RUNTIME")}
    return {
        **plain_environment(),
        **jupyter,
        "CALIB_CLAIMS": "strict",
        "IPYTHONDIR": str(folder),
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

    def beat() -> None:
        while not done.wait(SECONDS_BETWEEN_SIGNS):
            cell = f" cell {status.count} of {status.total}," if status.total else ""
            bars = progress.read_text("utf-8") if progress.exists() else ""
            seconds = time.monotonic() - start
            said = f"  … {name}:{cell} {seconds:.0f} s{', ' * bool(bars)}{bars}"
            print(said, file=sys.stderr, flush=True)

    thread = Thread(target=beat, daemon=True)
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder, "progress")
        os.environ["CALIB_PROGRESS_FILE"] = str(progress)
        thread.start()
        try:
            yield status
        finally:
            done.set()
            thread.join()
            del os.environ["CALIB_PROGRESS_FILE"]
