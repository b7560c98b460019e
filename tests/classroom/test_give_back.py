"""Feedback and points go back under the names that each platform knows."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.give_back import give_back
from classroom.goals import read_goals
from classroom.platforms import read_path
from classroom.results import submitted, write_json
from tests.classroom.handing_in import KOREAN, MOODLE, WORKSHEET, notebook_of, of_kim, uploaded


def give(room: Path, student: str, points: float) -> None:
    """Write a result as grading does."""
    given = dict.fromkeys(read_goals("measuring").questions, 0.0) | {"q3": points}
    result = {
        "student": student,
        "status": "graded",
        "questions": {q: {"points": p, "of": 4, "checks": []} for q, p in given.items()},
        "hashes": {"submission": submitted(room / "collected/measuring" / student)},
    }
    write_json(room / "graded/measuring" / f"{student}.json", result)


def test_give_back_refuses_before_somebody_handed_in(room: Path) -> None:
    with pytest.raises(ClassroomError, match="nobody handed in"):
        give_back(room, "measuring")


def test_give_back_writes_pages_and_points_under_the_platforms_names(
    tmp_path: Path, room: Path
) -> None:
    names = [
        f"{MOODLE}/{KOREAN}",
        "Ada L_7_assignsubmission_file_a.ipynb",
        "lee_LATE_5_61_b.c-1.ipynb",
    ]
    uploaded(room, dict.fromkeys(names, notebook_of()))
    give(room, "moodle-1234567", 7.5)
    give(room, "canvas-5", 4)
    give_back(room, "measuring")
    give(room, "canvas-5", 10)  # graded anew: what was made before is not given back
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(WORKSHEET, "utf-8-sig")
    files = {file.name: file for file in give_back(room, "measuring", worksheet)}
    with zipfile.ZipFile(files["measuring-moodle.zip"]) as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist()}
        assert "7.5 of 12 points" in pages.pop(f"{MOODLE}/ece의 사본-feedback.html")
        assert "Not graded" in pages.pop("Ada L_7_assignsubmission_file_a-feedback.html")
        assert not pages
        # The platform finds the student in its own name again.
        assert {read_path(name).number for name in archive.namelist()} == {"1234567", "7"}
    with zipfile.ZipFile(files["measuring-canvas.zip"]) as archive:
        assert archive.namelist() == ["lee_LATE_5_61_b.c-1-feedback.html"]
    # Moodle's own columns, in its language; who has no points yet is left out.
    head, row, *rest = (room / "return/measuring-points.csv").read_text("utf-8-sig").split("\n")
    assert head.strip() == WORKSHEET.split("\n")[0]
    assert row.strip() == '참여자 1234567,"Kim, Jiwoo",7.5,12,-,'
    assert rest == [""]


def test_give_back_names_an_unknown_platform(room: Path) -> None:
    of_kim(room, notebook_of())
    file = room / "collected/measuring/canvas-5/facts.json"
    file.write_text(file.read_text().replace('"canvas"', '"blackboard"'))
    with pytest.raises(ClassroomError, match="canvas-5 is of an unknown platform"):
        give_back(room, "measuring")
