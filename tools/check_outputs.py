"""Check a committed notebook's outputs with nbval: `python -m tools.check_outputs PAGE`.

The notebook runs with its own parameters, and every output must be the stored one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.kernel import heartbeat, kernel_environment

SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
SECONDS_A_CELL = 600
SHOWN = 2
FAILURE = re.compile(r"^_{3,} .*::Cell \d+ _{3,}\n", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check_outputs(page: str) -> None:
    """Exit with nbval's report when an output differs or a cell fails."""
    notebook = Path(f"{page}.ipynb")
    with heartbeat(f"nbval {notebook.stem}"):
        failure = compare_outputs(notebook)
    if failure is not None:
        print(f"{notebook}: the outputs are not the stored ones.\n\n{failure}\n")
        print("If the change is wanted: `make notebooks`, and read the diff.")
        sys.exit(1)


def compare_outputs(
    notebook: Path, kernel: str = "", environment: Mapping[str, str] | None = None
) -> str | None:
    """Run a notebook with a kernel, that of this environment by default; what differs, if any."""
    which = [f"--nbval-kernel-name={kernel}"] if kernel else ["--nbval-current-env"]
    command = [sys.executable, "-m", "pytest", "--nbval", *which, str(notebook.absolute())]
    command += ["--nbval-sanitize-with", str(SANITIZE), f"--nbval-cell-timeout={SECONDS_A_CELL}"]
    # The project's own options and plugins are for its tests.
    command += ["-q", "-rN", "--no-header", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(notebook.absolute().parent)]
    done = subprocess.run(
        command,
        # pytest shortens no difference where it believes to be in CI.
        env=os.environ | kernel_environment("png") | {"CI": "true"} | dict(environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return report(done.stdout) if done.returncode else None


def report(said: str) -> str:
    """What nbval says of the first cells; those behind often fail for the same reason."""
    start, *cells = FAILURE.split(COLOURS.sub("", said).strip())
    if not cells:
        return start
    more = len(cells) - SHOWN
    return "".join(cells[:SHOWN]).strip() + (f"\n\n… and {more} more cells" if more > 0 else "")


if __name__ == "__main__":
    check_outputs(*sys.argv[1:])
