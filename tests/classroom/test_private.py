"""The private copy: a teacher releases from one half, and students see nothing in the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from classroom import ClassroomError, private
from classroom.__main__ import main
from classroom.goals import assignment_names
from classroom.release import hidden_lines

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return private.make_private(tmp_path_factory.mktemp("private") / "teaching")


@pytest.mark.parametrize("name", assignment_names())
def test_students_see_no_solution_and_no_check(copies: tuple[Path, Path], name: str) -> None:
    _, public = copies
    assert not (public / "assignments").exists()
    assert not (public / ".git").exists()
    files = [path for path in public.rglob("*") if path.suffix in {".md", ".py", ".toml"}]
    assert len(files) > 300
    text = "\n".join(path.read_text("utf-8") for path in files)
    hidden = {line for line in hidden_lines(name) if len(line) >= 50}
    assert len(hidden) > 40
    assert [line for line in hidden if line in text] == []


def test_the_private_half_releases_and_the_public_one_has_its_tables(
    copies: tuple[Path, Path], tmp_path: Path
) -> None:
    mine, shown = copies

    def run(folder: Path, *words: str) -> None:
        # Without bubblewrap: what is released is not graded here, too.
        environment = {"PYTHONPATH": str(folder), "PATH": ""}
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    file = mine / "assignments/measuring/variants.toml"
    file.write_text(file.read_text("utf-8").replace("The gap is", "The difference is"), "utf-8")
    run(mine, "classroom", "release", "measuring", "--class", str(tmp_path / "class"))
    released = tmp_path / "class/released/measuring/sheet-5/measuring-5.ipynb"
    assert "**On your sheet:** The difference is" in released.read_text("utf-8")
    for table in ("goals", "syllabus"):
        run(shown, f"book.tables.{table}", str(tmp_path / f"{table}.md"))


def test_a_folder_that_is_there_or_in_the_repository_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["private", str(tmp_path)]) == 1
    assert "name a folder that is not there yet" in capsys.readouterr().err
    assert main(["private", str(REPOSITORY / "copy")]) == 1
    assert not (REPOSITORY / "copy").exists()
    monkeypatch.setattr(private, "ASSIGNMENTS", tmp_path / "plain/assignments")
    (tmp_path / "plain").mkdir()
    with pytest.raises(ClassroomError, match="git lists no files"):
        private.make_private(tmp_path / "target")
