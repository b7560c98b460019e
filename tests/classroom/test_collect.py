"""Collecting: the names that Moodle and Canvas give, and files that nobody wants to meet."""

from __future__ import annotations

import csv
import json
import os
import re
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest

from classroom import ClassroomError, collect, exports
from classroom.__main__ import main
from classroom.collect import assignment_of, functions_of
from classroom.give_back import give_back
from classroom.goals import read_goals
from classroom.notebooks import fingerprint
from classroom.platforms import HandedIn, read_path
from classroom.results import read_json, submitted, write_json
from classroom.secret import make_secret, read_secret
from tests.classroom.test_table import WORKSHEET

KOREAN = "ece의 사본.ipynb"
MOODLE = "Jiwoo Kim_1234567_assignsubmission_file_"


def handed_in(prefix: str, file: str, above: str = "", **known: Any) -> tuple[str, HandedIn]:
    """A path in an export, and what it says; by default a file of Jiwoo's on Moodle."""
    jiwoo = {"platform": "moodle", "number": "1234567", "person": "Jiwoo Kim"}
    return f"{above}{prefix}{file}", HandedIn(prefix=prefix, file=file, **jiwoo | known)


def canvas(prefix: str, file: str, order: tuple[int, int], **known: Any) -> tuple[str, HandedIn]:
    """The same of Canvas, whose names say whether a file is late."""
    person, number = re.findall(r"[^\W_]+", prefix.replace("LATE", ""))[:2]
    known |= {"platform": "canvas", "person": person, "number": number, "order": order}
    return handed_in(prefix, file, late="LATE" in prefix, **known)


TEXT = "A B_42_assignsubmission_onlinetext_/"
BRIGHTSPACE = {"above": "Export/", "platform": "brightspace", "number": "12", "person": "Ada B"}
DATES = {
    "Nov 21, 2026 630 PM": 202611211830,
    "21 November, 2026 630 PM": 202611211830,
    "someday": 0,
}
NAMES = [
    handed_in(f"{MOODLE}/", "ece.ipynb"),
    handed_in(f"{MOODLE}/", KOREAN),
    handed_in(f"{MOODLE}/", "Copy of ece.ipynb"),
    handed_in(f"{MOODLE}/", "ece (1).ipynb", above="Export/"),
    handed_in(f"{MOODLE}/", "inner/a_7_8_b.ipynb"),
    handed_in(f"{MOODLE[:-1]}/", "ece.ipynb"),  # Moodle from 4.1 on
    handed_in(MOODLE, "ece.ipynb"),  # without folders
    handed_in("김지우_42_assignsubmission_file_/", "x.ipynb", number="42", person="김지우"),
    handed_in(TEXT, "onlinetext.html", number="42", person="A B", is_text=True),
    canvas("kimjiwoo_11_222_", "ece.ipynb", (222, 0)),
    canvas("kimjiwoo_LATE_11_222_", "ece.ipynb", (222, 0)),
    canvas("kimjiwoo_11_222_", "ece-3.ipynb", (222, 3)),
    canvas("kim_11_222_", "1_2_x.ipynb", (222, 0)),
    canvas("kim_11_222_", KOREAN, (222, 0)),
    canvas("anon_a1B2c_222_", "x.ipynb", (222, 0)),
    canvas("LATE_anon_77_222_", "x-1.ipynb", (222, 1)),
    canvas("kim_11_222_", "text.html", (222, 0)),
    canvas("kim_LATE_11_", "text.html", (0, 0), is_text=True),
    *(
        handed_in(f"12-34 - Ada B - {date}/", "x.ipynb", **BRIGHTSPACE, order=(minutes, 0))
        for date, minutes in DATES.items()
    ),
]


@pytest.mark.parametrize(("path", "expected"), NAMES)
def test_the_names_of_the_platforms(path: str, expected: HandedIn) -> None:
    assert read_path(path) == expected
    assert read_path(unicodedata.normalize("NFD", path)) == expected  # as a Mac writes them


@pytest.mark.parametrize(
    "path", ["ece.ipynb", "a/b.ipynb", "report_1_.ipynb", MOODLE, "", "x_1_2_"]
)
def test_other_names_are_nobody(path: str) -> None:
    assert read_path(path) is None


