"""Run every committed notebook as Colab would: its Python, its versions, an empty folder.

    python -m tools.running.try_colab                   with an environment made under `build/colab`
    python -m tools.running.try_colab --as-is PYTHON     with one that has them: Colab's own
    python -m tools.running.try_colab ece-and-mce …       only these pages

The three packages are installed from their wheels, as the first code of a notebook does, and every
printed value must be the stored one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError

from tools.running.check_outputs import compare_cells
from tools.running.execute import SECONDS, SECONDS_TO_START
from tools.running.kernel import kernel_environment
from tools.sources.book import Book, chosen
from tools.sources.locations import committed

VERSION = "3.13"
VERSIONS = Path(__file__).with_name("colab-versions.txt")
ENVIRONMENT = Path("build/colab/environment").absolute()
KERNEL = "colab"
UV = [sys.executable, "-m", "uv"]


def colab_python() -> Path:
    """An environment with Colab's versions; its Python.

    Where uv neither finds nor fetches Colab's Python, the one at hand does, and says so.
    """
    for python in (VERSION, sys.executable):
        make = [*UV, "venv", "--quiet", "--clear", "--python", python, str(ENVIRONMENT)]
        if subprocess.run(make, check=False).returncode == 0:
            break
    print(f"NOTE: with {python}. Colab has Python {VERSION}.")
    made = ENVIRONMENT / "bin/python"
    _install(made, "-r", str(VERSIONS))
    return made


def _install(python: Path, *what: str) -> None:
    """With uv, or with pip where only pip knows a mirror."""
    uv = [*UV, "pip", "install", "--quiet", "--python", str(python), *what]
    if subprocess.run(uv, check=False).returncode:
        pip = [sys.executable, "-m", "pip", "--python", str(python)]
        subprocess.run([*pip, "install", "--quiet", *what], check=True)


def versions(python: Path) -> dict[str, str]:
    """Of the packages that Colab brings."""
    names = [line.partition("==")[0] for line in VERSIONS.read_text("utf-8").splitlines()]
    names = [name for name in names if name and not name.startswith("#")]
    show = (
        "import json, sys; from importlib.metadata import version;"
        "print(json.dumps({name: version(name) for name in sys.argv[1:]}))"
    )
    said = subprocess.run([python, "-c", show, *names], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def install_wheels(python: Path) -> None:
    """As the first code of a notebook does. Raises SystemExit if that changes Colab's packages."""
    before = versions(python)
    with TemporaryDirectory() as folder:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        three = [".", "./calib_audit", "./calib_records"]
        subprocess.run([*build, "--no-build-isolation", "-w", folder, *three], check=True)
        module, audit, records = sorted(Path(folder).glob("*.whl"))
        _install(
            python,
            f"calibration-course[training] @ {module.as_uri()}",
            f"calibration-course-audit @ {audit.as_uri()}",
            f"calibration-course-records @ {records.as_uri()}",
        )
    after = versions(python)
    if changed := [f"{n} {before[n]} -> {after[n]}" for n in before if before[n] != after[n]]:
        sys.exit(f"installing the module changes what Colab has: {', '.join(changed)}")


def run(page: str, python: Path) -> bool:
    """Whether every output of a notebook, run in a folder of its own, is the stored one."""
    with TemporaryDirectory() as folder:
        kernel = Path(folder, "kernels", KERNEL, "kernel.json")
        kernel.parent.mkdir(parents=True)
        command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": "Colab", "language": "python"}
        kernel.write_text(json.dumps(spec), "utf-8")
        empty = Path(folder, "empty")
        empty.mkdir()
        # Nothing of this checkout, nor of the person at the keyboard.
        environment = kernel_environment("png")
        environment |= {"JUPYTER_PATH": folder, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"}
        os.environ.clear()
        os.environ.update(environment)
        said = differences(page, empty)
    print(f"{page}: {said or 'as stored'}", flush=True)
    return not said


def differences(page: str, folder: Path) -> str:
    """What a run of the committed notebook in a folder prints that is not stored, or its error."""
    path = committed(page)
    try:
        ran = papermill.execute_notebook(
            path,
            None,
            kernel_name=KERNEL,
            cwd=str(folder),
            progress_bar=False,
            start_timeout=SECONDS_TO_START,
            execution_timeout=SECONDS,
        )
    except (PapermillExecutionError, DeadKernelError, CellTimeoutError) as error:
        return str(error)
    cells = zip(nbformat.read(path, as_version=4).cells, ran.cells, strict=True)
    return compare_cells(page, [both for both in cells if both[0].cell_type == "code"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", metavar="NAME", help="all without one")
    parser.add_argument("--as-is", type=Path, metavar="PYTHON", help="use it as it stands")
    arguments = parser.parse_args()
    pages = chosen(Book().chapters, arguments.chapters)
    python = arguments.as_is or colab_python()
    install_wheels(python)
    print(", ".join(f"{name} {version}" for name, version in versions(python).items()), flush=True)
    results = [run(page, python) for page in pages]
    print(f"{sum(results)} of {len(results)} notebooks print what is stored.")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
