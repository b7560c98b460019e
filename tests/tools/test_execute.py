"""How a chapter is run: what is said meanwhile, and which outputs never reach a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from papermill.exceptions import PapermillExecutionError

from tests.tiny_book import REPOSITORY, write_tiny_book
from tools.running import execute
from tools.running.execute import check_paths, check_pictures
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook, write_if_changed
from tools.sources.errors import ExecutionError

PAGE = "notebooks/02-two"


SEEN = """\
import os
import sys

import matplotlib

print(os.environ["OMP_NUM_THREADS"], hash("a"), sys.warnoptions, os.environ["LC_ALL"])
print(os.environ["CALIB_CLAIMS"])
print(matplotlib.rcParams["lines.linewidth"], "inline" in matplotlib.get_backend())
print(sorted(name for name in os.environ if "MINE" in name), get_ipython().automagic)
for piece in ["ECE", " 2 %", "\\nT", " = 1\\n"]:
    print(piece, end="", flush=True)"""


def test_no_setting_of_a_person_reaches_a_chapter(tmp_path: Path) -> None:
    """What is printed in pieces, whose ends depend on the moment, is one output."""
    own = tmp_path / "own"
    for file, setting in {
        "matplotlibrc": "lines.linewidth: 30\n",
        "profile_default/ipython_config.py": "c.InteractiveShell.automagic = False\n",
    }.items():
        (own / file).parent.mkdir(parents=True, exist_ok=True)
        (own / file).write_text(setting, "utf-8")
    settings = {
        "HOME": "/dev/null/nobody",  # even the administrator cannot write there
        "MATPLOTLIBRC": str(own),
        "MPLCONFIGDIR": str(own),
        "MPLBACKEND": "pdf",
        "IPYTHONDIR": str(own),
        "JUPYTER_RUNTIME_DIR": "/dev/null/nobody",
        "PYTHONWARNINGS": "always",
        "PYTHONHASHSEED": "7",
        "OMP_NUM_THREADS": "3",
        "LC_ALL": "C",
        "MINE": "1",
    }
    root = write_tiny_book(tmp_path, two=f"\n# Two\n\n```{{code-cell}} python\n{SEEN}\n```\n")
    write_if_changed(page_notebook(Book(root), PAGE), root / f"build/{PAGE}.ipynb")
    subprocess.run(
        [sys.executable, "-m", "tools.running.execute", PAGE, "cpu"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | settings,
        check=True,
    )
    text = (tmp_path / "build/executed/cpu/notebooks/02-two.ipynb").read_text("utf-8")
    (output,) = nbformat.reads(text, as_version=4).cells[-1].outputs
    command = [sys.executable, "-c", "print(hash('a'))"]
    seed = {"PYTHONHASHSEED": "0"}
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    seeded = subprocess.run(command, env=seed, **options).stdout
    assert output.text.splitlines() == [
        f"1 {seeded.strip()} [] C.UTF-8",
        "strict",  # a claim that does not hold is an error
        "1.5 True",
        "[] True",
        *("ECE 2 %", "T = 1"),
    ]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Run the first chapter of a tiny book with a function in papermill's place."""
    page = "notebooks/01-one"
    book = Book(write_tiny_book(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_if_changed(page_notebook(book, page), Path(f"build/{page}.ipynb"))

    def run(papermill: Callable[..., Any], given: str = "{}", profile: str = "cpu") -> None:
        monkeypatch.setattr(execute.papermill, "execute_notebook", papermill)
        execute.run_page(page, profile, given)

    with patch.dict(os.environ):
        yield run


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PapermillExecutionError(0, 1, "a = 1", "ValueError", "no", []), "ValueError: no"),
        (DeadKernelError("gone"), r"the kernel died \(gone\)"),
        (CellTimeoutError("late"), "it took longer than 600 s: make it faster"),
    ],
)
def test_run_page_says_in_which_cell_a_run_ended(error: Exception, said: str, runs: Any) -> None:
    def ends(source: Path, *_: Any, on_cell_start: Callable[..., None], **__: Any) -> None:
        code = next(c for c in nbformat.read(source, as_version=4).cells if c.cell_type == "code")
        on_cell_start(cell=code, cell_index=0)
        raise error

    with pytest.raises(
        ExecutionError, match=rf"01-one\.md:\d+: code cell 1 failed\n\n    a = 1\n\n{said}"
    ):
        runs(ends)