SHEET = 'sheet = "4"\n'


def notebook(name: str | None = "measuring", source: str = "def signed_gap(): ...") -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "source": SHEET + source, "outputs": []}
    metadata = {"assignment": name} if name else {}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4}).encode()


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 21, 12, 0, 0)), content)
    return path


@pytest.fixture
def room(tmp_path: Path) -> Path:
    make_secret(tmp_path / "class", "for the tests")
    return tmp_path / "class"


def collected(room: Path, *sources: Path, name: str = "measuring") -> dict[str, str]:
    """What happened to each file."""
    return {row.file: row.status for row in collect.collect(room, name, sources)}


def uploaded(room: Path, members: dict[str, bytes]) -> dict[str, str]:
    """The same of a zip with these files."""
    return collected(room, zipped(room.parent / "a.zip", members))


def of_kim(room: Path, content: bytes) -> str:
    """What happened to the only file of a zip, Kim's."""
    [said] = uploaded(room, {"kim_5_61_a.ipynb": content}).values()
    return said


def facts(room: Path, student: str) -> dict:
    return read_json(room / "collected/measuring" / student / "facts.json")


def stored(room: Path, student: str) -> bytes:
    return (room / "collected/measuring" / student / "submission.ipynb").read_bytes()


@pytest.mark.parametrize("as_folder", [False, True])
def test_an_export_of_each_platform(tmp_path: Path, room: Path, as_folder: bool) -> None:
    good = notebook()
    members = {
        f"{MOODLE}/{KOREAN}": good,
        f"__MACOSX/{MOODLE}/._{KOREAN}": b"\0",
        f"{MOODLE}/.DS_Store": b"\0",
        f"{MOODLE}/.ipynb_checkpoints/ece-checkpoint.ipynb": good,
        "Ada L_7_assignsubmission_file_/report.pdf": b"%PDF-1.7",
        "Ada L_7_assignsubmission_onlinetext_/onlinetext.html": b"<p>see Colab</p>",
        "lee_LATE_5_61_ece.ipynb": good,
        "readme.txt": b"hello",
    }
    if as_folder:
        export = tmp_path / "export"
        for name, content in members.items():
            (export / name).parent.mkdir(parents=True, exist_ok=True)
            (export / name).write_bytes(content)
    else:
        export = zipped(tmp_path / "export.zip", members)
    rows = collected(room, export)
    assert rows == {
        f"{MOODLE}/{KOREAN}": "taken, sheet 4.",
        "lee_LATE_5_61_ece.ipynb": "taken, sheet 4.",
        "readme.txt": "not taken: it has no name that a platform gives",
        "Ada L_7_assignsubmission_file_/report.pdf": (
            "not taken: The file is a PDF, not a notebook (.ipynb)."
        ),
        "Ada L_7_assignsubmission_onlinetext_/onlinetext.html": f"not taken: {collect.TYPED}",
    }
    assert stored(room, "moodle-1234567") == good
    assert facts(room, "moodle-1234567")["name"] == "Jiwoo Kim"
    assert facts(room, "moodle-1234567")["late"] is None
    assert facts(room, "canvas-5")["late"] is True
    assert facts(room, "canvas-5")["problem"] is None
    assert facts(room, "moodle-7")["problem"]
    assert not (room / "collected/measuring/moodle-7/submission.ipynb").exists()
    table = (room / "collected/measuring/collected.csv").read_text("utf-8-sig")
    assert {row["file"] for row in csv.DictReader(table.splitlines())} == set(rows)


def test_the_latest_wins_and_it_is_said(room: Path) -> None:
    first, second, third = (notebook(source=f"def signed_gap(): {n}") for n in range(3))
    names = ["kim_5_61_ece-1.ipynb", "kim_5_60_ece.ipynb", "kim_5_61_ece.ipynb"]
    files = dict(zip(names, [second, third, first], strict=True))
    rows = uploaded(room, files)
    assert rows[names[0]] == "taken, sheet 4."
    assert rows[names[1]] == rows[names[2]] == "not taken: a later one was handed in"
    assert stored(room, "canvas-5") == second
    # The same export once more, an older one, a later one.
    assert uploaded(room, files)[names[0]] == "taken before"
    older = uploaded(room, {"kim_5_60_ece.ipynb": third})
    assert "ece-1.ipynb was collected before, and is later" in older[names[1]]
    assert stored(room, "canvas-5") == second
    later = uploaded(room, {"kim_LATE_5_62_x.ipynb": third})
    assert "took the place of ece-1.ipynb" in later["kim_LATE_5_62_x.ipynb"]
    assert stored(room, "canvas-5") == third
    assert facts(room, "canvas-5")["late"] is True


