"""What code depends on: on a package made up here, and on the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.running.dependencies import files_of, files_of_chapter
from tools.sources.generated import parts

REPOSITORY = Path(__file__).parents[2]
FILES = {
    "calib_utils/__init__.py": "from __future__ import annotations",
    "calib_utils/py.typed": "",
    "calib_utils/arrays.py": "import numpy as np",
    "calib_utils/metrics/__init__.py": "from calib_utils.metrics.bins import edges",
    "calib_utils/metrics/bins.py": "from calib_utils import arrays",
    "calib_utils/metrics/lazy.py": "def f():\n    import calib_utils.training.loop as loop",
    "calib_utils/metrics/typed.py": "if TYPE_CHECKING:\n    from calib_utils.training import loop",
    "calib_utils/metrics/near.py": "from . import bins\nfrom ..training.loop import train",
    "calib_utils/records/__init__.py": "",
    "calib_utils/records/kept/deep/lenet.npz": "data",
    "calib_utils/records/kept/.lenet.npz.7.part": "",
    "calib_utils/records/__pycache__/old.pyc": "",
    "calib_utils/records/.hidden": "",
    "calib_utils/records/inner/__init__.py": "",
    "calib_utils/records/inner/rows.toml": "",
    "calib_utils/training/__init__.py": "",
    "calib_utils/training/loop.py": "from calib_utils.records import load",
    "benchmarks/tables.py": "import json",
    "benchmarks/results/ece.json": "{}",
    "scripts/draw.py": "from calib_utils.arrays import asarray",
    "scripts/drawn.svg": "",
    "json/__init__.py": "",
}
RECORDS = {"records/__init__.py", "records/kept/deep/lenet.npz"}
METRICS = {"__init__.py", "arrays.py", "metrics/__init__.py", "metrics/bins.py"}
TRAINING = {"__init__.py", "training/__init__.py", "training/loop.py", *RECORDS}


@pytest.fixture
def synthetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)


def names(paths: list[Path]) -> set[str]:
    return {path.as_posix().removeprefix("calib_utils/") for path in paths}


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("calib_utils", {"__init__.py"}),
        ("calib_utils.metrics", METRICS),
        ("calib_utils.metrics.bins", METRICS),
        ("calib_utils.metrics.bins.edges", METRICS),
        ("calib_utils.metrics.lazy", METRICS | TRAINING | {"metrics/lazy.py"}),
        ("calib_utils.metrics.typed", METRICS | TRAINING | {"metrics/typed.py"}),
        ("calib_utils.metrics.near", METRICS | TRAINING | {"metrics/near.py"}),
        ("calib_utils.records", {"__init__.py"} | RECORDS),
        (
            "calib_utils.records.inner",
            {"__init__.py", *RECORDS} | {"records/inner/__init__.py", "records/inner/rows.toml"},
        ),
        ("benchmarks.tables", {"benchmarks/tables.py", "benchmarks/results/ece.json"}),
        ("json", set()),
    ],
)
@pytest.mark.usefixtures("synthetic")
def test_a_module(module: str, expected: set[str]) -> None:
    assert names(files_of(module)) == expected


@pytest.mark.usefixtures("synthetic")
def test_a_script() -> None:
    found = files_of(Path("scripts/draw.py"), Path("benchmarks/tables.py"))
    assert names(found) == {
        *("scripts/draw.py", "__init__.py", "arrays.py"),
        *("benchmarks/tables.py", "benchmarks/results/ece.json"),
    }


def chapter(code: str) -> str:
    return f"# Title\n\nimport calib_utils.training\n\n```{{code-cell}} python\n{code}\n```\n"


@pytest.mark.usefixtures("synthetic")
def test_a_chapter() -> None:
    assert files_of_chapter(chapter("import numpy as np")) == []
    options = ":tags: [hide-input]\n\n"
    both = chapter("from calib_utils.metrics import bins") + chapter(f"{options}import scipy")
    assert names(files_of_chapter(both)) == METRICS


@pytest.mark.usefixtures("synthetic")
def test_a_cell_that_is_no_plain_python_may_import_anything() -> None:
    packages = ("benchmarks/", "calib_utils/")
    every_module = {
        Path(name) for name in FILES if name.startswith(packages) and name.endswith(".py")
    }
    assert every_module <= set(files_of_chapter(chapter("%time import numpy")))


@pytest.mark.usefixtures("synthetic")
def test_an_edit_is_seen() -> None:
    assert names(files_of("calib_utils.arrays")) == {"__init__.py", "arrays.py"}
    Path("calib_utils/arrays.py").write_text("import calib_utils.records", "utf-8")
    assert names(files_of("calib_utils.arrays")) == {"__init__.py", "arrays.py", *RECORDS}


def test_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert Path("tools/sources/book.py") in files_of("tools.running.execute")
    metrics = files_of_chapter(chapter("from calib_utils.metrics import accuracy"))
    training = files_of("calib_utils.training")
    assert [path for path in metrics if "train" in path.as_posix()] == []
    assert len([path for path in training if "train" in path.as_posix()]) > 0
    for data in Path("calib_utils").rglob("*.toml"):
        package = next(p for p in data.parents if (p / "__init__.py").exists())
        assert data in files_of(".".join(package.parts))
    tables = files_of(Path("benchmarks/tables.py"))
    assert set(Path("benchmarks/results").glob("*.json")) <= set(tables)
    cards = files_of(Path("book/tables/chapters.py"))
    assert {Path("book/play/maps.py"), Path("calib_utils/recalibration/binary.py")} <= set(cards)


def test_an_edit_of_the_report_on_a_model_concerns_the_chapters_that_show_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(REPOSITORY)
    room = set(Path("calib_audit").rglob("*.py"))
    chapters = [*Path("notebooks").rglob("*.md"), *Path("classroom/assignments").rglob("*.md")]
    stale = {
        path.as_posix()
        for path in chapters
        if room & set(files_of_chapter(path.read_text("utf-8")))
    }
    assert stale == {
        "notebooks/a-month-of-predictions.md",
        "notebooks/language-models.md",
        "notebooks/resnet34-lab.md",
        "notebooks/your-own-model.md",
        "notebooks/solutions/your-own-model.md",
    }
    assert {path for path in parts() if room & set(files_of(path))} == {
        Path("book/benchmarks.md"),
        Path("book/figures/own_model.py"),
    }
    others = [path for path in Path("calib_utils").rglob("*.py") if path not in room]
    assert [path for path in others if room & set(files_of(path))] == []


def test_no_module_of_the_repository_is_imported_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a step runs may import from any folder of the repository that holds code."""
    monkeypatch.chdir(REPOSITORY)
    folders = "|".join(p.name for p in Path().glob("[a-z]*") if any(p.rglob("*.py")))
    imports = re.compile(rf"^\s*(?:from|import) ((?:{folders})\b[\w.]*)", re.MULTILINE)
    for script in [*parts(), *Path("tools").rglob("*.py")]:
        seen = {path.with_suffix("").as_posix() for path in files_of(script)}
        for name in imports.findall(script.read_text("utf-8")):
            place = name.replace(".", "/")
            assert {place, f"{place}/__init__"} & seen, f"{script} imports {name}"
