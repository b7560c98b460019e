"""How platforms name what students handed in."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pytest

from classroom import ClassroomError
from classroom.platforms import HandedIn, read_path, read_roster
from tests.classroom.handing_in import KOREAN, MOODLE


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
def test_read_path_reads_the_names_of_the_platforms(path: str, expected: HandedIn) -> None:
    assert read_path(path) == expected
    assert read_path(unicodedata.normalize("NFD", path)) == expected  # as a Mac writes them


@pytest.mark.parametrize(
    "path", ["ece.ipynb", "a/b.ipynb", "report_1_.ipynb", MOODLE, "", "x_1_2_"]
)
def test_read_path_knows_nobody_by_other_names(path: str) -> None:
    assert read_path(path) is None


@pytest.mark.parametrize("content", [b"[", b"3", b"submission_11: 3", b"a: !ruby/object:X {}"])
def test_read_roster_refuses_what_is_none_of_gradescopes(content: bytes) -> None:
    with pytest.raises(ClassroomError, match="is not Gradescope's"):
        read_roster(content)