def test_the_later_file_of_a_moodle_folder_wins_by_its_time(tmp_path: Path, room: Path) -> None:
    old, new = notebook(source="def signed_gap(): 1"), notebook(source="def signed_gap(): 2")
    exported = tmp_path / MOODLE
    exported.mkdir()
    for name, content, time in [("b.ipynb", old, 1_000_000), ("a.ipynb", new, 2_000_000)]:
        (exported / name).write_bytes(content)
        os.utime(exported / name, (time, time))
    assert collected(room, tmp_path)[f"{MOODLE}/b.ipynb"] == "not taken: a later one was handed in"
    assert stored(room, "moodle-1234567") == new


def test_a_damaged_file_does_not_hide_an_earlier_notebook(room: Path) -> None:
    members = {
        "kim_5_61_a.ipynb": notebook(),
        "kim_5_62_b.ipynb": b'{"cells": [',
        "kim_5_63_c.pdf": b"%PDF",
    }
    rows = uploaded(room, members)
    assert [status.split(":")[0] for status in rows.values()] == [
        "taken, sheet 4.",
        "not taken",
        "not taken",
    ]
    # Nor does one that is handed in after the notebook was collected.
    uploaded(room, {"kim_5_64_d.pdf": b"%PDF"})
    assert stored(room, "canvas-5") == notebook()
    assert facts(room, "canvas-5")["problem"] is None


@pytest.mark.parametrize(
    "name",
    ["../../evil.ipynb", "/etc/kim_1_2_x.ipynb", "..\\kim_1_2_x.ipynb", "C:\\kim_1_2_x.ipynb"],
)
def test_names_that_lead_out(tmp_path: Path, room: Path, name: str) -> None:
    rows = uploaded(room, {name: notebook(), "kim_5_61_a.ipynb": notebook()})
    path = name.replace("\\", "/")
    assert rows[path] == "not taken: it has a name that leads out of its folder"
    assert rows["kim_5_61_a.ipynb"] == "taken, sheet 4."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "class"]


def test_a_link_in_a_folder_is_not_followed(tmp_path: Path, room: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export/kim_5_61_a.ipynb").symlink_to("/etc/passwd")
    rows = collected(room, tmp_path / "export")
    assert rows == {"kim_5_61_a.ipynb": "not taken: The file is a link, not a file."}


def test_damaged_members_stop_nothing(tmp_path: Path, room: Path) -> None:
    export = zipped(
        tmp_path / "a.zip", {"kim_5_61_a.ipynb": notebook(), "lee_6_62_a.ipynb": notebook()}
    )
    content = bytearray(export.read_bytes())
    content[70] ^= 0xFF  # inside the first member
    export.write_bytes(content)
    rows = collected(room, export)
    assert rows["kim_5_61_a.ipynb"].startswith("not taken: The file is damaged")
    assert rows["lee_6_62_a.ipynb"] == "taken, sheet 4."


def test_a_bomb_is_not_unpacked(
    tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_BYTES", 100_000)
    rows = uploaded(room, {"kim_5_61_a.ipynb": bytes(50_000_000), "b_6_62_a.ipynb": notebook()})
    assert "is larger than" in rows["kim_5_61_a.ipynb"]
    assert rows["b_6_62_a.ipynb"] == "taken, sheet 4."
    monkeypatch.setattr(exports, "MAX_TOTAL", 1000)
    with pytest.raises(ClassroomError, match="unpacks to more"):
        uploaded(room, {f"k_{n}_1_a": bytes(400) for n in range(4)})
    monkeypatch.setattr(exports, "MAX_FILES", 3)
    with pytest.raises(ClassroomError, match="more than 3 files"):
        collected(room, tmp_path / "a.zip")


def test_a_zip_that_does_not_say_how_it_writes_korean(tmp_path: Path, room: Path) -> None:
    name = f"김지우_42_assignsubmission_file_/{KOREAN}"
    for encoding in ("utf-8", "cp949"):
        export = zipped(tmp_path / "a.zip", {"x" * len(name.encode(encoding)): notebook()})
        content = export.read_bytes().replace(
            b"x" * len(name.encode(encoding)), name.encode(encoding)
        )
        export.write_bytes(content)
        assert list(collected(room, export)) == [name]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (notebook("recalibrating"), "This is the notebook of 'recalibrating', not of 'measuring'."),
        (notebook(None, "def fit_temperatures(): ..."), "This is the notebook of 'recalibrating'"),
        (b"", "not a notebook"),
    ],
)
def test_what_is_no_notebook_of_it(room: Path, content: bytes, message: str) -> None:
    assert message in of_kim(room, content)
    assert message in facts(room, "canvas-5")["problem"]


