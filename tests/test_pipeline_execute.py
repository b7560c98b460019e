"""How a chapter is run: what is said meanwhile, and which outputs never reach a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from tiny_book import REPOSITORY, write_tiny_book

from tools import kernel
from tools.execute import check_paths
from tools.kernel import ExecutionError, heartbeat

SHARE = 'print(f"{2 / 3:.3f}")'


def run_chapter(root: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run the second chapter of a tiny book with other code in its last cell."""
    write_tiny_book(root)
    chapter = root / "notebooks/02-two.md"
    text = chapter.read_text("utf-8")
    assert SHARE in text
    chapter.write_text(text.replace(SHARE, code), "utf-8")
    for tool in (["notebooks"], ["execute", "notebooks/02-two", "cpu"]):
        done = subprocess.run(
            [sys.executable, "-m", f"tools.{tool[0]}", *tool[1:]],
            cwd=root,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            check=False,
        )
    return done


def test_a_warning_with_its_path_leaves_no_page(tmp_path: Path) -> None:
    done = run_chapter(tmp_path, 'import warnings\nwarnings.warn("old", stacklevel=1)')
    assert done.returncode == 1
    assert "notebooks/02-two.md: the output of cell `import warnings` names /" in done.stdout
    assert "a file of this machine: print no paths, and let nothing warn" in done.stdout
    assert "Traceback" not in done.stdout


def cell(kind: str, text: str) -> NotebookNode:
    if kind == "stream":
        return new_code_cell("f()", outputs=[new_output("stream", text=text)])
    return new_code_cell("f()", outputs=[new_output("execute_result", data={kind: text})])


HERE = [Path.home() / "x.txt", Path.cwd(), Path(tempfile.gettempdir(), "ipykernel_1/2.py")]


@pytest.mark.parametrize("kind", ["stream", "text/plain", "text/html", "text/markdown"])
@pytest.mark.parametrize("path", [*map(str, HERE), "/opt/py/lib/python3.13/site-packages/a/b.py"])
def test_an_output_that_names_a_file_of_the_machine(kind: str, path: str) -> None:
    for text in (path, f"It is in '{path}'.", f"{path}:3: UserWarning: old\n"):
        with pytest.raises(ExecutionError, match=r"02-two\.md: the output of cell `f\(\)` names /"):
            check_paths(cell(kind, text), "02-two")


@pytest.mark.parametrize(
    "text",
    ["1 / 2", "/usr/bin/env", f"https://example.org{tempfile.gettempdir()}/x", "a/tmp/b", "/tmpfs"],
)
def test_what_is_no_file_of_the_machine_passes(text: str) -> None:
    check_paths(cell("stream", text), "02-two")


def test_the_sign_of_life_shows_the_bars_of_a_training(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A training in another process, as in a kernel, where tqdm is switched off."""
    monkeypatch.setattr(kernel, "SECONDS_BETWEEN_SIGNS", 0.05)
    code = (
        "import sys, time\n"
        "from calib_utils.training.progress import progress_bars\n"
        "with progress_bars(True)(desc='training', total=60, initial=12) as bar:\n"
        "    print('begun', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with heartbeat("a chapter") as status:
        status.count, status.total = 3, 9
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "TQDM_DISABLE": "1"}
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            said = wait_for(capfd, "training")
            process.communicate()
        assert process.returncode == 0
        after = wait_for(capfd, "a chapter")
    assert re.search(r"^  … a chapter: cell 3 of 9, \d+ s, training: 12 of 60$", said, re.MULTILINE)
    assert after.rstrip().endswith(" s")
    assert "CALIB_PROGRESS_FILE" not in os.environ


def wait_for(capfd: pytest.CaptureFixture[str], text: str) -> str:
    """What was said on stderr until it contained ``text`` in a whole line."""
    said, end = "", time.monotonic() + 60
    while text not in said.rpartition("\n")[0]:
        assert time.monotonic() < end
        time.sleep(0.01)
        said += capfd.readouterr().err
    return said
