"""The platforms' own tables of points: filled in, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.goals import read_goals
from classroom.table import fill
from tests.classroom.handing_in import WORKSHEET

GRADEBOOK = """Student,ID,SIS Login ID,Section,Measure by group (99),Final
    Points Possible,,,,12,100
"Lovelace, Ada",7,ada,1,3,0
"Kim, Jiwoo",1234567,jiwoo,1,,0
"""
BRIGHTSPACE = (
    "OrgDefinedId,Last Name,First Name,Measure by group Points Grade <Numeric MaxPoints:12>,#\n"
    "#901,Kim,Jiwoo,,#\n#902,Lovelace,Ada,,#\n"
)
SEMICOLONS = "Teilnehmer;Name;Bewertung;Beste Bewertung\nTeilnehmer/in 1234567;J;;12,00\n"


def student(number: str, person: str, points: str) -> tuple[dict[str, str], str]:
    return {"id": f"x-{number}", "number": number, "name": person}, points


CLASS = [student("1234567", "Jiwoo Kim", "7.5"), student("7", "Ada Lovelace", "")]


def filled(tmp_path: Path, text: str, column: str = "", class_: list = CLASS) -> list[str]:
    table, target = tmp_path / "table.csv", tmp_path / "filled.csv"
    table.write_text(text, "utf-8")
    said = fill(table, target, read_goals("measuring"), class_, column)
    return [said, *target.read_text("utf-8-sig").splitlines()]


def test_fill_fills_in_the_tables_of_the_platforms(tmp_path: Path) -> None:
    said, *rows = filled(tmp_path, GRADEBOOK)
    assert rows == [*GRADEBOOK.splitlines()[:2], '"Kim, Jiwoo",1234567,jiwoo,1,7.5,0']
    assert "1 rows with points; the column is 'Measure by group (99)'" in said
    assert filled(tmp_path, BRIGHTSPACE)[1:] == [BRIGHTSPACE.split("\n")[0], "#901,Kim,Jiwoo,7.5,#"]
    said, _, row = filled(tmp_path, SEMICOLONS)
    assert row == "Teilnehmer/in 1234567;J;7,5;12,00"
    assert "not in the table: x-7" in said


@pytest.mark.parametrize("name", ["Measuring", "Measuring (991)", "measuring"])
def test_fill_finds_a_column_of_the_assignments_own_name(tmp_path: Path, name: str) -> None:
    text = f"Student,ID,Measuring quality,{name}\nJiwoo Kim,1234567,1,\n"
    assert filled(tmp_path, text)[2] == "Jiwoo Kim,1234567,1,7.5"


def test_fill_takes_a_column_that_is_named(tmp_path: Path) -> None:
    text = "Who,Mark,Test\n1234567,,\n"
    with pytest.raises(ClassroomError, match="--column; there are Who, Mark, Test"):
        filled(tmp_path, text)
    with pytest.raises(ClassroomError, match="--column"):
        filled(tmp_path, text, "Nothing")
    assert filled(tmp_path, text, "Mark")[2] == "1234567,7.5,"


@pytest.mark.parametrize("text", [WORKSHEET, GRADEBOOK, BRIGHTSPACE, SEMICOLONS])
def test_fill_says_another_maximum_and_writes_nothing(tmp_path: Path, text: str) -> None:
    text = text.replace(",12,", ",100,").replace("MaxPoints:12", "MaxPoints:100")
    with pytest.raises(ClassroomError, match="the maximum is 100 there and 12 here"):
        filled(tmp_path, text.replace(";12,00", ";100,00"))
    assert not (tmp_path / "filled.csv").exists()


def test_fill_refuses_a_table_of_others(tmp_path: Path) -> None:
    with pytest.raises(ClassroomError, match="nobody of the class"):
        filled(
            tmp_path,
            GRADEBOOK.replace("7,", "8,").replace("Lovelace", "Smith").replace("Kim", "Lee"),
        )
    two = [student("x", "Jiwoo Kim", "1")]  # two students of one name are nobody
    twice = BRIGHTSPACE + "#903,Kim,Jiwoo,,#\n"
    with pytest.raises(ClassroomError, match="nobody of the class"):
        filled(tmp_path, twice, class_=two)
    with pytest.raises(ClassroomError, match="cannot be read"):
        fill(tmp_path / "none.csv", tmp_path / "x", read_goals("measuring"), CLASS)


def test_fill_takes_numbers_and_names_of_one_platform_only(tmp_path: Path) -> None:
    of_canvas = [(found | {"platform": "canvas"}, points) for found, points in CLASS]
    others = [student("7", "Ada L", "1"), student("8", "Ada Lovelace", "2")]
    of_moodle = [(found | {"platform": "moodle"}, points) for found, points in others]
    for class_ in (of_canvas + of_moodle, of_moodle + of_canvas):
        assert filled(tmp_path, GRADEBOOK, class_=class_)[3:] == [
            '"Kim, Jiwoo",1234567,jiwoo,1,7.5,0'
        ]
