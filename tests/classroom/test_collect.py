"""Collecting: each file gets its row, and each student the latest notebook."""

from __future__ import annotations

import csv
import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from classroom import ClassroomError, collect
from classroom.collect import assignment_of, functions_of
from classroom.goals import assignment_names
from classroom.matches import PUBLIC
from classroom.notebooks import fingerprint, reference_of, stubs
from classroom.secret import make_secret, read_secret
from classroom.solution import with_answers
from classroom.variants import variant_of
from tests.classroom.handing_in import (
    KOREAN,
    MOODLE,
    collected,
    facts,
    notebook_of,
    of_kim,
    stored,
    uploaded,
    zipped,
)


@pytest.mark.parametrize("as_folder", [False, True])
def test_collect_takes_an_export_of_each_platform(
    tmp_path: Path, room: Path, as_folder: bool
) -> None:
    good = notebook_of()
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


def test_collect_takes_the_latest_and_says_so(room: Path) -> None:
    first, second, third = (notebook_of(source=f"def signed_gap(): {n}") for n in range(3))
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


def test_collect_takes_the_later_file_of_a_moodle_folder(tmp_path: Path, room: Path) -> None:
    old, new = notebook_of(source="def signed_gap(): 1"), notebook_of(source="def signed_gap(): 2")
    exported = tmp_path / MOODLE
    exported.mkdir()
    for name, content, time in [("b.ipynb", old, 1_000_000), ("a.ipynb", new, 2_000_000)]:
        (exported / name).write_bytes(content)
        os.utime(exported / name, (time, time))
    assert collected(room, tmp_path)[f"{MOODLE}/b.ipynb"] == "not taken: a later one was handed in"
    assert stored(room, "moodle-1234567") == new


def test_collect_says_which_of_two_files_with_one_time_it_takes(tmp_path: Path, room: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number, name in enumerate(["b.ipynb", "a.ipynb"]):
            member = zipfile.ZipInfo(f"{MOODLE}/{name}", (2026, 11, 21, 12, 0, 0))
            archive.writestr(member, notebook_of(source=f"def signed_gap(): {number}"))
    rows = collected(room, tmp_path / "a.zip")
    assert rows[f"{MOODLE}/b.ipynb"] == "not taken: another one was taken: a.ipynb"
    assert rows[f"{MOODLE}/a.ipynb"].startswith("taken")


def test_a_damaged_file_does_not_hide_an_earlier_notebook(room: Path) -> None:
    members = {
        "kim_5_61_a.ipynb": notebook_of(),
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
    assert stored(room, "canvas-5") == notebook_of()
    assert facts(room, "canvas-5")["problem"] is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            notebook_of("recalibrating"),
            "This is the notebook of 'recalibrating', not of 'measuring'.",
        ),
        (
            notebook_of(None, "def fit_temperatures(): ..."),
            "This is the notebook of 'recalibrating'",
        ),
        (b"", "not a notebook"),
    ],
)
def test_collect_says_why_a_file_is_no_notebook_of_the_assignment(
    room: Path, content: bytes, message: str
) -> None:
    assert message in of_kim(room, content)
    assert message in facts(room, "canvas-5")["problem"]


def test_collect_takes_a_notebook_without_metadata_or_function(room: Path) -> None:
    """It was handed in for this assignment: it is graded, with whatever is in it."""
    for content in (
        notebook_of(None),
        notebook_of(None, "print('nothing')"),
        notebook_of("unheard of"),
    ):
        assert of_kim(room, content).startswith("taken")


def test_collect_notes_a_notebook_of_another_class(room: Path) -> None:
    content = json.loads(notebook_of())
    content["metadata"]["release"] = "0123456789ab"
    assert "released to another class" in of_kim(room, json.dumps(content).encode())
    assert facts(room, "canvas-5")["notes"] == ["The notebook was released to another class."]


def test_collect_reads_the_sheet_from_the_release_or_the_line(room: Path) -> None:
    """A changed line does not change the sheet; a notebook without either is not graded."""
    content = json.loads(notebook_of())
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


def test_assignment_of_a_notebook_is_known_by_its_functions() -> None:
    for name in ("measuring", "diagnosing", "recalibrating", "lab"):
        assert functions_of(name)
        assert assignment_of({}, [f"def {one}(): ..." for one in functions_of(name)]) == name
    assert assignment_of({}, ["x = 1"]) is None
    assert assignment_of({"assignment": "nothing"}, ["def loss(): ...", "def split(): ..."]) is None


def test_collect_needs_a_class_and_an_assignment(tmp_path: Path, room: Path) -> None:
    with pytest.raises(ClassroomError, match="there are"):
        collected(room, tmp_path, name="nothing")
    with pytest.raises(ClassroomError, match="release an assignment"):
        collected(tmp_path / "elsewhere", tmp_path)


