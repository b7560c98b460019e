"""The commands: errors in a line, and a class of forty from its exports to its tables.

Half of the class are on Moodle and half on Canvas. Files come late, twice, renamed, damaged or not
at all, both speak German, and some students of the one have the name of a student of the other.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classroom import grade, notebooks
from classroom.__main__ import main
from classroom.platforms import read_path
from tests.classroom.handing_in import notebook_of, zipped
from tests.classroom.tiny_class import Q1, STUBS, answers, code, make_class, need_sandbox, notebook

# What was handed in, and the points that a teacher gives for its answer in words; behind it, those
# of the computer.
KINDS = {
    "full": (answers(), 4),  # 6
    "half": (answers(q2=STUBS[1], q3=STUBS[2]), 3.5),  # 2
    "sign": (answers(q1=Q1.replace("np.mean(confidences) -", "-np.mean(confidences) +")), 2),  # 4.5
    "crash": (answers(q2="def counts(x, n):\n    import os\n    os._exit(0)"), 1),  # 3
    "deleted": ([code("q1", Q1), ("text:q4", "Because.")], 0),  # 2
    "stub": (answers(*STUBS), 0),  # 0
}
# A student of Moodle: what was handed in and under which name, the last one counting.
MOODLE = {
    **{1001 + n: [("full", "tiny.ipynb")] for n in range(6)},
    1007: [("full", "Copy of tiny.ipynb")],
    1008: [("full", "내 사본 (1).ipynb")],
    1009: [("half", "tiny.ipynb")],
    1010: [("half", "A_1_2_B.ipynb")],
    1011: [("sign", "tiny.ipynb")],
    1012: [("sign", "inner/folder/tiny.ipynb")],
    1013: [("crash", "tiny.ipynb")],
    1014: [("deleted", "tiny (2).ipynb")],
    1015: [("stub", "tiny.ipynb")],
    1016: [("stub", "old.ipynb"), ("full", "new.ipynb")],
    1017: [("full", "tiny.ipynb"), ("pdf", "report.pdf")],
    1018: [("pdf", "report.pdf")],
    1019: [("half", "tiny.ipynb")],  # and a better one in the second export
    1020: [],
}
CANVAS = {
    **{2001 + n: [("full", "tiny.ipynb")] for n in range(6)},
    2007: [("full", "LATE tiny-1.ipynb")],
    2008: [("half", "tiny.ipynb"), ("full", "tiny-1.ipynb")],
    2009: [("half", "tiny.ipynb"), ("full", "tiny-1.ipynb"), ("sign", "tiny-2.ipynb")],
    2010: [("half", "LATE tiny.ipynb")],
    2011: [("half", "x-y-3.ipynb")],
    2012: [("sign", "tiny.ipynb")],
    2013: [("crash", "tiny.ipynb")],
    2014: [("deleted", "tiny.ipynb")],
    2015: [("stub", "tiny.ipynb")],
    2016: [("damaged", "tiny.ipynb")],
    2017: [("typed", "text.html")],
    2018: [("full", "사본.ipynb")],
    2019: [],
    2020: [("full", "tiny.ipynb")],
}
# Worked out by hand from the lines above; who is in neither table has no points.
POINTS = {
    **dict.fromkeys([*range(1001, 1009), 1016, 1017, 1019], "10"),
    **dict.fromkeys([1009, 1010], "5.5"),
    **dict.fromkeys([1011, 1012], "6.5"),
    **{1013: "4", 1014: "2", 1015: "0"},
    **dict.fromkeys([*range(2001, 2009), 2018, 2020], "10"),
    **dict.fromkeys([2010, 2011], "5.5"),
    **dict.fromkeys([2009, 2012], "6.5"),
    **{2013: "4", 2014: "2", 2015: "0"},
}
NOT_GRADED = {1018, 2016, 2017}
SOURCE = "\n".join(
    f"```{{code-cell}} python\n:question: q{n}\n\ndef {name}(x):\n    return x\n```\n"
    for n, name in enumerate(["gap", "counts", "stored"], start=1)
)
JUNK = {"pdf": b"%PDF-1.7", "damaged": b'{"cells": [', "typed": b"<p>see my Colab</p>"}


def content(kind: str) -> bytes:
    sheet = ("code", 'sheet = "0"')
    return JUNK.get(kind) or json.dumps(notebook([sheet, *KINDS[kind][0]])).encode()


def person(number: int) -> str:
    return f"Kim {chr(64 + number % 100)}."


def of_moodle() -> Iterator[tuple[str, bytes]]:
    for number, files in MOODLE.items():
        for kind, name in files:
            place = f"{person(number)}_{number}_assignsubmission_file_"
            yield f"{place}/{name}", content(kind)


def of_canvas() -> Iterator[tuple[str, bytes]]:
    for number, files in CANVAS.items():
        for kind, name in files:
            late, name = ("_LATE", name.removeprefix("LATE ")) if "LATE" in name else ("", name)
            place = f"kim{late}_{number}" + ("" if kind == "typed" else f"_{number}7")
            yield f"{place}_{name}", content(kind)


def rows_of(file: str | Path, sign: str = ",") -> list[list[str]]:
    with Path(file).open(encoding="utf-8-sig", newline="") as table:
        return list(csv.reader(table, delimiter=sign))


@pytest.fixture
def forty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The class, graded, with the points of its written answers."""
    need_sandbox()
    folder = make_class(tmp_path, monkeypatch)
    monkeypatch.setattr(notebooks, "ASSIGNMENTS", tmp_path / "assignments")
    (tmp_path / "assignments/tiny/tiny.md").write_text(SOURCE, "utf-8")
    for place in ("measures.py", "tiny/reference.py"):
        (tmp_path / "assignments" / place).write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    # The same notebook has the same score, so each kind runs once.
    right, known = grade.grade_submission, {}

    def grade_once(assignment: grade.Assignment, file: Path) -> dict[str, Any]:
        found = file.read_bytes()
        known[found] = known.get(found) or right(assignment, file)
        return known[found]

    monkeypatch.setattr(grade, "grade_submission", grade_once)
    return folder


