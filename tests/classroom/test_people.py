"""One number for a student in all assignments, and the sum of a term."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.people import number_students
from classroom.results import write_json
from classroom.scores import term_of


def hand_in(folder: Path, name: str, platform: str, number: int, person: str) -> str:
    student = f"{platform}-{number}"
    known = {"id": student, "platform": platform, "number": str(number), "name": person}
    write_json(folder / "collected" / name / student / "facts.json", known)
    return student


def test_moodle_numbers_its_students_anew_and_we_do_not(tmp_path: Path) -> None:
    first = hand_in(tmp_path, "measuring", "moodle", 101, "홍길동")
    again = hand_in(tmp_path, "lab", "moodle", 3391, " 홍길동 ")
    canvas = [hand_in(tmp_path, name, "canvas", 7, "홍길동") for name in ("measuring", "lab")]
    other = hand_in(tmp_path, "lab", "moodle", 3392, "Ada L")
    alone = hand_in(tmp_path, "diagnosing", "canvas", 8, "홍길동")  # whom no name tells
    names = ["measuring", "lab", "diagnosing"]
    found = number_students(tmp_path, names)
    assert found[first] == found[again]
    assert len({found[first], found[canvas[0]], found[other], found[alone]}) == 4
    # What the table says stays, also where the teacher has corrected it.
    file = tmp_path / "students.csv"
    text = file.read_text("utf-8-sig")
    file.write_text(text.replace(f"{found[other]},Ada L", "40,Ada L"), "utf-8")
    hand_in(tmp_path, "measuring", "moodle", 102, "Cy")
    later = number_students(tmp_path, names)
    assert later == {**found, other: 40, "moodle-102": 41}


def test_two_students_of_one_name_are_left_to_the_teacher(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, numbers in {"measuring": (1, 2), "lab": (3, 4)}.items():
        for number in numbers:
            hand_in(tmp_path, name, "moodle", number, "Kim Minji")
    found = number_students(tmp_path, ["measuring", "lab"])
    assert len(set(found.values())) == 4
    assert "several are called Kim Minji; correct their numbers" in capsys.readouterr().out
    number_students(tmp_path, ["measuring", "lab"])
    assert capsys.readouterr().out == ""


def test_a_term_has_a_sum() -> None:
    rows = [
        {"number": "1", "name": "Ada", "assignment": "measuring", "points": "7.5"},
        {"number": "2", "name": "Bo", "assignment": "measuring", "points": ""},
        {"number": "1", "name": "Ada", "assignment": "lab", "points": "12"},
        {"number": "1", "name": "Ada", "assignment": "lab", "points": "14"},  # handed in twice
    ]
    assert term_of(rows, ["measuring", "lab"]) == [
        ["number", "name", "measuring", "lab", "sum"],
        ["1", "Ada", "7.5", "14", "21.5"],
        ["2", "Bo", "", "", ""],
    ]


def test_a_table_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "students.csv").write_text("number,student\nsix,moodle-1\n", "utf-8")
    with pytest.raises(ClassroomError, match="a whole number in each row"):
        number_students(tmp_path, [])


def test_names_are_safe_in_a_spreadsheet(tmp_path: Path) -> None:
    hand_in(tmp_path, "lab", "moodle", 1, "=HYPERLINK(1)")
    number_students(tmp_path, ["lab"])
    with (tmp_path / "students.csv").open(encoding="utf-8-sig", newline="") as file:
        assert next(csv.DictReader(file))["name"] == "'=HYPERLINK(1)"