def test_a_notebook_without_metadata_or_function_is_taken(room: Path) -> None:
    """It was handed in for this assignment: it is graded, with whatever is in it."""
    for content in (notebook(None), notebook(None, "print('nothing')"), notebook("unheard of")):
        assert of_kim(room, content).startswith("taken")


def test_a_notebook_of_another_class_is_noted(room: Path) -> None:
    content = json.loads(notebook())
    content["metadata"]["release"] = "0123456789ab"
    assert "released to another class" in of_kim(room, json.dumps(content).encode())
    assert facts(room, "canvas-5")["notes"] == ["The notebook was released to another class."]


def test_the_sheet_is_that_of_the_release_or_of_the_line(room: Path) -> None:
    """A changed line does not change the sheet; a notebook without either is not graded."""
    content = json.loads(notebook())
    secret = read_secret(room)
    for release, sheet in ((fingerprint(secret, "measuring", "7"), "7"), (None, "4")):
        content["metadata"]["release"] = release
        said = of_kim(room, json.dumps(content).encode())
        assert said.startswith(f"taken, sheet {sheet}.")
        assert facts(room, "canvas-5")["sheet"] == sheet
    for written in ("", 'sheet = "published"', "sheet = 11"):
        content["cells"][0]["source"] = f"{written}\ndef signed_gap(): ..."
        said = of_kim(room, json.dumps(content).encode())
        assert said.startswith("not taken: The notebook does not say which sheet it is")


def test_each_assignment_is_known_by_its_functions() -> None:
    for name in ("measuring", "diagnosing", "recalibrating", "lab"):
        assert functions_of(name)
        assert assignment_of({}, [f"def {one}(): ..." for one in functions_of(name)]) == name
    assert assignment_of({}, ["x = 1"]) is None
    assert assignment_of({"assignment": "nothing"}, ["def loss(): ...", "def split(): ..."]) is None


@pytest.mark.parametrize("content", [None, b"no zip", b"PK\x05\x06" + bytes(17)])
def test_exports_that_cannot_be_read(tmp_path: Path, room: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ClassroomError, match=r"a\.zip"):
        collected(room, tmp_path / "a.zip")


def test_no_class_no_assignment(tmp_path: Path, room: Path) -> None:
    with pytest.raises(ClassroomError, match="there are"):
        collected(room, tmp_path, name="nothing")
    with pytest.raises(ClassroomError, match="release an assignment"):
        collected(tmp_path / "elsewhere", tmp_path)


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


def test_nothing_goes_back_before_somebody_handed_in(room: Path) -> None:
    with pytest.raises(ClassroomError, match="nobody handed in"):
        give_back(room, "measuring")


def test_what_goes_back(tmp_path: Path, room: Path) -> None:
    names = [
        f"{MOODLE}/{KOREAN}",
        "Ada L_7_assignsubmission_file_a.ipynb",
        "lee_LATE_5_61_b.c-1.ipynb",
    ]
    uploaded(room, dict.fromkeys(names, notebook()))
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


def test_an_unknown_platform_is_an_error(room: Path) -> None:
    of_kim(room, notebook())
    file = room / "collected/measuring/canvas-5/facts.json"
    file.write_text(file.read_text().replace('"canvas"', '"blackboard"'))
    with pytest.raises(ClassroomError, match="canvas-5 is of an unknown platform"):
        give_back(room, "measuring")


