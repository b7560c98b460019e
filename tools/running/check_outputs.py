"""Check a page's outputs with nbval: `python -m tools.running.check_outputs PAGE [LIMIT EXECUTED]`.

Every output of the committed notebook must be the stored one, and every figure. What papermill has
executed is compared; without it, or if a profile gave it other parameters, the notebook runs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import nbformat

from tools.running import replay
from tools.running.fingerprints import AGAIN, differences, of_figures, of_page, stored
from tools.running.kernel import ENDED_AT_START, STARTS, heartbeat, kernel_environment
from tools.sources.locations import place

SANITIZE = Path(__file__).with_name("nbval_sanitize.cfg")
SECONDS_A_CELL, SECONDS_TO_START = 600, 600
SHOWN = 2
# Where it believes to be in CI, it shortens no difference.
PYTEST = {"CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
FAILURE = re.compile(r"^_{3,} .*::Cell (\d+) _{3,}\n", re.MULTILINE)
REPEATED = re.compile(r"^Notebook cell execution failed\nCell \d+: ", re.MULTILINE)
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def check_outputs(page: str, limit: str = str(SECONDS_A_CELL), executed: str = "") -> None:
    """Exit with what differs when an output or a figure does, a cell fails, or takes too long."""
    notebook, ran = Path(f"{page}.ipynb"), Path(executed)
    run = ran if executed and has_own_parameters(ran) else None
    with heartbeat(f"nbval {notebook.stem}"):
        failure = compare_outputs(page, notebook, limit, run=run) or compare_figures(page, run)
    if failure is not None:
        print(f"{notebook}: the outputs are not the stored ones.\n\n{failure}\n")
        print(AGAIN)
        sys.exit(1)


def has_own_parameters(executed: Path) -> bool:
    """Whether a run took the parameters that stand in the notebook."""
    cells = nbformat.read(executed, as_version=4).cells
    return not any("injected-parameters" in cell.metadata.get("tags", []) for cell in cells)


def compare_figures(page: str, run: Path | None) -> str | None:
    """What the figures of a run show that is not stored, if they do."""
    if run is None:
        return None
    drawn = of_figures(nbformat.read(run, as_version=4))
    path = of_page(page)
    said = differences(stored(path), drawn)
    return "\n".join([f"{path} has other figures:", *said]) if said else None


def compare_outputs(
    page: str,
    notebook: Path,
    limit: str = str(SECONDS_A_CELL),
    kernel: str = "",
    environment: Mapping[str, str] | None = None,
    run: Path | None = None,
) -> str | None:
    """What of a page's outputs differs from the stored ones, if anything does.

    They are those of a run, or the notebook is run: with a kernel, that of this environment by
    default, whose cells may take `limit` seconds.
    """
    which = [f"--nbval-kernel-name={kernel}"] if kernel else ["--nbval-current-env"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "nbval.plugin",
        "--nbval",
        *which,
        str(notebook.absolute()),
    ]
    command += ["--nbval-sanitize-with", str(SANITIZE), f"--nbval-cell-timeout={limit}"]
    command += [f"--nbval-kernel-startup-timeout={SECONDS_TO_START}"]
    command += ["-p", replay.__name__, "--run", str(run)] if run else []
    # The project's own options and plugins are for its tests.
    command += ["-q", "-rN", "--no-header", "-p", "no:cacheprovider", "-c", os.devnull]
    command += ["--rootdir", str(notebook.absolute().parent)]
    for _ in range(STARTS):
        done = subprocess.run(
            command,
            env=kernel_environment("png") | PYTEST | dict(environment or {}),
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
