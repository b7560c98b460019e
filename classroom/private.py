"""A teacher's private copy of the course, and one without solutions and checks for students."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from classroom import ClassroomError
from classroom.goals import ASSIGNMENTS

HIDDEN = ("assignments/", "tests/classroom/")  # how the files begin that students must not see


def make_private(target: Path) -> tuple[Path, Path]:
    """Copy the course twice, without its history.

    Args:
        target: a new folder, outside the repository.

    Returns:
        ``target/private``, which has everything and from which a teacher releases and grades, and
        ``target/public``, which has no assignment and may be shown to students.

    Raises:
        ClassroomError: if the folder is there already or lies in the repository, or if git does
            not know the files.
    """
    root = ASSIGNMENTS.parent
    if target.exists() or root in target.resolve().parents:
        raise ClassroomError(f"{target}: name a folder that is not there yet, outside {root.name}")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    files = [name for name in listed.stdout.decode().split("\0") if name]
    if not files:
        raise ClassroomError(
            f"git lists no files of {root.name}; copy the repository with git clone"
        )
    for folder in ("private", "public"):
        for file in files:
            if folder == "private" or not file.startswith(HIDDEN):
                copy = target / folder / file
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / file, copy)
    return target / "private", target / "public"