def test_plain_folders_and_files_name_their_students(room: Path) -> None:
    names = ["class/Ada L/a.ipynb", "class/김 지우/b.ipynb", "Bo N - Copy of measuring.ipynb"]
    said = uploaded(room, dict.fromkeys(names, notebook())).values()
    assert set(said) == {"not taken: it has no name that a platform gives"}
    rows = collect.collect(room, "measuring", [room.parent / "a.zip"], plain=True)
    assert [row.status for row in rows] == ["taken, sheet 4."] * 3
    assert sorted(row.name for row in rows) == ["Ada L", "Bo N", "김 지우"]
    keys = {row.student for row in rows}
    assert len(keys) == 3
    assert all(re.fullmatch(r"plain-[\w-]+-[0-9a-f]{6}", key) for key in keys)


METADATA = """---
submission_11:
  :submitters:
  - :name: Ada L
    :sid: '901'
    :email: ada@example.org
  - :name: Bo N
    :sid:
    :email: bo@example.org
  :created_at: 2026-11-21 18:30:00.000000000 Z
"""


def test_an_export_of_gradescope(tmp_path: Path, room: Path) -> None:
    root = "assignment_5_export"
    members = {
        f"{root}/submission_11/a.ipynb": notebook(),
        f"{root}/submission_12/a.ipynb": notebook(),
        f"{root}/submission_metadata.yml": METADATA.encode(),
    }
    rows = collect.collect(room, "measuring", [zipped(tmp_path / "a.zip", members)])
    assert {(row.name, row.status) for row in rows} == {
        ("Ada L", "taken, sheet 4."),
        ("Bo N", "taken, sheet 4."),
        ("", "not taken: it has no name that a platform gives"),
    }
    assert facts(room, "gradescope-901")["number"] == "901"
    for bad in (b"[", b"3", b"submission_11: 3", b"a: !ruby/object:X {}"):
        members[f"{root}/submission_metadata.yml"] = bad
        with pytest.raises(ClassroomError, match="is not Gradescope's"):
            uploaded(room, members)


def test_the_table_of_files_grows(room: Path) -> None:
    def files() -> list[tuple[str, str]]:
        text = (room / "collected/measuring/collected.csv").read_text("utf-8-sig")
        rows = list(csv.DictReader(text.splitlines()))
        assert all(row["when"] for row in rows)
        return [(row["file"], row["what happened"]) for row in rows]

    first = {"kim_5_61_a.ipynb": notebook(), "=x.txt": b""}
    uploaded(room, first)
    before = files()
    assert ("kim_5_61_a.ipynb", "taken, sheet 4.") in before
    uploaded(room, first)  # says nothing new
    assert files() == before
    uploaded(room, {"lee_6_62_a.ipynb": notebook()})
    assert files() == [*before, ("lee_6_62_a.ipynb", "taken, sheet 4.")]


def test_names_that_are_no_text(tmp_path: Path, room: Path) -> None:
    """A name that is no UTF-8, an endless number, a name that steers the terminal."""
    folder = tmp_path / "export"
    folder.mkdir()
    korean = f"kim_5_61_{KOREAN}"
    names = [korean.encode("cp949"), b"lee_6_62_\xff\xfe.ipynb"]
    for name in names:
        (Path(os.fsdecode(bytes(folder) + b"/" + name))).write_bytes(notebook())
    assert list(collected(room, folder)) == [korean, "lee_6_62_\ufffd\ufffd.ipynb"]
    endless = f"park_7_63_x-{'9' * 6000}.ipynb"
    evil = "choi_8_64_\x1b[2J.ipynb"
    said = uploaded(room, dict.fromkeys([endless, evil], notebook())).values()
    assert set(said) == {"taken, sheet 4."}
    assert facts(room, "canvas-7")["order"][:2] == [63, 0]


def test_the_terminal_is_not_steered(
    tmp_path: Path, room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = zipped(tmp_path / "a.zip", {"choi_8_64_\x1b[2J.ipynb": notebook()})
    assert main(["collect", "measuring", str(export), "--class", str(room)]) == 0
    assert "canvas-8 choi_8_64_?[2J.ipynb: taken, sheet 4." in capsys.readouterr().out
