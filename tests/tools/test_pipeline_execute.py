"""How a chapter is run: what is said meanwhile, and which outputs never reach a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from tests.tiny_book import REPOSITORY, write_tiny_book
from tools.running import kernel
from tools.running.execute import check_paths, check_pictures
from tools.running.kernel import heartbeat
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook, write_if_changed
from tools.sources.colab_notebook import colab_notebook
from tools.sources.errors import ExecutionError, MystError
from tools.sources.locations import place

PAGE = "notebooks/02-two"


def run_tool(root: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a tool on the book in a folder, as somebody with these settings."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | settings,
        capture_output=True,
        text=True,
        check=False,
    )


def with_head(root: Path, head: str, **sources: str) -> Book:
    """A tiny book whose second chapter has some more lines in its head."""
    write_tiny_book(root, **sources)
    chapter = root / "notebooks/02-two.md"
    chapter.write_text(chapter.read_text("utf-8").replace("---\n", f"---\n{head}", 1), "utf-8")
    return Book(root)


def run_chapter(
    root: Path, code: str, head: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run the second chapter of a tiny book, which is one cell, as somebody with these settings."""
    with_head(root, head, two=f"\n# The second\n\n```{{code-cell}} python\n{code}\n```\n")
    write_if_changed(page_notebook(Book(root), PAGE), root / f"build/{PAGE}.ipynb")
    return run_tool(root, "tools.running.execute", PAGE, "cpu", **settings)


ENDS_AT_START = """\
import os
import pathlib
import sys

here = pathlib.Path(__file__).parent
if "ipykernel_launcher" in sys.orig_argv:
    before = len(list(here.glob("end-*")))
    if before < int(os.environ["CALIB_ENDS"]):
        (here / f"end-{before}").touch()
        os._exit(1)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("ends", "code"), [(2, 0), (3, 1)])
def test_a_kernel_that_ends_at_its_start_is_started_again(
    tmp_path: Path, ends: int, code: int
) -> None:
    """As one does whose port another process has taken."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text(ENDS_AT_START, "utf-8")
    settings = {"PYTHONPATH": f"{own}{os.pathsep}{REPOSITORY}", "CALIB_ENDS": str(ends)}
    done = run_chapter(tmp_path, "x = 1", **settings)
    assert (done.returncode, len(list(own.glob("end-*")))) == (code, ends)
    assert done.stderr.count("Kernel died") >= ends


