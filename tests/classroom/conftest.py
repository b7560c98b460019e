"""A class that handed in nothing yet, and one that has results."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom.secret import make_secret
from tests.classroom.results_on_disk import EVIL, give
from tests.classroom.tiny_class import hand_in, make_class


@pytest.fixture
def room(tmp_path: Path) -> Path:
    make_secret(tmp_path / "class", "for the tests")
    return tmp_path / "class"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = make_class(tmp_path, monkeypatch)
    hand_in(found, "m-1", b"", name="=HYPERLINK(1)", late=True)
    hand_in(found, "m-2", b"", name="홍길동")
    hand_in(found, "m-3", b"", name=EVIL, late=None)
    hand_in(found, "m-4", b"")
    give(found, "m-1")
    give(found, "m-2", points=0.5)
    give(found, "m-3", status="not graded", reason=f"The file is {EVIL}.")
    return found
