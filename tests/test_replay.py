"""nbval compares what a run has left, and refuses a run of other code."""

from __future__ import annotations

import copy
import re
import subprocess
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbval.plugin import get_sanitize_patterns
from tiny_book import REPOSITORY

from tools.running import check_outputs
from tools.running.check_outputs import compare_outputs, has_own_parameters
from tools.running.execute import parameters_of
from tools.running.kernel import ENDED_AT_START
from tools.running.replay import paired
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook
from tools.sources.colab_notebook import INSTALL, colab_notebook
from tools.sources.locations import ANSWER

BOOK = Book(REPOSITORY)


def picture(kind: str) -> nbformat.NotebookNode:
    shown = {"text/plain": "<Figure size 480x400 with 2 Axes>"}
    return new_output("display_data", data=shown | ({kind: "<svg/>"} if kind else {}))


def committed() -> nbformat.NotebookNode:
    """With what only readers in Colab use: the installation, a form, a title, an answer."""
    form = '# @title Parameters\nprofile = "cpu"\n\na = 1\nif profile == "gpu":\n    a = 2'
    sources = {
        INSTALL: [],
        form: [],
        "# @title Draw: A line\nplot(a)": [picture("")],
        "# @title Does the text above still hold?\nclaim(a)": [],
        ANSWER: [],
        "print(a / 3)\n3 * a": [
            new_output("stream", text="0.333\n"),
            new_output("execute_result", data={"text/plain": "3"}, execution_count=5),
        ],
    }
    cells = [
        new_code_cell(source, outputs=outputs, execution_count=count)
        for count, (source, outputs) in enumerate(sources.items(), start=1)
    ]
    return new_notebook(cells=[*cells[:2], new_markdown_cell("Text."), *cells[2:]])


def run() -> nbformat.NotebookNode:
    """What papermill makes of the page: prints in two parts, pictures as SVG."""
    parts = [new_output("stream", text=text) for text in ("0.3", "33\n")]
    result = new_output("execute_result", data={"text/plain": "3"}, execution_count=4)
    return new_notebook(
        cells=[
            new_code_cell("a = 1", metadata={"tags": ["parameters"]}),
            new_code_cell("plot(a)", outputs=[picture("image/svg+xml")]),
            new_code_cell("claim(a)", metadata={"tags": ["remove-cell"]}),
            new_code_cell("print(a / 3)\n3 * a", outputs=[*parts, result]),
        ]
    )


def compared(folder: Path, stored: Any, ran: Any) -> str | None:
    for name, notebook in (("committed", stored), ("run", ran)):
        nbformat.write(notebook, folder / f"{name}.ipynb")
    Path(folder, "page.md").write_text("", "utf-8")
    path = folder / "committed.ipynb"
    return compare_outputs(str(folder / "page"), path, run=folder / "run.ipynb")


def test_a_run_is_compared_without_running_again(tmp_path: Path) -> None:
    assert compared(tmp_path, committed(), run()) is None


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        # As a rule would forgive it that cuts numbers after two digits.
        ("33\\n", "34\\n", "0.334"),
        ('"3"', '"4"', "mismatch 'text/plain'"),
        ("480x400", "480x401", "480x401"),
        ("plot(a)", "plot(b)", "what was run is not the notebook's code"),
    ],
)
def test_a_difference_in_a_run_is_told(tmp_path: Path, before: str, after: str, said: str) -> None:
    text = nbformat.writes(run())
    assert before in text
    told = compared(tmp_path, committed(), nbformat.reads(text.replace(before, after), 4))
    assert told is not None
    assert said in told
    assert 'File "' not in told


@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_cell_more_or_less_is_other_code(place: int) -> None:
    less, more = run(), copy.deepcopy(run())
    del less.cells[place]
    more.cells.insert(place, new_code_cell("a = 7"))
    for other in (less, more):
        with pytest.raises(ValueError, match="what was run is not the notebook's code"):
            list(paired(committed(), other))


def test_a_run_with_other_parameters_is_not_compared(tmp_path: Path) -> None:
    path, ran = tmp_path / "run.ipynb", run()
    nbformat.write(ran, path)
    assert has_own_parameters(path)
    ran.cells.insert(1, new_code_cell("a = 5", metadata={"tags": ["injected-parameters"]}))
    nbformat.write(ran, path)
    assert not has_own_parameters(path)


@pytest.mark.parametrize("page", BOOK.chapters)
def test_each_page_and_its_notebook_are_the_same_code(page: str) -> None:
    """And the form for Colab, which is not run here, gives the parameters of the page."""
    own = page_notebook(BOOK, page)
    for cell, of in paired(colab_notebook(BOOK, page), own):
        if of and "parameters" in of.metadata.get("tags", []):
            names: dict[str, Any] = {}
            exec(cell.source, names)
            given = parameters_of(own)
            assert {name: names[name] for name in given} == given


def test_no_digit_is_forgiven() -> None:
    rules = get_sanitize_patterns(check_outputs.SANITIZE.read_text("utf-8"))
    assert rules
    for text in ("0.667", "T = 1.739, ECE 3.17 %", "| 12.345 | 1,234.5678 | -1e-05 |", "420x400"):
        for rule, instead in rules:
            assert re.sub(rule, instead, text) == text


@pytest.mark.parametrize(
    ("endings", "starts", "good"),
    [
        ([ENDED_AT_START, ENDED_AT_START, ""], 3, True),
        ([ENDED_AT_START] * 5, 3, False),
        (["Cell outputs differ", ""], 1, False),
    ],
)
def test_only_a_kernel_that_ends_at_its_start_is_started_again(
    endings: list[str], starts: int, good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def end(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        said = endings[len(commands)]
        commands.append(command)
        return subprocess.CompletedProcess(command, bool(said), said)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check_outputs.subprocess, "run", end)
    nbformat.write(new_notebook(), tmp_path / "a.ipynb")
    assert (compare_outputs("a", Path("a.ipynb"), "7") is None) == good
    assert len(commands) == starts
    limits = {"--nbval-cell-timeout=7", "--nbval-kernel-startup-timeout=600"}
    assert all(limits <= set(command) for command in commands)
