"""The committed notebook: text, stored outputs, a form, folds and places for answers."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import nbformat
import pytest

from tests.tiny_book import HEAD, LABELS, ONE, write_tiny_book
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook
from tools.sources.colab_notebook import colab_notebook, keep_text
from tools.sources.errors import ExecutionError
from tools.sources.locations import INSTALLS

CELL = "```{code-cell} python\n"


def test_colab_notebook_begins_with_its_title_and_its_opening(book: Book) -> None:
    first, second, *_ = colab_notebook(book, "notebooks/01-one").cells
    assert first.source.startswith("# The first\n\nHow much is $a + b$?")
    assert second.source.startswith(INSTALLS)


def test_colab_notebook_is_the_same_each_time_with_ids_by_position(book: Book) -> None:
    first, second = (colab_notebook(book, "notebooks/01-one") for _ in range(2))
    assert nbformat.writes(first) == nbformat.writes(second)
    assert [cell.id for cell in first.cells] == [f"cell-{n:02d}" for n in range(1, 7)]
    # nbval compares no output of a cell without a count.
    code = [cell for cell in first.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    nbformat.validate(first)


def test_colab_notebook_holds_the_code_of_the_page(book: Book) -> None:
    page, colab = (make(book, "notebooks/01-one") for make in (page_notebook, colab_notebook))
    code = [[c.source for c in nb.cells if c.cell_type == "code"] for nb in (page, colab)]
    _, *code[1] = code[1]  # the installation
    form = next(source for source in code[1] if "# @param" in source)
    assert code[0][0] in form.splitlines()
    assert code[0][1:] == [c for c in code[1] if c not in (form, "# Your answer")]
    assert "{math}" in page.cells[2].source
    assert page.cells[1].metadata.tags == ["parameters"]


@pytest.mark.parametrize(
    ("before", "after", "outputs"),
    [
        ("How much", "What", ["3\n"]),
        # nbval will say that this is no longer right.
        ("b = 2", "b = 3", ["3\n"]),
        (f"{CELL}import", f"{CELL}0\n```\n\n{CELL}import", ["3\n"]),
        ("a + b\n```\n", f"a + b\n```\n\n{CELL}a - b\n```\n", []),
    ],
)
def test_colab_notebook_keeps_outputs_with_their_code(
    tmp_path: Path, before: str, after: str, outputs: list[str]
) -> None:
    stored = colab_notebook(Book(write_tiny_book(tmp_path / "a")), "notebooks/01-one")
    stored.cells[-1].outputs = [nbformat.v4.new_output("stream", text="3\n")]
    changed = ONE.replace(before, after)
    assert changed != ONE
    notebook = colab_notebook(
        Book(write_tiny_book(tmp_path / "b", changed)), "notebooks/01-one", stored
    )
    assert [output.text for output in notebook.cells[-1].outputs] == outputs
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_keep_text_leaves_out_pictures_and_traces() -> None:
    data = {"image/png": "…", "image/svg+xml": "<svg/>", "text/plain": "<Figure>"}
    outputs = [
        nbformat.v4.new_output("display_data", data=data, metadata={"image/png": {"width": 9}}),
        nbformat.v4.new_output("error", ename="E", evalue="e", traceback=["/home/someone"]),
    ]
    kept = json.dumps(keep_text(outputs, "one.md"))
    assert "<Figure>" in kept
    assert not any(text in kept for text in ("image/", "width", "/home"))


def test_keep_text_refuses_a_warning() -> None:
    with pytest.raises(ExecutionError, match=r"one\.md:3 writes to stderr, [^\n]*\n\nDeprecated"):
        keep_text([nbformat.v4.new_output("stream", name="stderr", text="Deprecated")], "one.md:3")


def test_colab_notebook_offers_the_profiles_as_a_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = 'a = 1\ncheckpoint_folder = ""'
    root = write_tiny_book(tmp_path, ONE.replace("a = 1", parameters))
    for name, values in (("cpu", '{a: 1, checkpoint_folder: ""}'), ("gpu", "{a: 7}")):
        (root / f"notebooks/parameters/{name}.yml").write_text(f"01-one: {values}\n", "utf-8")
    form = next(
        cell.source
        for cell in colab_notebook(Book(root), "notebooks/01-one").cells
        if "parameters" in cell.metadata.get("tags", [])
    )
    assert form.splitlines()[:3] == [
        "# @title Parameters",
        'profile = "cpu"  # @param ["cpu", "gpu"]',
        'keep_on_drive = False  # @param {type:"boolean"}',
    ]
    mounted: list[str] = []
    colab = types.ModuleType("google.colab")
    colab.drive = types.SimpleNamespace(mount=mounted.append)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    for profile, a in (("cpu", 1), ("gpu", 7)):
        for keeps, folder in ((False, ""), (True, "/content/drive/MyDrive/calibration")):
            names: dict[str, object] = {}
            chosen = form.replace('profile = "cpu"', f'profile = "{profile}"')
            exec(chosen.replace("drive = False", f"drive = {keeps}"), names)
            assert (names["a"], names["checkpoint_folder"]) == (a, folder)
    assert mounted == ["/content/drive"] * 2


def test_colab_notebook_has_a_place_for_the_answer_to_each_exercise(tmp_path: Path) -> None:
    exercise = ":::{{exercise}} Number {0}\n:label: ex-{0}\n\nCount to {0}.\n:::\n"
    nested = "::::{exercise} Three\n:label: ex-three\n\n:::{note}\nCount.\n:::\nMore.\n::::\n"
    source = f"# One\n\n{exercise.format('one')}\n{exercise.format('two')}\n{nested}\nThe end.\n"
    solutions = f"{exercise.format('four')}\n{CELL}1\n```\n"
    root = write_tiny_book(tmp_path, source, LABELS)
    (root / "notebooks/solutions/01-one.md").write_text(f"{HEAD}\n# Four\n\n{solutions}", "utf-8")
    book = Book(root)
    # Behind the first exercise comes what the first code needs.
    cells = colab_notebook(book, "notebooks/01-one").cells
    assert cells.pop(1).source.startswith(INSTALLS)
    assert [cell.source.splitlines()[-1] for cell in cells] == [
        *("> Count to one.", "# Your answer", "> Count to two.", "# Your answer"),
        *("> More.", "# Your answer", "The end."),
    ]
    assert {cell.cell_type for cell in cells[1::2]} == {"code"}
    for notebook in (
        page_notebook(book, "notebooks/01-one"),
        colab_notebook(book, "notebooks/solutions/01-one"),
    ):
        assert "Your answer" not in nbformat.writes(notebook)


def test_colab_notebook_titles_folded_code_and_ends_with_checks(tmp_path: Path) -> None:
    named = "---\ntags: [hide-input]\nmystnb: {code_prompt_show: Why so}\n---\na = 1"
    drawn = (
        "---\ntags: [hide-input]\nmystnb: {code_prompt_show: 'Draw: A line', figure: {name: fig-x, "
        "caption: 'A line. It rises.'}, image: {alt: A line.}}\n---\nb = 1"
    )
    # On the page it is open, because who copies only the open cells needs its axes.
    needed = drawn.replace("tags: [hide-input]\n", "").replace("b = 1", "_, ax = plt.subplots()")
    needed = needed.replace("fig-x", "fig-y").replace("A line", "Axes")
    check = ':tags: [remove-cell]\n\nclaim(d, about="A")\nclaim(a, about="B")'
    cells = [named, drawn, needed, check, ":tags: [remove-cell]\n\nc = 1", "d = ax"]
    source = "# One\n\n" + "\n\n".join(f"{CELL}{cell}\n```" for cell in cells)
    book = Book(write_tiny_book(tmp_path, source, LABELS))
    notebook = colab_notebook(book, "notebooks/01-one")
    folded = {
        cell.source: cell.metadata.get("cellView") == "form"
        and cell.metadata.get("jupyter") == {"source_hidden": True}
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.source.startswith(INSTALLS)
    }
    assert folded == {
        "# @title Why so\na = 1": True,
        "# @title Draw: A line\nb = 1": True,
        "# @title Draw: Axes\n_, ax = plt.subplots()": True,
        "d = ax": False,
        '# @title “A”, and 1 more\nclaim(d, about="A")\nclaim(a, about="B")': True,
        "# @title Does the text still hold?\nc = 1": True,
    }
    captions = [cell.source for cell in notebook.cells if cell.source.startswith("**Figure")]
    assert captions == ["**Figure 1.1.** A line. It rises.", "**Figure 1.2.** Axes. It rises."]
    *_, last, head, _, _ = notebook.cells
    assert last.source == "d = ax"
    assert head.source.startswith("## Does the text still hold?\n")


def test_colab_notebook_shows_a_solution_open(book: Book) -> None:
    head, _, code, _ = colab_notebook(book, "notebooks/solutions/01-one").cells
    assert "\n**Solution to Exercise 1.1 (Add)**\n" in head.source
    assert (code.source, code.metadata) == ("1 + 2", {})
