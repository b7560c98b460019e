"""nbval compares what a run has left, and a run of other code is told."""

from __future__ import annotations

import copy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tools.running import check_outputs
from tools.running.check_outputs import compare_run, has_own_parameters, paired
from tools.sources.locations import ANSWER, INSTALLS


def picture(kind: str) -> nbformat.NotebookNode:
    shown = {"text/plain": "<Figure size 480x400 with 2 Axes>"}
    return new_output("display_data", data=shown | ({kind: "<svg/>"} if kind else {}))


def committed() -> nbformat.NotebookNode:
    """With what only readers in Colab use: the installation, a form, a title, an answer."""
    form = '# @title Parameters\nprofile = "cpu"\n\na = 1\nif profile == "gpu":\n    a = 2'
    sources = {
        INSTALLS: [],
        form: [],
        "# @title Draw: A line\nplot(a)": [picture("")],
        "# @title “It rises”\nclaim(a)": [],
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


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """These notebooks have no source, in which their cells would be looked for."""
    monkeypatch.setattr(check_outputs, "place", lambda page, code: "here")


def test_compare_run_takes_what_is_stored() -> None:
    assert compare_run("page", committed(), run()) == ""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        # As a rule would forgive it that cuts numbers after two digits.
        ("33\\n", "34\\n", "here\nCell outputs differ\nmismatch 'stdout'\n--- stored\n+++ now\n"),
        ("33\\n", "34\\n", "\n-0.333\n+0.334\n\nprint(a / 3)\n3 * a"),
        ('"3"', '"4"', "mismatch 'text/plain'"),
        ("480x400", "480x401", "\n-<Figure size 480x400 with 2 Axes>\n+<Figure size 480x401"),
        ("text/plain", "text/html", "Missing output fields from running code: {'text/plain'}"),
        ("plot(a)", "plot(b)", "what was run is not the notebook's code"),
    ],
)
def test_compare_run_tells_a_difference(before: str, after: str, said: str) -> None:
    text = nbformat.writes(run())
    assert before in text
    assert said in compare_run("page", committed(), nbformat.reads(text.replace(before, after), 4))


def test_compare_run_tells_an_output_more_or_less() -> None:
    more, less = run(), run()
    more.cells[-1].outputs.append(new_output("display_data", data={"text/plain": "3"}))
    less.cells[-1].outputs.pop()
    assert "dissimilar number of outputs" in compare_run("page", committed(), more)
    assert "Missing output fields" in compare_run("page", committed(), less)
    assert "Unexpected output fields" in compare_run("page", less, run())


def test_compare_run_shows_two_cells_and_counts_the_others() -> None:
    """What is marked as differing between machines is not compared."""
    cells = [new_code_cell(str(n), outputs=[new_output("stream", text=f"{n}\n")]) for n in range(6)]
    other = copy.deepcopy(cells)
    for cell in other:
        cell.outputs[0].text = "other\n"
    cells[0].metadata.tags = ["nbval-ignore-output"]
    said = compare_run("page", new_notebook(cells=cells), new_notebook(cells=other))
    assert [line for line in said.splitlines() if line.isdigit()] == ["1", "2"]
    assert said.endswith("\n\n… and 3 more cells")


@pytest.mark.parametrize("place", [0, 1, 3])
def test_paired_refuses_a_cell_more_or_less(place: int) -> None:
    less, more = run(), copy.deepcopy(run())
    del less.cells[place]
    more.cells.insert(place, new_code_cell("a = 7"))
    for other in (less, more):
        with pytest.raises(ValueError, match="what was run is not the notebook's code"):
            list(paired(committed(), other))


def test_has_own_parameters_is_false_of_a_run_with_other_ones() -> None:
    ran = run()
    assert has_own_parameters(ran)
    ran.cells.insert(1, new_code_cell("a = 5", metadata={"tags": ["injected-parameters"]}))
    assert not has_own_parameters(ran)
