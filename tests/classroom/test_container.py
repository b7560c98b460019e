"""The container file, step by step without a container: what it copies is all that is needed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_class import need_sandbox

REPOSITORY = Path(__file__).parents[2]
CONTAINERFILE = (REPOSITORY / "classroom/Containerfile").read_text("utf-8")


def steps(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", CONTAINERFILE, re.MULTILINE)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the container has of the repository."""
    found = tmp_path_factory.mktemp("container") / "course"
    for step in steps("COPY"):
        *sources, target = step.split()
        for source in sources:
            place = found / target / ("" if target != "./" else source)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (REPOSITORY / source).is_dir():
                litter = shutil.ignore_patterns("__pycache__")
                shutil.copytree(REPOSITORY / source, place, ignore=litter)
            else:
                shutil.copyfile(REPOSITORY / source, place)
    return found


def test_it_has_what_the_guide_asks_for() -> None:
    assert "apt-get install --yes --no-install-recommends bubblewrap" in CONTAINERFILE
    assert "pip install --no-cache-dir '.[classroom]'" in CONTAINERFILE
    assert steps("WORKDIR") == ["/course", "/teaching"]
    # Around students' code there is no container with the rights of root.
    assert "privileged" not in CONTAINERFILE
    guide = (REPOSITORY / "book/teach.md").read_text("utf-8")
    for command in re.findall(r"^#     (podman .+?)(?: grade .*)?$", CONTAINERFILE, re.MULTILINE):
        assert command in guide
    assert "--privileged" not in guide


def test_its_command_grades_a_class(course: Path, tmp_path: Path) -> None:
    need_sandbox()
    [variable] = steps("ENV")
    [entry] = steps("ENTRYPOINT")
    python, *command = json.loads(entry)
    assert (variable, python) == ("PYTHONPATH=/course MPLCONFIGDIR=/tmp", "python")

    def run(*words: str) -> str:
        # The Python that has the packages; of the repository there is only what was copied.
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(course)}
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # As the command does, which grades the solution of each sheet as well.
    run("-c", "from classroom import release; release.release('measuring', release.Path('class'))")
    (tmp_path / "export/Ada L").mkdir(parents=True)
    solved = tmp_path / "class/teacher/measuring/measuring-7.ipynb"
    shutil.copyfile(solved, tmp_path / "export/Ada L/measuring-7.ipynb")
    run(*command, "collect", "measuring", "export", "--plain")
    assert "10 of 10" in run(*command, "grade", "measuring")