def run(*words: str) -> None:
    assert main([*words]) == 0


def mark(folder: Path) -> None:
    """Give each written answer its points, in the table that a teacher fills in."""
    file = folder / "hand/tiny.csv"
    head, *rows = rows_of(file)
    for row in rows:
        number = int(row[0].partition("-")[2])
        files = [("full", "")] if number == 1019 else {**MOODLE, **CANVAS}[number]
        [*_, kind] = [kind for kind, _ in files if kind in KINDS]
        row[2] = str(KINDS[kind][1])
    with file.open("w", encoding="utf-8", newline="") as table:
        csv.writer(table).writerows([head, *rows])


def worksheet(number: int, points: str) -> list[str]:
    """A row of Moodle's worksheet."""
    return [f"Teilnehmer/in {number}", person(number), "", points, "10,00", "Ja", "-"]


def gradebook(number: int, points: str) -> list[str]:
    """A row of Canvas's gradebook."""
    return [f"Kim, {person(number)}", str(number), f"login{number}", "1", points, ""]


WORKSHEET = [["ID", "Name", "Status", "Bewertung", "Bestwertung", "Bewertung änderbar", "Zuletzt"]]
GRADEBOOK = [
    ["Student/in", "ID", "SIS-Anmelde-ID", "Abschnitt", "A tiny one (77)", "Endergebnis"],
    ["", "", "", "", "Manuelle Freigabe", ""],
    ["    Mögliche Punkte", "", "", "", "10", "(schreibgeschützt)"],
]


def write(file: str, rows: list[list[str]], sign: str = ",") -> None:
    with Path(file).open("w", encoding="utf-8-sig", newline="") as table:
        csv.writer(table, delimiter=sign).writerows(rows)


