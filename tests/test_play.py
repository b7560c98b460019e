"""A reader plays: edits that nobody foresaw never raise, while the build stops at each of them.

The cells of a page run as one script, once as a reader runs them and once as the pipeline does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.book import Book
from tools.page import page_notebook

ROOT = Path(__file__).parents[1]
BOOK = Book(ROOT)

# Edits of what a reader sees, by page. The first ones together make a sentence false.
EDITS = {
    "what-calibration-means": [
        ("bold = push(chance, 2)", "bold = push(chance, 0.8)"),
        ("correct, n_bins=10)", "correct, n_bins=20)"),
        ("default_rng(seed=0)", "default_rng(seed=7)"),
    ],
}


def script(page: str, edits: list[tuple[str, str]]) -> str:
    """All code of a page, with the edits made; what a cell would display is displayed."""
    code = "\n\n".join(
        cell.source for cell in page_notebook(BOOK, page).cells if cell.cell_type == "code"
    )
    for old, new in edits:
        assert old in code, f"{page} has no {old!r} any more: edit something else here"
        code = code.replace(old, new)
    return code


def run(code: str, folder: Path, claims: str) -> subprocess.CompletedProcess[str]:
    settings = {"MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    environment = os.environ | settings | {"PYTHONPATH": str(ROOT), "CALIB_CLAIMS": claims}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", EDITS)
def test_no_edit_stops_a_reader(page: str, tmp_path: Path) -> None:
    done = run(script(f"notebooks/{page}", EDITS[page]), tmp_path, claims="")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", EDITS)
def test_the_same_edit_stops_the_build(page: str, tmp_path: Path) -> None:
    done = run(script(f"notebooks/{page}", EDITS[page]), tmp_path, claims="strict")
    assert done.returncode != 0
    assert "ClaimError" in done.stderr
