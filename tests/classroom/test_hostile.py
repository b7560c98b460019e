"""A class of honest, damaged and hostile submissions, graded in one run through the sandbox."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import CRASHES, DAMAGED, HONEST, MARKER, Case, attacks
from tiny_class import FULL, SECRET, hand_in, make_class, need_sandbox, points

from classroom.feedback import write_feedback
from classroom.grade import grade_class
from classroom.results import read_json

pytestmark = pytest.mark.thorough

ATTACKS = sorted(attacks("", 0, "", ""))
FIXED = HONEST | DAMAGED | CRASHES


def tree(folder: Path) -> dict[str, str]:
    """All files of a folder, and a hash of each."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Case]]]:
    """The class's folder, all of it graded and fed back; and its submissions."""
    need_sandbox()
    root = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch, socket.socket() as listener:
        folder = make_class(root, patch)
        patch.setenv("CANARY", "in the environment of the grader")
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.1)
        port = listener.getsockname()[1]
        cases = FIXED | attacks(str(folder), port, SECRET.decode(), sys.base_prefix)
        for student, case in cases.items():
            hand_in(folder, student, case.cells, case.metadata, **dict(case.facts))
        before = tree(root)
        grade_class(folder, "tiny", jobs=2)
        after = tree(root)
        assert after.keys() - before.keys() == {
            str(folder / "graded" / "tiny" / f"{student}.json") for student in cases
        }
        assert before.items() <= after.items(), "a file was changed"
        with pytest.raises(TimeoutError):
            listener.accept()
        write_feedback(folder, "tiny")
        yield folder, cases


@pytest.mark.parametrize("student", [*FIXED, *ATTACKS])
def test_a_submission_has_its_score_and_its_message(
    graded: tuple[Path, dict[str, Case]], student: str
) -> None:
    folder, cases = graded
    case = cases[student]
    result = read_json(folder / "graded/tiny" / f"{student}.json")
    page = (folder / "feedback/tiny" / f"{student}.html").read_text("utf-8")
    if case.points is None:
        assert result["status"] == "not graded"
        assert case.said in result["reason"]
        assert "This is not a zero" in page
    else:
        assert result["status"] == "graded", result["reason"]
        assert points(result) == case.points
    assert case.said in page


def test_no_attack_earns_anything(graded: tuple[Path, dict[str, Case]]) -> None:
    folder, _ = graded
    earned: dict[str, Any] = {}
    for student in ATTACKS:
        result = read_json(folder / "graded/tiny" / f"{student}.json")
        earned[student] = sum(points(result).values())
    assert earned.pop("leak") == FULL["q1"] + FULL["q3"]  # it had answered these
    assert set(earned.values()) == {0}


def test_no_process_survives(graded: tuple[Path, dict[str, Case]]) -> None:
    running = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            running.append(place.read_bytes())
        except OSError:
            continue
    assert running
    assert not [line for line in running if MARKER.encode() in line]


def test_no_page_is_large_or_runs_anything(graded: tuple[Path, dict[str, Case]]) -> None:
    folder, cases = graded
    for student in cases:
        page = (folder / "feedback/tiny" / f"{student}.html").read_text("utf-8")
        assert len(page) < 30_000, student
        assert "default-src 'none'" in page
        tags = set(re.findall(r"<\s*(\w+)", page))
        allowed = "html head meta title style body h1 h2 p strong table tr th td pre ul li div "
        allowed += "img"  # a formula, or a picture that is in the page itself
        assert not re.search(r'src="(?!data:image/)', page), student
        assert tags <= set(allowed.split()), student
        assert not re.search(r"<[^>]*\son\w+\s*=", page), student


def test_no_page_has_a_hidden_input(graded: tuple[Path, dict[str, Case]]) -> None:
    folder, cases = graded
    from classroom.goals import load

    numbers = [
        repr(number)[:8]
        for check in load("tiny").checks(SECRET, {})
        for argument in check.arguments
        for number in getattr(argument, "tolist", lambda: [])()
        if isinstance(number, float) and number
    ]
    assert len(numbers) > 100
    for student in cases:
        for file in (f"feedback/tiny/{student}.html", f"graded/tiny/{student}.json"):
            text = (folder / file).read_text("utf-8")
            assert not [number for number in numbers if number in text], file


def test_no_group_is_left(graded: tuple[Path, dict[str, Case]]) -> None:
    from classroom.group import places

    ours = f"classroom-{os.getpid()}-"
    for place in places():
        assert not [name for name in os.listdir(place) if name.startswith(ours)]
