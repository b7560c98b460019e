"""The chapters: sources and committed notebooks agree, and keep to the conventions."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from symtable import symtable

import jupytext
import nbformat
import pytest
import yaml

from tools.running.execute import parameters_of
from tools.sources.book import Book, figure_of
from tools.sources.chapter_notebook import FOLDED, is_check, is_solutions, page_notebook
from tools.sources.colab_notebook import colab_notebook
from tools.sources.locations import committed
from tools.sources.opening import lower_picture

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)
PAGES = BOOK.chapters
CHAPTERS = [page for page in PAGES if not is_solutions(page)]
COLUMNS = 70


def stored(page: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / committed(page), as_version=4)


@cache
def code_cells(page: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in page_notebook(BOOK, page).cells if cell.cell_type == "code"]


def is_folded(cell: nbformat.NotebookNode) -> bool:
    return bool(FOLDED & set(cell.metadata.get("tags", [])))


def test_every_chapter_is_in_the_table_of_contents() -> None:
    for folder, suffix in (("notebooks", ".md"), ("notebooks/made", ".ipynb")):
        files = (ROOT / folder).rglob(f"*{suffix}")
        names = {path.relative_to(ROOT / folder).with_suffix("").as_posix() for path in files}
        assert {f"notebooks/{name}" for name in names} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_committed_notebook_is_the_generated_one(page: str) -> None:
    generated = nbformat.writes(colab_notebook(BOOK, page, stored(page))) + "\n"
    path = committed(page)
    assert (ROOT / path).read_text("utf-8") == generated, (
        f"{path} is not what {page}.md makes: `make notebooks`"
    )


@pytest.mark.parametrize("page", PAGES)
def test_the_committed_notebook_holds_its_texts_and_small_pictures(page: str) -> None:
    """And no address, path or long fraction, which depend on the machine."""
    text = (ROOT / committed(page)).read_text("utf-8")
    assert len(text) < 400_000
    notebook = nbformat.reads(text, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    # Saved elsewhere, a notebook has no files beside it.
    markdown = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"!\[[^\]]+\]\((?!https://|data:)([^)]+)\)", markdown) == []
    lower_picture(notebook.cells)
    described = [figure["alt"] for cell in code_cells(page) if (figure := figure_of(cell.metadata))]
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    alts = [
        one.metadata["image/png"]["alt"] for one in outputs if "image/png" in one.get("data", {})
    ]
    assert alts == described
    for output in outputs:
        assert output.output_type != "error"
        assert output.get("name") != "stderr", output
        said = "".join([*output.get("data", {}).values(), output.get("text", "")])
        assert not re.search(r"\b0x[0-9a-f]{6,}|/(home|root|tmp|work)/|\.\d{7,}", said), said
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags", "cellView", "jupyter"}


@pytest.mark.parametrize("page", CHAPTERS)
def test_each_exercise_is_solved_on_a_page_of_its_own(page: str) -> None:
    if not BOOK.pages[page]:
        assert "{exercise}" not in BOOK.source(page), f"{page}.md: an appendix asks for none"
        return
    solutions = page.replace("notebooks/", "notebooks/solutions/")
    assert solutions in PAGES, f"{solutions}.md is not in _toc.yml"
    assert "{solution" not in BOOK.source(page), f"{page}.md: solutions stand in {solutions}.md"
    exercises = re.findall(r"^:label: (ex-\S+)$", BOOK.source(page), re.MULTILINE)
    solved = re.findall(r"\{solution(?:-start)?\} (\S+)$", BOOK.source(solutions), re.MULTILINE)
    assert solved == exercises
    assert BOOK.title(solutions) == f"Solutions: {BOOK.title(page)}"


@pytest.mark.parametrize("page", PAGES)
def test_code_fits_the_page(page: str) -> None:
    lines = [line for cell in code_cells(page) for line in cell.source.splitlines()]
    assert [line for line in lines if len(line) > COLUMNS] == []


def names_of(code: str) -> tuple[set[str], set[str]]:
    """What the code gives a name to, and what it reads before; none if it does not parse."""
    bound: set[str] = set()
    read: set[str] = set()
    with suppress(SyntaxError):
        for statement in ast.parse(code).body:
            made: set[str] = set()
            used: set[str] = set()
            for node in ast.walk(statement):
                if isinstance(node, ast.Name):
                    (used if isinstance(node.ctx, ast.Load) else made).add(node.id)
                elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.arg):
                    made.add(node.arg if isinstance(node, ast.arg) else node.name)
                elif isinstance(node, ast.alias):
                    made.add((node.asname or node.name).partition(".")[0])
            # `x = f(x)` reads the x before it, and `for x in …` its own.
            read |= used - bound - (set() if isinstance(statement, ast.Assign) else made)
            bound |= made
    return bound, read


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("tags", [{"remove-cell"}, FOLDED], ids=["in Colab", "unfolded"])
def test_no_cell_leans_on_one_that_readers_do_not_have(page: str, tags: set[str]) -> None:
    cells = [(names_of(cell.source), cell.metadata.get("tags", [])) for cell in code_cells(page)]
    gone = {name for (bound, _), own in cells if tags & set(own) for name in bound}
    left = [names for names, own in cells if not tags & set(own)]
    there = {name for bound, _ in left for name in bound}
    assert {name for _, read in left for name in read} & (gone - there) == set()


def seen_by_checks(cells: list[nbformat.NotebookNode]) -> dict[str, dict[str, str]]:
    """For each check, the cell that has last given a value to each name that it reads."""
    given: dict[str, str] = {}
    found = {}
    for cell in cells:
        top = symtable(cell.source, "cell", "exec")
        bound = {one.get_name(): one for one in top.get_symbols() if one.is_assigned()}
        scopes, read = [top], set()
        for scope in scopes:
            scopes += scope.get_children()
            here = (one for one in scope.get_symbols() if one.is_referenced())
            read |= {one.get_name() for one in here if scope is top or one.is_global()}
        if is_check(cell):
            found[cell.source] = {name: given.get(name, "") for name in read - set(bound)}
        given |= dict.fromkeys(bound, cell.source)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_check_sees_the_values_of_its_place(page: str) -> None:
    """It runs last, and no name that it reads has another value by then."""
    notebook = jupytext.reads(BOOK.source(page), fmt="md:myst")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert seen_by_checks(sorted(cells, key=is_check)) == seen_by_checks(cells)


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES)
def test_what_is_shown_runs(page: str, tmp_path: Path) -> None:
    """Who copies all cells that are not folded into a new session sees no error.

    Nor does who lets the networks learn for three epochs only, as here, to save minutes.
    """
    script = tmp_path / "shown.py"
    shown = "\n\n".join(cell.source for cell in code_cells(page) if not is_folded(cell))
    script.write_text(re.sub(r"\b(epochs ?= ?)\d{2,}", r"\g<1>3", shown), "utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "CALIB_CLAIMS"}
    environment |= {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    environment |= {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{page}.md: {done.stderr[-2000:]}"


@pytest.mark.parametrize("page", PAGES)
def test_claims_take_the_place_of_asserts(page: str) -> None:
    """An `assert` stops a reader who plays; `claim` of `calib_utils.comparing` does not."""
    asserts = [
        ast.unparse(node)
        for cell in code_cells(page)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Assert)
    ]
    assert asserts == []


def test_the_default_profile_is_what_the_chapters_say() -> None:
    cpu, gpu = (
        yaml.safe_load((ROOT / f"notebooks/parameters/{profile}.yml").read_text("utf-8")) or {}
        for profile in ("cpu", "gpu")
    )
    written = {
        page.removeprefix("notebooks/"): parameters_of(
            nbformat.from_dict({"cells": code_cells(page)})
        )
        for page in PAGES
    }
    assert cpu == {name: values for name, values in written.items() if values}
    unknown = {
        name: set(values) - set(written.get(name, {}))
        for name, values in gpu.items()
        if set(values) - set(written.get(name, {}))
    }
    assert unknown == {}
