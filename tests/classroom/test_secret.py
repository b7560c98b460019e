"""The secret of a class, from which its sheets are drawn."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.secret import generator, make_secret, read_secret


def test_make_secret_is_for_its_owner_alone(tmp_path: Path) -> None:
    secret = make_secret(tmp_path / "class")
    assert len(secret) == 64
    assert stat.S_IMODE((tmp_path / "class/secret").stat().st_mode) == 0o600
    assert make_secret(tmp_path / "class") == read_secret(tmp_path / "class") == secret
    assert make_secret(tmp_path / "other") != secret
    with pytest.raises(ClassroomError, match="another secret"):
        make_secret(tmp_path / "class", key="another one")
    with pytest.raises(ClassroomError, match="can be guessed"):
        make_secret(tmp_path / "third", key="short")
    with pytest.raises(ClassroomError, match="has no secret"):
        read_secret(tmp_path / "third")


def test_generator_depends_on_all_its_words() -> None:
    draws = [
        generator(*words).random()
        for words in [(b"a", "b"), (b"a", "b"), (b"a", "c"), (b"b", "b"), (b"a", "b", ""), (b"a",)]
    ]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 5


def test_make_secret_lets_git_ignore_the_folder(tmp_path: Path) -> None:
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    make_secret(tmp_path / "autumn")
    said = subprocess.run([*git, "status", "--short"], check=True, capture_output=True).stdout
    assert said == b""
