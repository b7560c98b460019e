"""Check a committed notebook's outputs with nbval: `python -m tools.running.check_outputs PAGE`.

The notebook runs with its own parameters, and every output must be the stored one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.running.kernel import ENDED_AT_START, STARTS, heartbeat, kernel_environment
from tools.sources.locations import place

SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
SECONDS_A_CELL, SECONDS_TO_START = 600, 600
SHOWN = 2
FAILURE = re.compile(r"^_{3,} .*::Cell (\d+) _{3,}\n", re.MULTILINE)
REPEATED = re.compile(r"^Notebook cell execution failed\nCell \d+: ", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check_outputs(page: str, limit: str = str(SECONDS_A_CELL)) -> None:
    """Exit with nbval's report when an output differs or a cell fails, or takes too long."""
    notebook = Path(f"{page}.ipynb")
    with heartbeat(f"nbval {notebook.stem}"):
        failure = compare_outputs(page, notebook, limit)
    if failure is not None:
        print(f"{notebook}: the outputs are not the stored ones.\n\n{failure}\n")
        print("If the change is wanted: `make notebooks`, and read the diff.")
        sys.exit(1)


def compare_outputs(
    page: str,
    notebook: Path,
    limit: str = str(SECONDS_A_CELL),
    kernel: str = "",
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """Run a page's notebook; what differs from the stored outputs, if anything does.

    With a kernel, that of this environment by default, whose cells may take `limit` seconds.
    """
    which = [f"--nbval-kernel-name={kernel}"] if kernel else ["--nbval-current-env"]
    command = [sys.executable, "-m", "pytest", "--nbval", *which, str(notebook.absolute())]
    command += ["--nbval-sanitize-with", str(SANITIZE), f"--nbval-cell-timeout={limit}"]
    command += [f"--nbval-kernel-startup-timeout={SECONDS_TO_START}"]
    # The project's own options and plugins are for its tests.
    command += ["-q", "-rN", "--no-header", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(notebook.absolute().parent)]
    for _ in range(STARTS):
        done = subprocess.run(
            command,
            # pytest shortens no difference where it believes to be in CI.
            env=kernel_environment("png") | {"CI": "true"} | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return None
        if ENDED_AT_START not in done.stdout:
            break
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return report(done.stdout, [place(page, code) for code in codes])


def report(said: str, places: list[str]) -> str:
    """What nbval says of the first cells; those behind often fail for the same reason.

    nbval counts the cells of the notebook from 0; `places` says where they stand in the source.
    """
    start, *cells = FAILURE.split(COLOURS.sub("", said).strip())
    if not cells:
        return start
    failed = list(zip(cells[::2], cells[1::2], strict=True))
    shown = "".join(
        f"{places[int(number)]}\n{REPEATED.sub('', text)}" for number, text in failed[:SHOWN]
    )
    more = len(failed) - SHOWN
    return shown.strip() + (f"\n\n… and {more} more cells" if more > 0 else "")


if __name__ == "__main__":
    check_outputs(*sys.argv[1:])
