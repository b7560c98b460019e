"""How a committed notebook begins: its picture, and what installs the modules."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from calib_utils import __version__
from tests.tiny_book import REPOSITORY, URL
from tools.sources.book import Book
from tools.sources.locations import INSTALLS
from tools.sources.opening import (
    MODULE,
    Needs,
    install_code,
    lower_picture,
    raise_picture,
)

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["name"]


def test_the_picture_that_a_chapter_opens_with_stands_above_all_code() -> None:
    """GitHub shows the code of a folded cell, and what a cell has drawn stands below it."""
    picture = {"image/png": "YSBtYXA=\n"}
    drawn = nbformat.v4.new_output(
        "display_data", picture, metadata={"image/png": {"alt": "Bars."}}
    )
    cells = [
        nbformat.v4.new_markdown_cell("# One\n\nHow much?"),
        nbformat.v4.new_code_cell(INSTALLS),
        nbformat.v4.new_code_cell("draw()", metadata={"tags": ["varies"]}, outputs=[drawn]),
        nbformat.v4.new_markdown_cell("**Figure 1.1.** Much."),
        nbformat.v4.new_markdown_cell("## Two"),
    ]
    before = [cell.copy() for cell in cells]
    raise_picture(cells)
    assert [cell.source for cell in cells] == [
        "# One\n\nHow much?",
        "![Bars.](data:image/png;base64,YSBtYXA=)\n\n**Figure 1.1.** Much.",
        *(INSTALLS, "draw()", "## Two"),
    ]
    assert cells[3].outputs == []
    # CI's nbval, too, has nothing there to compare with.
    assert "nbval-ignore-output" in cells[3].metadata["tags"]
    lower_picture(cells)
    kept = [(cell.source, cell.get("outputs")) for cell in cells]
    assert kept == [(cell.source, cell.get("outputs")) for cell in before]
    # One further down stays where it is.
    later = [cells[0], cells[-1], *cells[1:-1]]
    raise_picture(later)
    assert later == [cells[0], cells[-1], *cells[1:-1]]


def installed(install: str, monkeypatch: pytest.MonkeyPatch, *missing: str) -> tuple[str, str]:
    """What the cell says as it ends, and what it asks of pip, where some modules are missing."""
    there, asked = importlib.util.find_spec, []
    shell = InteractiveShell()
    shell.register_magic_function(asked.append, "line", "pip")
    with monkeypatch.context() as patched:
        patched.setattr(
            importlib.util, "find_spec", lambda name: None if name in missing else there(name)
        )
        ended = shell.run_cell(install)
    return str(ended.error_in_exec or ""), " ".join(asked)


DRAWS = "import numpy as np\nfrom calib_utils.plots import reliability_diagram"


READS = "from calib_utils.records import load_record"


@pytest.mark.parametrize(
    ("code", "named", "typed"),
    [
        ("from calib_utils.metrics import accuracy", ["calib_utils"], "."),
        (DRAWS, ["calib_utils", "matplotlib"], "'.[plots]'"),
        (READS, ["calib_records", "calib_utils"], ". ./calib_records"),
        ("import calib_audit\nimport pyarrow", ["calib_audit", "calib_utils"], ". ./calib_audit"),
        # The digits of scikit-learn need no PyTorch.
        ("import sklearn.datasets", ["calib_utils", "sklearn"], ". scikit-learn"),
        (
            "from calib_utils.training import train\nimport sklearn.datasets",
            ["calib_utils", "safetensors", "sklearn", "torch", "torchvision"],
            "'.[training]'",
        ),
        ("import torch", Needs(["import calib_utils.training"]).names, "'.[training]'"),
        ("import os\nif in_colab:\n    from google.colab import drive", ["calib_utils"], "."),
    ],
)
def test_a_notebook_asks_for_what_it_imports(code: str, named: list[str], typed: str) -> None:
    needs = Needs([code])
    assert needs.names == named
    assert needs.in_a_copy() == typed


def test_in_a_copy_of_the_repository_a_notebook_says_what_to_type(
    book: Book, published: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY / "notebooks")
    for one in (book, published):
        install = install_code(one, [DRAWS, READS])
        assert installed(install, monkeypatch) == ("", "")
        said, asked = installed(install, monkeypatch, "matplotlib", "calib_utils")
        assert said.startswith("calib_utils, matplotlib: not installed.")
        assert said.endswith("\n\n    pip install '.[plots]' ./calib_records")
        assert asked == ""


def test_elsewhere_a_notebook_installs_the_release_of_its_own_version(
    book: Book, published: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install = install_code(published, [DRAWS, READS])
    assert installed(install, monkeypatch) == ("", "")
    said, asked = installed(install, monkeypatch, "calib_records")
    release = f"{URL}/releases/download/v{__version__}"
    assert MODULE == PROJECT
    names = MODULE, f"{MODULE}-records"
    wheels = [f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in names]
    assert (said, asked) == (
        "",
        f'install -q "{names[0]}[plots] @ {release}/{wheels[0]}" '
        f'"{names[1]} @ {release}/{wheels[1]}"',
    )
    # Without an address there is nothing to install from.
    said, asked = installed(install_code(book, [DRAWS]), monkeypatch, "matplotlib")
    assert (said[:26], asked) == ("matplotlib: not installed.", "")
