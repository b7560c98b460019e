"""A class of honest, damaged and hostile submissions, graded in one run through the sandbox.

Some are always graded, and all of them where tests are thorough.
"""

from __future__ import annotations

import hashlib
import re
import socket
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from classroom import grade
from classroom.bubblewrap import Limits
from classroom.feedback import write_feedback
from classroom.grade import grade_class
from classroom.results import read_json
from tests.classroom.hostile import (
    CRASHES,
    HONEST,
    MARKER,
    ON_THE_GRADER,
    Case,
    on_the_machine,
)
from tests.classroom.tiny_class import FULL, SECRET, hand_in, make_class, need_sandbox, points
from tests.thorough import mostly_thorough

FIXED = HONEST | CRASHES | ON_THE_GRADER
NAMES = [*FIXED, *on_the_machine("", 0, "", "")]
PICTURE = re.compile(r"data:image/(?:png|jpeg|svg\+xml);base64,[\w+/=]+")
ATTACKS = [name for name in NAMES if name not in HONEST | CRASHES]
QUICK = {
    *("full", "half-a-file", "exit-in-q2", "endless-cell", "memory", "huge"),
    *("forged-with-id", "leak", "equality", "spy", "network"),
}


def tree(folder: Path) -> dict[str, str]:
    """All files of a folder, and a hash of each."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.fixture(scope="module")
def graded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, dict[str, Case]]]:
    """The class's folder, all of it graded and fed back; and its submissions."""
    need_sandbox()
    root = tmp_path_factory.mktemp("hostile")
    here = [item for item in request.session.items if item.path == request.path]
    names = [item.callspec.params["student"] for item in here if hasattr(item, "callspec")]
    with pytest.MonkeyPatch.context() as patch, socket.socket() as listener:
        folder = make_class(root, patch)
        patch.setenv("CANARY", "in the environment of the grader")
        patch.setattr(sys, "dont_write_bytecode", True)  # else the checks that it imports
        # The machine may be busy, and no case waits for the clock.
        patch.setattr(grade, "Limits", lambda **given: Limits(**{**given, "wall_seconds": 600}))
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.1)
        port = listener.getsockname()[1]
        known = FIXED | on_the_machine(str(folder), port, SECRET.decode(), sys.base_prefix)
        cases = {name: known[name] for name in names}
        for student, case in cases.items():
            hand_in(folder, student, case.cells, case.metadata)
        before = tree(root)
        grade_class(folder, "tiny", jobs=3)
        after = tree(root)
        assert after.keys() - before.keys() == {
            str(folder / "graded" / "tiny" / f"{student}.json") for student in cases
        }
        assert before.items() <= after.items(), "a file was changed"
        with pytest.raises(TimeoutError):
            listener.accept()
        write_feedback(folder, "tiny")
        yield folder, cases


@pytest.mark.parametrize("student", mostly_thorough(NAMES, QUICK))
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
    folder, cases = graded
    earned: dict[str, Any] = {}
    for student in cases.keys() & ATTACKS:
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


class Tags(HTMLParser):
    """The tags of a page, and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)


def test_no_page_is_large_or_runs_anything(graded: tuple[Path, dict[str, Case]]) -> None:
    folder, cases = graded
    for student in cases:
        page = (folder / "feedback/tiny" / f"{student}.html").read_text("utf-8")
        assert len(page) < 8_000_000, student
        assert len(PICTURE.sub("", page)) < 200_000, student
        assert "default-src 'none'" in page
        found = Tags()
        found.feed(page)
        allowed = "html head meta title style body h1 h2 p strong table tr th td pre ul li div "
        allowed += "thead tbody em code a blockquote img span"  # what Markdown makes of an answer
        assert found.tags <= set(allowed.split()), student
        for name, value in found.attributes:
            assert not name.startswith("on"), student
            assert name != "src" or PICTURE.fullmatch(value or ""), student
            assert name != "href" or not (value or "").lower().startswith(("javascript", "data"))


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
