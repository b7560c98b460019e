"""What code depends on: on a package made up here, and on the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import calib_utils.records
from tools.running.dependencies import files_of, files_of_chapter
from tools.running.named_records import LOADERS, named_records
from tools.sources.generated import parts

REPOSITORY = Path(__file__).parents[1]
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
    assert Path("tools/running/nbval_sanitize.cfg") in files_of("tools.running.check_outputs")
    assert Path("tools/sources/book.py") in files_of("tools.running.execute")
    assert Path("tools/sources/book.py") not in files_of("tools.running.check_outputs")
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


LENET, RESNET = "lenet5-cifar100.test", "resnet34-cifar100.test"
STORED = {
    *(f"predictions/{name}" for name in (LENET, RESNET, "resnet34-cifar100.validation")),
    "predictions/grid.cpu.run-1.test",
    *(f"experiments/{grid}/cpu/run-{seed}" for grid in ("depth", "width") for seed in (0, 1)),
    "experiments/depth/full/run-0",
    "forecasts/depth.cpu",
}
PREDICTIONS = {name for name in STORED if name.startswith("predictions")}
EXPERIMENTS = {name for name in STORED if name.startswith("experiments")}
DEPTH = {"experiments/depth/cpu/run-0", "experiments/depth/cpu/run-1"}
WIDTH = {"experiments/width/cpu/run-0", "experiments/width/cpu/run-1"}


@pytest.fixture
def stored(synthetic: None) -> Path:
    folder = Path("calib_records")
    for name in STORED:
        (folder / f"{name}.npz").parent.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.npz").touch()
    return folder


def records_among(paths: list[Path] | set[Path]) -> set[str]:
    start = "calib_records/"
    return {
        p.as_posix().removeprefix(start).removesuffix(".npz")
        for p in paths
        if p.as_posix().startswith(start)
    }


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import calib_utils.records", set()),
        ('load_record("lenet5-cifar100", "test")', {f"predictions/{LENET}"}),
        ('records.load_grid(grid="depth", protocol="cpu")', DEPTH),
        ('load_experiment("width", "cpu", name)', WIDTH),
        ('load_forecasts("depth", "cpu")', {"forecasts/depth.cpu"}),
        # By the idioms of the chapters.
        ('for grid in ("depth", "width"):\n    load_grid(grid, "cpu")', DEPTH | WIDTH),
        ('def read(grid):\n    return load_grid(grid, "cpu")\nread("width")', WIDTH),
        (
            "from calib_utils.records import load_record as load\n"
            'load("resnet34-cifar100", "test")',
            {f"predictions/{RESNET}"},
        ),
        ('load_record(f"grid.cpu.{run}", "test")', {"predictions/grid.cpu.run-1.test"}),
        # A key is no name of a grid, and a sentence that speaks of one is none either.
        ('load_grid("depth", "cpu")[0].network["width"]', DEPTH),
        ('"""As load_grid("width", "cpu")."""\nload_grid("depth", "cpu")', DEPTH),
        # Names that are made, or read, at run time.
        ("load_record(name, split)", PREDICTIONS),
        ('load_record("lenet5" + size, "test")', PREDICTIONS),
        ('list_records()\nload_record("lenet5-cifar100", "test")', PREDICTIONS),
        ("%time load_grid()", STORED),
        # A grid of one's own, which is not stored; elsewhere its name may be any.
        ('load_grid("mine", "cpu", folder)', set()),
        ('load_grid("mine", "cpu")\nload_grid(name, "cpu")', EXPERIMENTS),
        ('load_grid("mine", "cpu")\nread = load_grid', EXPERIMENTS),
    ],
)
@pytest.mark.usefixtures("stored")
def test_a_chapter_depends_on_the_records_that_it_names(code: str, expected: set[str]) -> None:
    assert records_among(files_of_chapter(chapter(code))) == expected


def test_a_script_depends_on_the_records_that_it_and_its_modules_name(stored: Path) -> None:
    script, module = Path("scripts/draw.py"), Path("benchmarks/common.py")
    script.write_text("from benchmarks.common import read\nread()", "utf-8")
    module.write_text('def read(): load_record("lenet5-cifar100", "test")', "utf-8")
    assert records_among(files_of(script)) == {f"predictions/{LENET}"}
    # The library loads what its caller names, and what it names itself.
    library = Path("calib_utils/arrays.py")
    library.write_text('"depth", "width"\ndef f(grid): load_grid(grid, "cpu")', "utf-8")
    script.write_text("from calib_utils.arrays import f\nf()", "utf-8")
    assert records_among(files_of(script)) == set()
    library.write_text('"width"\nload_grid("depth", "cpu")', "utf-8")
    assert records_among(files_of(script)) == DEPTH


def test_a_new_record_is_of_those_who_name_it(stored: Path) -> None:
    depth, width = (f'load_grid("{grid}", "cpu")' for grid in ("depth", "width"))
    before = named_records(depth), named_records(width)
    new = stored / "experiments/depth/cpu/run-2.npz"
    new.touch()
    assert (named_records(depth), named_records(width)) == (before[0] | {new}, before[1])


def test_every_function_that_reads_records_is_known() -> None:
    readers = {n for n in calib_utils.records.__all__ if n.startswith(("load_", "list_"))}
    assert readers == LOADERS.keys()


def test_the_records_of_chapters_and_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    loaders = "load_record, load_grid, load_forecasts, load_recalibrated, load_answers, "
    loaders += "load_imagenet, load_outcomes"
    every = len(named_records(loaders))
    assert every == len(list(Path("calib_records").rglob("*.npz"))) > 100
    for script in [*parts(), *Path("notebooks").rglob("*.md")]:
        found = (
            files_of_chapter(script.read_text("utf-8"))
            if script.suffix == ".md"
            else files_of(script)
        )
        # The page on the causes has a table of every level of the plan.
        most = 0.75 if script.stem == "replication-of-causes" else 0.6
        assert len(records_among(found)) < every * most, script
    lab = files_of_chapter(Path("notebooks/resnet34-lab.md").read_text("utf-8"))
    assert {name.partition(".")[0] for name in records_among(lab)} == {
        "predictions/resnet34-cifar100",
        "predictions/resnet34-224-cifar100",
    }


def test_an_edit_of_the_report_on_a_model_concerns_the_chapters_that_show_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(REPOSITORY)
    room = set(Path("calib_utils/audit").rglob("*.py"))
    chapters = [*Path("notebooks").rglob("*.md"), *Path("assignments").rglob("*.md")]
    stale = {
        path.as_posix()
        for path in chapters
        if room & set(files_of_chapter(path.read_text("utf-8")))
    }
    assert stale == {
        "notebooks/a-month-of-predictions.md",
        "notebooks/language-models.md",
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
