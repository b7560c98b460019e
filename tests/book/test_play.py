"""A reader plays: edits that nobody foresaw never raise, while the build stops at each of them.

The cells of a page run as one program, once as a reader runs them and once as the pipeline does.
"""

from __future__ import annotations

import linecache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from calib_utils.comparing import ClaimError
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook

# That a figure cannot be shown here.
pytestmark = pytest.mark.filterwarnings("ignore")

ROOT = Path(__file__).parents[2]
BOOK = Book(ROOT)

# What a reader may change on a page: another power, other seeds, 20 bins, another network, other
# temperatures, fewer epochs. Together they make at least one sentence of it false.
EDITS = {
    "what-calibration-means": [
        ("bold = push(chance, 2)", "bold = push(chance, 0.8)"),
        ("correct, n_bins=10)", "correct, n_bins=20)"),
        ("default_rng(seed=0)", "default_rng(seed=7)"),
    ],
    "ece-and-mce": [
        (
            'load_record("lenet5-cifar100", "test")',
            'load_record("resnet34-cifar100", "validation")',
        ),
        ("y_true, n_bins=10)", "y_true, n_bins=20)"),
        ("default_rng(seed=0)", "default_rng(seed=7)"),
    ],
    "can-you-trust-an-ece": [
        ('load_record("resnet34-cifar100", "test")', 'load_record("lenet5-cifar100", "test")'),
        ("truths, n, sets = [0, 0.02, 0.07]", "truths, n, sets = [0.01, 0.1]"),
        ("for n in [100, 1_000, 10_000]", "for n in [300, 1_000]"),
        ("for error in [0, 0.01, 0.02]", "for error in [0.005]"),
        ("default_rng(seed=0)", "default_rng(seed=7)"),
    ],
    "why-networks-are-overconfident": [
        ('"LeNet-5": (load_record("lenet5-', '"LeNet-5": (load_record("resnet34-'),
        (
            'by_level(grids["width"])[48]',
            'by_level(grids["width"])[12]',
        ),
        ("weight_decay, epochs=150, seed=0", "weight_decay, epochs=5, seed=3"),
    ],
    "methods-for-two-classes": [
        ("random_state=0", "random_state=3"),
        ("n_bins=5", "n_bins=20"),
        ("HistogramBinning(10,", "HistogramBinning(30,"),
    ],
    "methods-for-many-classes": [
        ('name="resnet34-cifar100"', 'name="lenet5-cifar100"'),
        ("for tried in [0.5, 5.0]", "for tried in [0.01, 3.0]"),
        ("sizes = [100, 250, 500, 1_000, 2_500, 5_000]", "sizes = [50, 700]"),
    ],
    "deciding-with-probabilities": [
        ('network = "resnet34-cifar100"', 'network = "lenet5-cifar100"'),
        ("risk=0.2", "risk=0.01"),
        ("for c in [2, 5, 10, 20, 50]", "for c in [3, 100]"),
        ("default_rng(seed=0)", "default_rng(seed=7)"),
    ],
    "forecasts-of-numbers": [
        ("for seed in range(10)", "for seed in range(2)"),
    ],
    "since-2017": [
        ('levels["none"]', 'levels["focal-3"]'),
        ("smooth(targets, 0.1)", "smooth(targets, 0.3)"),
        ("default_rng(seed=2)", "default_rng(seed=7)"),
        ('"one network": ("ordinary", 1)', '"one network": ("smoothed", 1)'),
    ],
    "language-models": [
        ('load_answers(model, "mmlu").predictions', 'load_answers(model, "arc").predictions'),
        (".complete.mean() >= 0.95", ".complete.mean() >= 0.99"),
        ("subject=None, n=200", "subject=None, n=50"),
        ("risk=0.1", "risk=0.3"),
    ],
    "resnet34-lab": [
        ('load_record("resnet34-cifar100", "test")', 'load_record("lenet5-cifar100", "test")'),
        ("n_bins = 15", "n_bins = 20"),
        ("epochs = 150", "epochs = 1"),
        ("temperatures = [0.5, 1.0, 1.5, 2.0]", "temperatures = [0.1, 1.0, 10.0]"),
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


def run(page: str, folder: Path, claims: str, patch: pytest.MonkeyPatch) -> None:
    """Run the edited page in a folder, with its lines known to `claim` as in a kernel."""
    patch.chdir(folder)
    patch.setenv("CALIB_CLAIMS", claims)
    code, name = script(f"notebooks/{page}", EDITS[page]), str(ROOT / f"notebooks/{page}.md")
    lines = code.splitlines(keepends=True)
    patch.setitem(linecache.cache, name, (len(code), None, lines, name))
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    finally:
        plt.close("all")


@pytest.mark.thorough
@pytest.mark.parametrize("page", EDITS)
def test_no_edit_stops_a_reader(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page, tmp_path, "", monkeypatch)


@pytest.mark.parametrize("page", EDITS)
def test_the_same_edit_stops_the_build(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClaimError):
        run(page, tmp_path, "strict", monkeypatch)