def test_forty_students_from_two_platforms_and_back(forty: Path) -> None:
    assert len(MOODLE | CANVAS) == 40
    zipped(Path("moodle.zip"), dict(of_moodle()))
    zipped(Path("canvas.zip"), dict(of_canvas()))
    run("collect", "tiny", "moodle.zip", "canvas.zip")
    run("grade", "tiny")
    # One more comes after the others were graded.
    again = f"{person(1019)}_1019_assignsubmission_file_/tiny.ipynb"
    with zipfile.ZipFile("later.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(again, (2026, 11, 23, 9, 0, 0)), content("full"))
    run("collect", "tiny", "later.zip")
    run("grade", "tiny")
    run("scores")
    mark(forty)

    write("worksheet.csv", [*WORKSHEET, *(worksheet(n, "") for n in MOODLE)], ";")
    run("return", "tiny", "--table", "worksheet.csv")
    filled = [worksheet(n, POINTS[n].replace(".", ",")) for n in MOODLE if n in POINTS]
    assert rows_of("class/return/tiny-points.csv", ";") == [*WORKSHEET, *filled]

    others = [["Testperson", "2999", "", "1", "", ""]]
    backwards = [*CANVAS][::-1]
    write("grades.csv", [*GRADEBOOK, *(gradebook(n, "3") for n in backwards), *others])
    run("return", "tiny", "--table", "grades.csv")
    filled = [gradebook(n, POINTS[n]) for n in backwards if n in POINTS]
    assert rows_of("class/return/tiny-points.csv") == [*GRADEBOOK, *filled]

    head, *rows = rows_of("class/scores.csv")
    scores = {int(row[0].partition("-")[2]): dict(zip(head, row, strict=True)) for row in rows}
    assert {n: row["points"] for n, row in scores.items() if row["points"]} == POINTS
    assert {n for n, row in scores.items() if row["status"] == "not graded"} == NOT_GRADED
    assert {n for n, row in scores.items() if row["late"] == "yes"} == {2007, 2010}

    # Each page finds its student again, by the platform's own name.
    for platform, students in {"moodle": MOODLE, "canvas": CANVAS}.items():
        with zipfile.ZipFile(f"class/return/tiny-{platform}.zip") as archive:
            found = {name: read_path(name) for name in archive.namelist()}
            pages = {
                int(place.number): archive.read(name).decode()
                for name, place in found.items()
                if place is not None  # Canvas takes no page for text that was typed
            }
        assert pages.keys() == {n for n, files in students.items() if files} - {2017}
        for number, page in pages.items():
            earned = f"{POINTS[number]} of 10 points" if number in POINTS else "This is not a zero"
            assert earned in page


def test_main_says_errors_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (
        ["collect", "lab", "moodle.zip"],
        ["grade", "lab"],
        ["return", "lab"],
        ["release", "lab", "--key", "short"],
    ):
        assert main(words) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert len(captured.err.splitlines()) == 1
    with pytest.raises(SystemExit):
        main(["release", "nothing"])
    assert "measuring" in capsys.readouterr().err


def test_collect_lets_no_name_steer_the_terminal(
    tmp_path: Path, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, said in enumerate(["taken, sheet 4.", "place of ?[2J.ipynb"]):
        notebook = notebook_of(source=f"def signed_gap(): {number}")
        export = zipped(tmp_path / "a.zip", {f"choi_8_{64 + number}_\x1b[2J.ipynb": notebook})
        assert main(["collect", "measuring", str(export), "--class", str(room)]) == 0
        out = capsys.readouterr().out
        assert f"canvas-8 choi_8_{64 + number}_?[2J.ipynb: taken, sheet 4." in out
        assert said in out


def test_exam_says_what_to_print_and_what_to_keep(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exam", "--class", str(room)]) == 0
    assert capsys.readouterr().out == (
        f"Print for the students: {room}/teacher/midterm-A.html\n"
        f"Keep to yourself: {room}/teacher/midterm-A-key.html\n"
    )
