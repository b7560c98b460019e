"""The environment that make makes, whether it is that of the lock, and what a release contains."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tools.running import packages
from tools.sources.errors import MystError

ROOT = Path(__file__).parents[1]
LOCK = """\
numpy==2.4.0 ; python_full_version >= '3.11' \\
    --hash=sha256:00
old==1.0 ; python_full_version < '3.11' \\
    --hash=sha256:00
Sphinx-Thing==1.0 \\
    --hash=sha256:00
torch==2.15.0 \\
    # via nobody
"""


def test_packages_other_than_those_of_the_lock_are_named() -> None:
    right = {"numpy": "2.4.0", "sphinx-thing": "1.0", "torch": "2.15.0+cpu", "own": "3"}
    assert packages.differences(LOCK, right) == []
    wrong = {"numpy": "2.3.9", "old": "1.0", "torch": "2.15.0"}
    assert packages.differences(LOCK, wrong) == [
        "numpy is 2.3.9 instead of 2.4.0",
        "Sphinx-Thing is missing",
    ]


def test_a_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(packages, "installed", dict)
    with pytest.raises(
        MystError, match=r"and \d+ more\. `rm .venv/.installed`, and the next `make`"
    ):
        packages.require_locked()


def test_packages_are_those_of_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    packages.require_locked()


# In the place of Python: makes an environment of scripts, slowly, and says so.
FAKE = """#!/bin/sh
case "$*" in
  "-m venv .venv")
    echo venv >> made
    [ ! -e .venv/busy ] || echo "two at once" >> made
    mkdir -p .venv/bin && touch .venv/busy && sleep 0.3
    printf '#!/bin/sh\n' > .venv/bin/python && cp .venv/bin/python .venv/bin/uv
    chmod +x .venv/bin/* && rm .venv/busy ;;
  *) exec {python} "$@" ;;
esac
"""


@pytest.mark.skipif(not shutil.which("make"), reason="no make")
def test_two_first_calls_take_turns(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
    fake = tmp_path / "python"
    fake.write_text(FAKE.format(python=sys.executable), "utf-8")
    fake.chmod(0o755)
    # Not with what a `make test` around this one has set.
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("MAKE")}
    command = ["make", f"PYTHON={fake}", ".venv/.installed"]
    both = [
        subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert (tmp_path / "made").read_text("utf-8") == "venv\n"
    assert (tmp_path / ".venv/.installed").exists()


def test_the_readme_says_how_large_the_records_are() -> None:
    stored = (ROOT / "calib_utils/records/stored").rglob("*.npz")
    (said,) = re.findall(r"records are (\d+) MB", (ROOT / "README.md").read_text("utf-8"))
    assert int(said) == pytest.approx(sum(path.stat().st_size for path in stored) / 1e6, rel=0.1)


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