@pytest.mark.parametrize(("ends", "good"), [(2, True), (3, False)])
def test_run_page_starts_a_kernel_again_that_ends_at_its_start(
    ends: int, good: bool, runs: Any
) -> None:
    """As one does whose port another process has taken."""
    started = []

    def starts(_: Path, target: Path, *__: Any, **___: Any) -> NotebookNode:
        started.append(target)
        if len(started) <= ends:
            raise RuntimeError(f"{execute.ENDED_AT_START} in 60 seconds")
        target.touch()
        return new_notebook()

    with nullcontext() if good else pytest.raises(RuntimeError, match="Kernel died"):
        runs(starts)
    assert len(started) == 3


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (new_output("display_data", data={"image/svg+xml": "<svg/>"}), "draws 1 pictures"),
        (new_output("stream", text=str(Path.home() / "x.txt")), "names /"),
    ],
)
def test_run_page_looks_at_each_cell(output: NotebookNode, said: str, runs: Any) -> None:
    def made(_: Path, target: Path, *__: Any, **___: Any) -> NotebookNode:
        target.touch()
        cells = [new_code_cell("1"), new_code_cell("f()", outputs=[output])]
        return new_notebook(cells=cells)

    with pytest.raises(ExecutionError, match=said):
        runs(made)


def test_run_page_takes_parameters_that_the_chapter_has(runs: Any) -> None:
    """And time: with another profile a cell may train for hours."""
    given = []

    def made(_: Path, target: Path, parameters: Any, **options: Any) -> NotebookNode:
        target.touch()
        given.append((parameters, options["execution_timeout"]))
        return new_notebook()

    runs(made, '{"a": 5}', "gpu")
    runs(made, '{"a": 1}')  # as in the chapter, so its page shows no other
    assert given == [({"a": 5}, 86_400), (None, 600)]
    with pytest.raises(ExecutionError, match="does not have b, which notebooks"):
        runs(made, '{"b": 1}')


def cell(kind: str, text: str) -> NotebookNode:
    if kind == "stream":
        return new_code_cell("f()", outputs=[new_output("stream", text=text)])
    return new_code_cell("f()", outputs=[new_output("execute_result", data={kind: text})])


HERE = [Path.home() / "x.txt", Path.cwd(), Path(tempfile.gettempdir(), "ipykernel_1/2.py")]


@pytest.mark.parametrize("kind", ["stream", "text/html"])
@pytest.mark.parametrize("path", [*map(str, HERE), "/opt/py/lib/python3.13/site-packages/a/b.py"])
def test_check_paths_finds_files_of_the_machine(
    kind: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.running.execute.place", lambda page, code: "here")
    for text in (path, f"It is in '{path}'.", f"{path}:3: UserWarning: old\n"):
        with pytest.raises(ExecutionError, match=r"^here names /.*\n\n +.*" + re.escape(path)):
            check_paths(cell(kind, text), "02-two")


@pytest.mark.parametrize(
    "text",
    ["1 / 2", "/usr/bin/env", f"https://example.org{tempfile.gettempdir()}/x", "a/tmp/b", "/tmpfs"],
)
def test_check_paths_lets_other_paths_pass(text: str) -> None:
    check_paths(cell("stream", text), "02-two")


PICTURE = new_output("display_data", data={"image/svg+xml": "<svg/>"})
DESCRIBED = {"mystnb": {"figure": {"name": "fig-a", "caption": "A."}, "image": {"alt": "B."}}}


def test_check_pictures_wants_the_colours_of_the_book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.running.execute.place", lambda page, code: "here")
    for colour, good in (("#0072b2", True), ("#1f77b4", False)):
        svg = {"image/svg+xml": f'<path style="fill: none; stroke: {colour}"/>'}
        output = new_output("display_data", data=svg)
        drawing = new_code_cell("f()", outputs=[output], metadata=DESCRIBED)
        if good:
            check_pictures(drawing, "02-two")
        else:
            with pytest.raises(ExecutionError, match=f"^here draws with {colour}"):
                check_pictures(drawing, "02-two")


@pytest.mark.parametrize(
    ("pictures", "metadata", "good"),
    [
        (1, DESCRIBED, True),
        (0, {}, True),
        (1, {}, False),
        (0, DESCRIBED, False),
        (2, DESCRIBED, False),
        (1, {"tags": ["hide-input"]}, False),
        (1, {"tags": ["remove-cell"]}, True),
    ],
)
def test_check_pictures_wants_each_picture_described(
    pictures: int, metadata: dict[str, Any], good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.running.execute.place", lambda page, code: "here")
    drawing = new_code_cell("f()", outputs=[PICTURE] * pictures, metadata=metadata)
    if good:
        check_pictures(drawing, "02-two")
        return
    with pytest.raises(ExecutionError, match=f"^here draws {pictures} pictures and describes "):
        check_pictures(drawing, "02-two")
