"""Exports of platforms, and what `collect` makes of them; for the tests of what goes in and out."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from classroom import collect
from classroom.results import read_json

KOREAN = "ece의 사본.ipynb"
MOODLE = "Jiwoo Kim_1234567_assignsubmission_file_"
SHEET = 'sheet = "4"\n'
# The table in which Moodle has the points.
WORKSHEET = """식별자,성명,성적,최대 성적,마지막 수정 (제출),마지막 수정 (성적)
참여자 7,Ada L,3,12,-,
참여자 1234567,"Kim, Jiwoo",,12,-,
참여자 8,Nobody,,12,-,
"""


def notebook_of(name: str | None = "measuring", source: str = "def signed_gap(): ...") -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "source": SHEET + source, "outputs": []}
    metadata = {"assignment": name} if name else {}
    return json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4}).encode()


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    """A zip whose members were handed in one minute after the other."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for minute, (name, content) in enumerate(members.items()):
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 21, 12, minute, 0)), content)
    return path


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
