"""A class of thirty on ten sheets, with ten random secrets, in all four assignments.

Three students have each sheet: one hands in its solution, one the published solution, and one
nothing new. They are collected from an export, graded in the sandbox, and given back.
"""

from __future__ import annotations

import secrets
import zipfile
from pathlib import Path

import nbformat
import pytest
from answering import NAMES, most, pasted
from tiny_class import need_sandbox, points

from classroom.collect import collect
from classroom.give_back import give_back
from classroom.grade import grade_class
from classroom.release import release
from classroom.secret import read_secret
from classroom.variants import SHEETS

KINDS = ("solved", "pasted", "empty")


def handed_in(folder: Path, name: str) -> dict[str, bytes]:
    """The notebooks of thirty students, as Moodle exports them."""
    found = {}
    for sheet in SHEETS:
        file = f"{name}-{sheet}.ipynb"
        copied = pasted(name, read_secret(folder), sheet)
        contents = {
            "solved": (folder / "teacher" / name / file).read_bytes(),
            "pasted": nbformat.writes(copied).encode(),
            "empty": (folder / "released" / name / f"sheet-{sheet}" / file).read_bytes(),
        }
        for place, kind in enumerate(KINDS, start=1):
            found[f"{kind} {sheet}_{place}{sheet}_assignsubmission_file_/{file}"] = contents[kind]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize("name", NAMES)
def test_a_class_of_thirty(
    name: str, number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    need_sandbox()
    folder, key = tmp_path / "class", secrets.token_hex(16)
    release(name, folder, key)
    with zipfile.ZipFile(tmp_path / "moodle.zip", "w") as archive:
        for path, content in handed_in(folder, name).items():
            archive.writestr(path, content)
    rows = collect(folder, name, [tmp_path / "moodle.zip"])
    assert [row.status.startswith("taken") for row in rows] == [True] * 3 * len(SHEETS), key
    results = {found["student"]: found for found in grade_class(folder, name, jobs=2)}
    said = capsys.readouterr().out
    assert f"{name}: 30 graded, 0 not graded" in said, key
    assert "Nobody with sheet" not in said, key
    earned = {
        kind: [sum(points(results[f"moodle-{place}{sheet}"]).values()) for sheet in SHEETS]
        for place, kind in enumerate(KINDS, start=1)
    }
    assert earned["solved"] == [most(name)] * len(SHEETS), key
    assert earned["empty"] == [0] * len(SHEETS), key
    # Nobody's sheet is the published one. A diagnosis of three networks may be right by chance.
    assert sum(earned["pasted"]) <= len(SHEETS) * most(name) / 3, key
    assert max(earned["pasted"]) < most(name) * 2 / 3, key
    [file] = give_back(folder, name)
    with zipfile.ZipFile(file) as archive:
        pages = [archive.read(page).decode() for page in archive.namelist()]
    assert sum("points so far" in page for page in pages) == 3 * len(SHEETS), key
