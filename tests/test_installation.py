"""The environment that make makes, and what a release contains."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import calib_audit
import calib_records
import calib_utils
import classroom

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The four distributions, each in a folder of its own, as pip unpacks its wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    source = folder / "source"
    litter = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("calib_audit", "calib_records", "calib_utils", "classroom"):
        shutil.copytree(ROOT / name, source / name, ignore=litter)
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    found = {}
    places = {"calib_utils": source}
    places |= {name: source / name for name in ("calib_audit", "calib_records", "classroom")}
    for name, project in places.items():
        out = folder / f"dist-{name}"
        out.mkdir()
        subprocess.run(
            [sys.executable, "-c", build, out], cwd=project, check=True, capture_output=True
        )
        (wheel,) = out.glob("*.whl")
        found[name] = folder / name
        shutil.unpack_archive(wheel, found[name], "zip")
    return found


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def test_the_module_is_small_and_all_records_are_in_the_other_wheel(
    installed: dict[str, Path],
) -> None:
    module, records = installed["calib_utils"], installed["calib_records"]
    assert {path.name.partition("-")[0] for path in module.iterdir()} == {
        "calib_utils",
        "calibration_course",
    }
    assert not list(module.rglob("*.npz"))
    assert not list((ROOT / "calib_utils").rglob("*.npz")), "where nothing reads them"
    assert (module / "calib_utils/experiments/grids.toml").exists()
    assert megabytes(module) < 3
    for pattern in ("*.npz", "LICENSE*", "*.md"):
        packed = {path.relative_to(records) for path in (records / "calib_records").rglob(pattern)}
        assert packed == {
            path.relative_to(ROOT) for path in (ROOT / "calib_records").rglob(pattern)
        }
    assert len(list(records.rglob("*.npz"))) > 100
    # What tells pip that they are four: no file is in two.
    files = [
        path.relative_to(folder)
        for folder in installed.values()
        for path in folder.rglob("*")
        if path.is_file()
    ]
    assert len(files) == len({*files})


def test_the_report_is_a_wheel_with_a_command(installed: dict[str, Path]) -> None:
    folder = installed["calib_audit"]
    packed = {path.name for path in (folder / "calib_audit").iterdir()}
    here = {path.name for path in (ROOT / "calib_audit").glob("*.*") if path.is_file()}
    assert packed == here - {"README.md", "pyproject.toml"}
    (entry,) = folder.rglob("entry_points.txt")
    assert "calib-audit = calib_audit.__main__:main" in entry.read_text("utf-8")


def test_the_classroom_is_a_wheel_with_a_command(installed: dict[str, Path]) -> None:
    """With the assignments, whose notebooks, data and checks are made where it is installed."""
    folder = installed["classroom"]
    packed = {path.relative_to(folder) for path in (folder / "classroom").rglob("*.*")}
    assert packed == {
        path.relative_to(ROOT)
        for path in (ROOT / "classroom").rglob("*.*")
        if path.suffix not in (".pyc", ".egg-info") and ".egg-info" not in str(path)
    } - {Path("classroom/README.md"), Path("classroom/pyproject.toml")}
    (entry,) = folder.rglob("entry_points.txt")
    assert "classroom = classroom.__main__:main" in entry.read_text("utf-8")


def closure(lines: Iterable[str]) -> set[str]:
    """The packages that pip would install for these requirements, by name."""
    found: set[str] = set()
    waiting = [(Requirement(line), "") for line in lines]
    while waiting:
        wanted, extra = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        if name not in found or wanted.extras:
            found.add(name)
            needs = [Requirement(line) for line in metadata.requires(name) or []]
            waiting += [(need, extra) for need in needs for extra in ("", *wanted.extras)]
    return found


def without_others(asked: set[str], ours: set[str]) -> str:
    """A program's first lines, by which it finds no package but these."""
    others = {
        name
        for name, packages in metadata.packages_distributions().items()
        if not asked & {canonicalize_name(package) for package in packages} and name not in ours
    }
    return f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {others}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def needs(project: Path, *extras: str) -> set[str]:
    """All packages that pip would install for a project, but ours."""
    known = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [*known["dependencies"]]
    for extra in extras:
        lines += known["optional-dependencies"][extra]
    return closure(line for line in lines if not line.startswith("calibration-course"))


