"""Tests that passed before are left out only while nothing that they depend on has changed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = {
    "calib_utils/__init__.py": "",
    "calib_utils/used.py": "from calib_utils.below import VALUE\n",
    "calib_utils/below.py": "VALUE = 1\n",
    "calib_utils/other.py": "",
    "README.md": "one",
    "notes/a.txt": "",
    "notes/code.md": "from calib_utils.used import VALUE\n",
    "tests/helper.py": "",
    "tests/test_helped.py": "import helper, setuptools\ndef test_it():\n    assert helper\n",
    "tests/test_imports.py": "def test_it():\n    from calib_utils.used import VALUE\n"
    "    assert VALUE\n",
    "tests/test_opens.py": "def test_it():\n    assert open('README.md').read()\n",
    "tests/test_reads.py": "TEXT = open('README.md').read()\ndef test_it():\n    assert TEXT\n",
    "tests/test_runs.py": "def test_it():\n    text = open('notes/code.md').read()\n"
    "    exec(compile(text, 'notes/code.md', 'exec'))\n",
    "tests/test_lists.py": "import os\ndef test_it():\n    assert os.listdir('notes')\n",
    "tests/test_starts.py": "import subprocess\ndef test_it():\n"
    "    subprocess.run(['true'], check=True)\n",
    "tests/test_apart.py": "import subprocess\ndef test_it(tmp_path):\n"
    "    subprocess.run(['true', 'calib_utils.used'], check=True, cwd=tmp_path)\n",
    "tests/test_fails.py": "def test_it():\n    assert False\n",
    "tests/test_site.py": "import pytest\n@pytest.mark.parametrize('name', ['a.html', 'b.html'])\n"
    "def test_it(name):\n    assert name\ndef test_all():\n    pass\n",
    "tests/test_site_more.py": "import test_site\ndef test_it():\n    assert test_site\n",
    "build/html/a.html": "",
    "build/html/b.html": "",
    "build/html/_static/a.css": "",
    "build/html/_static/search-index.js": "",
}
SITE = {"site", "site_more"}
PAGES = {"site a.html", "site b.html"}
PASSING = {"helped", "imports", "opens", "reads", "runs", "lists", "starts", "apart", *SITE, *PAGES}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    for name, text in TESTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", "utf-8")
    (root / ".gitignore").write_text("__pycache__\nbuild\n.pytest_cache\n", "utf-8")
    shutil.copy(ROOT / "tests/passed_before.py", root / "tests")
    shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    run(root, "-n", "1", "--dist", "loadfile")  # the others in one process, which starts sooner
    return root


def run(root: Path, *arguments: str) -> set[str]:
    """The files of tests that ran, and the pages of which they tested one."""
    said = ended(root, *arguments).stdout
    ran = re.findall(r"(?:PASSED|FAILED) tests/test_(\w+)\.py::\w+(?:\[(.*?)\])?", said)
    return {f"{file} {page}".strip() for file, page in ran}


def ended(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "tests.passed_before", "-rA"]
    command += ["--passed-before=build/passed.json", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def test_all_runs_first_and_only_what_failed_again(repository: Path) -> None:
    noted = json.loads((repository / "build/passed.json").read_text("utf-8"))
    assert {one.replace(".py", "") for one in noted} == {f"tests/test_{name}" for name in PASSING}
    assert run(repository) == {"fails"}


@pytest.mark.parametrize(
    ("name", "ran"),
    [
        ("calib_utils/below.py", {"imports", "runs", "starts", "apart"}),
        ("calib_utils/other.py", {"starts"}),
        ("README.md", {"opens", "reads", "starts"}),
        ("notes/b.txt", {"lists", "starts"}),
        ("tests/helper.py", {"helped", "starts"}),
        ("pyproject.toml", PASSING),
        ("build/html/a.html", {*SITE, "site a.html"}),
        ("build/html/_static/a.css", {*SITE, *PAGES}),
        ("build/html/_static/search-index.js", SITE),
    ],
)
def test_a_change_runs_what_depends_on_it(repository: Path, name: str, ran: set[str]) -> None:
    """Once: the next call, of the next of these, finds it noted."""
    path = repository / name
    path.write_text(path.read_text("utf-8") + "# more\n" if path.exists() else "", "utf-8")
    assert run(repository) == {"fails", *ran}


def test_a_file_that_changes_while_the_tests_run_is_not_noted(repository: Path) -> None:
    changes = "def test_it():\n    open('README.md', 'a').write('!')\n"
    (repository / "tests/test_changes.py").write_text(changes, "utf-8")
    assert run(repository) == {"fails", "changes", "starts"}
    assert run(repository) >= {"changes", "opens"}
    (repository / "tests/test_changes.py").unlink()


def test_a_part_of_the_tests_is_run_in_any_case(repository: Path) -> None:
    assert run(repository, "tests/test_imports.py::test_it") == {"imports"}
    assert run(repository, "-k", "test_it and imports") == {"imports"}


def test_nothing_left_to_run_is_a_success(repository: Path) -> None:
    (repository / "tests/test_fails.py").unlink()
    ended(repository)
    done = ended(repository)
    assert done.returncode == 0
    assert f"{len(PASSING)} tests passed before" in done.stdout