def test_collect_takes_plain_folders_and_files_by_their_names(room: Path) -> None:
    names = ["class/Ada L/a.ipynb", "class/김 지우/b.ipynb", "Bo N - Copy of measuring.ipynb"]
    said = uploaded(room, dict.fromkeys(names, notebook_of())).values()
    assert set(said) == {"not taken: it has no name that a platform gives"}
    rows = collect.collect(room, "measuring", [room.parent / "a.zip"], plain=True)
    assert [row.status for row in rows] == ["taken, sheet 4."] * 3
    assert sorted(row.name for row in rows) == ["Ada L", "Bo N", "김 지우"]
    keys = {row.student for row in rows}
    assert len(keys) == 3
    assert all(re.fullmatch(r"plain-[\w-]+-[0-9a-f]{6}", key) for key in keys)


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (["Ada L - measuring.ipynb", "Bo N - Copy.ipynb", "Bo N - data.npz"], {"Ada L", "Bo N"}),
        (["김지우.ipynb", "Ada.ipynb"], {"김지우", "Ada"}),
        (["Ada L - measuring.ipynb"], {"Ada L"}),
        (["measuring.ipynb", "data.npz"], {"Measure by group"}),
    ],
)
def test_collect_takes_one_folder_around_all_files_for_no_student(
    room: Path, files: list[str], students: set[str]
) -> None:
    """As Drive packs it, and a folder with one notebook is that of a student."""
    members = {f"Measure by group/{file}": notebook_of() for file in files}
    export = zipped(room.parent / "a.zip", members)
    rows = collect.collect(room, "measuring", [export], plain=True)
    assert {row.name for row in rows} == students
    assert {row.file for row in rows} == members.keys()


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


def test_collect_takes_an_export_of_gradescope(tmp_path: Path, room: Path) -> None:
    root = "assignment_5_export"
    members = {
        f"{root}/submission_11/a.ipynb": notebook_of(),
        f"{root}/submission_12/a.ipynb": notebook_of(),
        f"{root}/submission_metadata.yml": METADATA.encode(),
    }
    rows = collect.collect(room, "measuring", [zipped(tmp_path / "a.zip", members)])
    assert {(row.name, row.status) for row in rows} == {
        ("Ada L", "taken, sheet 4."),
        ("Bo N", "taken, sheet 4."),
        ("", "not taken: it has no name that a platform gives"),
    }
    assert facts(room, "gradescope-901")["number"] == "901"


def test_collect_adds_to_the_table_of_files(room: Path) -> None:
    def files() -> list[tuple[str, str]]:
        text = (room / "collected/measuring/collected.csv").read_text("utf-8-sig")
        rows = list(csv.DictReader(text.splitlines()))
        assert all(row["when"] for row in rows)
        return [(row["file"], row["what happened"]) for row in rows]

    first = {"kim_5_61_a.ipynb": notebook_of(), "=x.txt": b""}
    uploaded(room, first)
    before = files()
    assert ("kim_5_61_a.ipynb", "taken, sheet 4.") in before
    uploaded(room, first)  # says nothing new
    assert files() == before
    uploaded(room, {"lee_6_62_a.ipynb": notebook_of()})
    assert files() == [*before, ("lee_6_62_a.ipynb", "taken, sheet 4.")]


def hand_in(folder: Path, name: str, student: str, source: str) -> None:
    """Put a notebook with one cell where `collect` puts it."""
    place = folder / "collected" / name / student
    place.mkdir(parents=True)
    code = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    (place / "submission.ipynb").write_text(json.dumps({"cells": [code]}), "utf-8")


@pytest.mark.parametrize("name", assignment_names())
def test_matches_of_recognise_the_public_solution_and_the_reference(
    name: str, tmp_path: Path
) -> None:
    """Pasted, with other names for its variables: at least half of the functions are found."""
    variant = variant_of(name, make_secret(tmp_path, "of the tests"), "3")
    pasted = "\n".join(with_answers(name, variant, stub) for stub in stubs(name))
    for word in {*re.findall(r"^ +(\w+) = ", pasted, re.MULTILINE)}:
        pasted = re.sub(rf"\b{word}\b(?!=)", f"{word}_2", pasted)
    hand_in(tmp_path, name, "ada", pasted)
    hand_in(tmp_path, name, "bo", reference_of(name))  # which answers every sheet
    found = {people: same for same, people in collect.matches_of(tmp_path, name)}
    same = found[f"ada, {PUBLIC}"]
    assert len(same.split(", ")) >= len(collect.functions_of(name)) / 2
    assert len(found[f"bo, {collect.REFERENCE}"].split(", ")) >= 2
    assert same in (tmp_path / "collected" / name / "matches.csv").read_text("utf-8-sig")
