"""The chapters: sources and committed notebooks agree, and keep to the conventions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from tools.book import Book
from tools.colab import colab_notebook
from tools.execute import parameters_of
from tools.page import page_notebook

ROOT = Path(__file__).parents[1]
BOOK = Book(ROOT)
CHAPTERS = BOOK.chapters
SHOWN_COLUMNS, FOLDED_COLUMNS = 70, 79


def stored(page: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / f"{page}.ipynb", as_version=4)


def test_every_chapter_is_in_the_table_of_contents() -> None:
    for suffix in (".md", ".ipynb"):
        files = (ROOT / "notebooks").rglob(f"*{suffix}")
        pages = {path.relative_to(ROOT).with_suffix("").as_posix() for path in files}
        assert pages == set(CHAPTERS)


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_committed_notebook_is_the_generated_one(page: str) -> None:
    generated = nbformat.writes(colab_notebook(BOOK, page, stored(page))) + "\n"
    committed = (ROOT / f"{page}.ipynb").read_text("utf-8")
    assert committed == generated, f"{page}.ipynb is not what {page}.md makes: `make notebooks`"


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_committed_notebook_holds_text_only(page: str) -> None:
    text = (ROOT / f"{page}.ipynb").read_text("utf-8")
    assert '"image/' not in text
    notebook = json.loads(text)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    for cell in notebook["cells"]:
        assert set(cell["metadata"]) <= {"tags", "cellView", "jupyter"}
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output


@pytest.mark.parametrize("page", CHAPTERS)
def test_code_fits_the_page(page: str) -> None:
    too_long = []
    for cell in page_notebook(BOOK, page).cells:
        folded = {"hide-input", "hide-cell", "remove-input", "remove-cell"} & set(
            cell.metadata.get("tags", [])
        )
        limit = FOLDED_COLUMNS if folded else SHOWN_COLUMNS
        if cell.cell_type == "code":
            too_long += [line for line in cell.source.splitlines() if len(line) > limit]
    assert too_long == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_no_output_depends_on_the_machine(page: str) -> None:
    """No address, path or number with more than three digits after the point."""
    for cell in stored(page).cells:
        for output in cell.get("outputs", []):
            text = "".join(output.get("data", {}).values()) + output.get("text", "")
            assert not re.search(r"\b0x[0-9a-f]{6,}|/(home|root|tmp|work)/|\.\d{7,}", text), text


def test_the_default_profile_is_what_the_chapters_say() -> None:
    cpu, gpu = (
        yaml.safe_load((ROOT / f"notebooks/parameters/{profile}.yml").read_text("utf-8")) or {}
        for profile in ("cpu", "gpu")
    )
    written = {
        page.removeprefix("notebooks/"): parameters_of(page_notebook(BOOK, page))
        for page in CHAPTERS
    }
    assert cpu == {name: values for name, values in written.items() if values}
    unknown = {
        name: set(values) - set(written.get(name, {}))
        for name, values in gpu.items()
        if set(values) - set(written.get(name, {}))
    }
    assert unknown == {}


def test_a_wrong_bin_edge_fails_the_chapter_that_computes_with_it(tmp_path: Path) -> None:
    """The stored outputs see a library whose bins are closed on the left."""
    page = "notebooks/ece-and-mce"
    shutil.copytree(ROOT / "calib_utils", tmp_path / "calib_utils")
    with (tmp_path / "calib_utils/metrics/__init__.py").open("a", encoding="utf-8") as file:
        file.write(
            "\n\n_right_closed = reliability_bins\n\n\n"
            "def reliability_bins(confidences, correct, *args, **kwargs):\n"
            "    import numpy as np\n"
            "    above = np.nextafter(np.asarray(confidences), 2).clip(max=1)\n"
            "    return _right_closed(above, correct, *args, **kwargs)\n"
        )
    search = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "tools.check_outputs", page],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"{page}.ipynb: the outputs are not the stored ones" in done.stdout
    # The same cell in both: the ten samples, four of which lie on an edge.
    assert "Cell outputs differ" in done.stdout
    assert "bins = reliability_bins(confidences, correct, n_bins=5)" in done.stdout