def test_the_readme_s_code_runs_after_its_line_of_installation(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (line,) = re.findall(r"^pip install (.*?) +#.* as the lines above need$", text, re.MULTILINE)
    assert line == "'.[plots]' ./calib_records"
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    program = without_others(needs(ROOT, "plots"), {"calib_utils", "calib_records"})
    wheels = [installed[name] for name in ("calib_utils", "calib_records")]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("MPLBACKEND", "agg")
        shown = f"{program}{code}assert plt.gca().patches\nprint('pandas' in sys.modules)"
        assert without_this_copy(shown, tmp_path, *wheels) == "False\n"


def test_the_commands_of_the_report_s_readme_run_from_its_wheel(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    text = (ROOT / "calib_audit/README.md").read_text("utf-8")
    commands = re.findall(r"`calib-audit ([^`]*)`", text.partition("|---|")[2])
    assert len(commands) >= 12
    commands.remove("sums.parquet")  # what a database makes of the query, as in test_sql
    program = f"""
{without_others(needs(ROOT / "calib_audit") | needs(ROOT), {"calib_utils", "calib_audit"})}
import shlex, numpy as np
rng = np.random.default_rng(0)
def write(name, day):
    score = rng.random(600)
    label = rng.random(600) < score**2
    with open(name, "w") as file:
        print("score,label,region,product,date,amount,patient", file=file)
        for k in range(600):
            row = score[k], int(label[k]), "NS"[k % 2], "AB"[k % 4 // 2], day, k % 7 + 1, k // 10
            print(*row, sep=",", file=file)
for name in ("predictions", "test", "validation", "may", "june", "old", "new"):
    write(f"{{name}}.csv", "2026-06-15" if name == "june" else "2026-05-15")
write("tonight.csv", "2026-06-30")
from calib_audit.__main__ import main
main(["may.csv", "--cross-fit", "0", "--json", "may.json"])
for name in ("old", "new"):  # the same rows
    open(f"{{name}}.csv", "w").write(open("may.csv").read())
statuses = [main(shlex.split(command)) for command in {commands}]
print(statuses)
assert not {{2}} & {{*statuses}}
"""
    wheels = [installed[name] for name in ("calib_utils", "calib_audit")]
    said = without_this_copy(program, tmp_path, *wheels)
    assert (tmp_path / "report.html").exists(), said
    assert (tmp_path / "recalibrated.csv").exists(), said


def test_a_lecturer_needs_three_wheels_and_no_copy_of_the_repository(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    """With these and what they ask for, all modules are imported and a class is collected."""
    project = tomllib.loads((ROOT / "classroom/pyproject.toml").read_text("utf-8"))["project"]
    asked = closure(project["dependencies"])
    assert not {"torch", "torchvision", "jupyter-book", "papermill", "playwright"} & asked
    ours = {"calib_records", "calib_utils", "classroom"}
    program = f"""
{without_others(asked, ours)}
import importlib, pkgutil
import classroom.variants
classroom.variants.SHEETS = ("1", "2")  # two are as good as ten
for module in pkgutil.iter_modules(classroom.__path__):
    if module.name != "inside":  # which is the sandbox's
        importlib.import_module(f"classroom.{{module.name}}")
from classroom.__main__ import main
for name in ("measuring", "diagnosing"):
    assert main(["release", name]) == 0
assert main(["exam"]) == main(["rehearse", "measuring"]) == 0
assert main(["collect", "measuring", "class/rehearsal/moodle.zip"]) == 0
"""
    wheels = [installed[name] for name in ("calib_utils", "calib_records", "classroom")]
    assert "2 of 3 files taken" in without_this_copy(program, tmp_path, *wheels)
    assert (tmp_path / "class/released/diagnosing/sheet-1/networks-1.npz").exists()


def test_the_readme_says_how_large_both_are(installed: dict[str, Path]) -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    (module,) = re.findall(r"module \((\d+) MB", text)
    (records,) = re.findall(r"records .*?\((\d+) MB", text)
    assert int(module) == pytest.approx(megabytes(installed["calib_utils"]), abs=0.6)
    assert int(records) == pytest.approx(megabytes(installed["calib_records"]), rel=0.1)


def without_this_copy(program: str, folder: Path, *found: Path) -> str:
    """What a program prints that finds only these folders, and the packages of this Python."""
    places = [*found, Path(sysconfig.get_path("purelib"))]
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program],  # -S: nothing that is installed in place
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


(STORED, *_) = sorted((ROOT / "calib_records/forecasts").glob("*.npz"))
READ = f"""
import sys
from calib_utils import records
from calib_utils.records import *
assert "calib_records" not in sys.modules
for read in (
    lambda: load_record("lenet5-cifar100", "test"),
    lambda: load_grid("width", "core"),
    lambda: load_answers("Mixtral", "arc"),
    lambda: load_samples("triviaqa-samples"),
    lambda: load_imagenet("timm.resnet34"),
    lambda: load_outcomes("senate"),
    lambda: load_identifier("CLD3"),
    lambda: load_recalibrated("public", "cifar100"),
    lambda: load_forecasts(*{STORED.stem.split(".")}),
    lambda: list_records(),
    lambda: list_answers("arc"),
):
    try:
        read()
        print(sys.modules["calib_records"].__file__)
    except ModuleNotFoundError as error:
        print(error.name, error)
assert read
"""


def test_the_records_are_read_where_they_are_installed(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    said = without_this_copy(READ, tmp_path, *installed.values()).splitlines()
    assert said == [str(installed["calib_records"] / "calib_records/__init__.py")] * 11


def test_without_the_records_an_error_says_what_to_install(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    said = without_this_copy(READ, tmp_path, installed["calib_utils"]).splitlines()
    assert len(said) == 11
    (sentence,) = set(said)
    (wheel,) = (installed["calib_records"].parent / "dist-calib_records").iterdir()
    assert sentence == (
        f"calib_records the records of the course are not installed: pip install {wheel.name}, "
        "which lies beside the wheel of calib_utils, or ./calib_records in a copy of the repository"
    )


OWN = """
import numpy as np
from calib_utils.metrics import expected_calibration_error
from calib_utils.records import PredictionRecord, load_record, save_record
from calib_utils.recalibration import TemperatureScaling
logits, labels = np.eye(3)[[0, 1, 2, 0]], np.array([0, 1, 2, 1])
save_record(PredictionRecord("mine", "test", logits, labels))
mine = load_record("mine", "test")
scaling = TemperatureScaling().fit(mine.logits, mine.labels)
print(0 <= expected_calibration_error(scaling.predict_proba(mine.logits), mine.labels) <= 1)
"""


def test_a_model_of_one_s_own_needs_no_records_of_the_course(
    installed: dict[str, Path], tmp_path: Path
) -> None:
    assert without_this_copy(OWN, tmp_path, installed["calib_utils"]) == "True\n"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone: what is committed is not known")
def test_the_sdist_has_all_that_is_committed(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    source = tmp_path / "source"
    for name in files:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    # What git does not know stays here.
    (source / "tests/__pycache__").mkdir()
    (source / "tests/__pycache__/old.pyc").touch()
    subprocess.run(
        [sys.executable, "-c", "from setuptools.build_meta import build_sdist; build_sdist('..')"],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        inside = {member.name.partition("/")[2] for member in packed if member.isfile()}
    made = {name for name in inside if name.startswith("calibration_course.egg-info/")}
    assert inside - made - {"PKG-INFO", "setup.cfg"} == files


def test_every_place_says_the_same_version() -> None:
    version = calib_utils.__version__
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == calib_records.__version__ == version
    assert calib_audit.__version__ == classroom.__version__ == version
    for name in ("calib_audit", "classroom"):
        project = tomllib.loads((ROOT / name / "pyproject.toml").read_text("utf-8"))["project"]
        assert f"calibration-course=={version}" in project["dependencies"]