SEEN = """\
import os
import sys

import matplotlib

print(os.environ["OMP_NUM_THREADS"], hash("a"), sys.warnoptions, os.environ["LC_ALL"])
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
    done = run_chapter(tmp_path, SEEN, **settings)
    assert done.returncode == 0, done.stdout
    text = (tmp_path / "build/executed/cpu/notebooks/02-two.ipynb").read_text("utf-8")
    (output,) = nbformat.reads(text, as_version=4).cells[-1].outputs
    command = [sys.executable, "-c", "print(hash('a'))"]
    seed = {"PYTHONHASHSEED": "0"}
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    seeded = subprocess.run(command, env=seed, **options).stdout
    assert output.text.splitlines() == [
        f"1 {seeded.strip()} [] C.UTF-8",
        "1.5 True",
        "[] True",
        *("ECE 2 %", "T = 1"),
    ]


@pytest.mark.thorough
def test_a_cell_that_hangs_is_stopped(tmp_path: Path) -> None:
    done = run_chapter(
        tmp_path, "import time\n\ntime.sleep(1000)", "mystnb: {execution_timeout: 2}\n"
    )
    assert done.returncode == 1
    assert ": code cell 1 failed\n\n    import time\n" in done.stdout
    assert "it took longer than 2 s: make it faster, or set another limit" in done.stdout
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize(
    ("head", "profile", "limit"),
    [
        ("", "cpu", 600),
        ("mystnb: {execution_timeout: 1200}\n", "cpu", 1200),
        ("mystnb: {execution_timeout: 1200}\n", "gpu", 86_400),
        ("", "gpu", 86_400),
    ],
)
def test_the_limit_of_a_cell(tmp_path: Path, head: str, profile: str, limit: int) -> None:
    book = with_head(tmp_path, head)
    assert book.limit("notebooks/02-two", profile) == limit


@pytest.mark.parametrize("said", ["0", "-3", "2.5", "soon", "true"])
def test_a_limit_that_is_none_is_an_error(tmp_path: Path, said: str) -> None:
    book = with_head(tmp_path, f"mystnb: {{execution_timeout: {said}}}\n")
    with pytest.raises(MystError, match=r"02-two\.md: execution_timeout is .*: give whole sec"):
        book.limit("notebooks/02-two")


def test_a_cell_has_one_place_in_all_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Book(write_tiny_book(tmp_path, url="https://github.com/someone/course"))
    monkeypatch.chdir(tmp_path)
    page = "notebooks/01-one"
    lines = book.source(page).splitlines()
    places = [
        f"{page}.md:{lines.index('a = 1') + 1}: code cell 1",
        f"{page}.md:{lines.index('import calib_utils') + 1}: code cell 2",
    ]
    own, colab = (
        [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (page_notebook(book, page), colab_notebook(book, page))
    )
    assert [place(page, code) for code in own] == places
    assert [place(page, code) for code in colab] == [
        # Neither what installs the module is in the source, nor the reader's answer.
        *("notebooks/made/01-one.ipynb", places[0], "notebooks/made/01-one.ipynb", places[1]),
    ]


def cell(kind: str, text: str) -> NotebookNode:
    if kind == "stream":
        return new_code_cell("f()", outputs=[new_output("stream", text=text)])
    return new_code_cell("f()", outputs=[new_output("execute_result", data={kind: text})])


HERE = [Path.home() / "x.txt", Path.cwd(), Path(tempfile.gettempdir(), "ipykernel_1/2.py")]


@pytest.mark.parametrize("kind", ["stream", "text/plain", "text/html", "text/markdown"])
@pytest.mark.parametrize("path", [*map(str, HERE), "/opt/py/lib/python3.13/site-packages/a/b.py"])
def test_an_output_that_names_a_file_of_the_machine(
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
def test_what_is_no_file_of_the_machine_passes(text: str) -> None:
    check_paths(cell("stream", text), "02-two")


PICTURE = new_output("display_data", data={"image/svg+xml": "<svg/>"})
DESCRIBED = {"mystnb": {"figure": {"name": "fig-a", "caption": "A."}, "image": {"alt": "B."}}}


def test_a_figure_has_the_colours_of_the_book(monkeypatch: pytest.MonkeyPatch) -> None:
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
        (1, {"tags": ["remove-output"]}, True),
        (1, {"tags": ["remove-cell"]}, True),
    ],
)
def test_each_picture_that_is_shown_is_described(
    pictures: int, metadata: dict[str, Any], good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.running.execute.place", lambda page, code: "here")
    drawing = new_code_cell("f()", outputs=[PICTURE] * pictures, metadata=metadata)
    if good:
        check_pictures(drawing, "02-two")
        return
    with pytest.raises(ExecutionError, match=f"^here draws {pictures} pictures and describes "):
        check_pictures(drawing, "02-two")


def test_the_sign_of_life_shows_the_bars_of_a_training(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A training in another process, as in a kernel, where tqdm is switched off."""
    monkeypatch.setattr(kernel, "SECONDS_BETWEEN_SIGNS", 0.05)
    code = (
        # Without the package around it, which brings torch.
        "import runpy, sys\n"
        "bars = runpy.run_path(sys.argv[1])['progress_bars']\n"
        "with bars(True)(desc='training', total=60, initial=12) as bar:\n"
        "    print('begun', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with heartbeat("a chapter") as status:
        status.count, status.total = 3, 9
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "TQDM_DISABLE": "1"}
        with subprocess.Popen(
            [sys.executable, "-c", code, REPOSITORY / "calib_utils/training/progress.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
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
    said, end = "", time.monotonic() + 600
    while text not in said.rpartition("\n")[0]:
        assert time.monotonic() < end
        time.sleep(0.01)
        said += capfd.readouterr().err
    return said
