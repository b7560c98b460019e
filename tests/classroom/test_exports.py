"""Exports with files that nobody wants to meet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from classroom import ClassroomError, exports
from tests.classroom.handing_in import (
    KOREAN,
    collected,
    facts,
    notebook_of,
    uploaded,
    zipped,
)


@pytest.mark.parametrize(
    "name",
    ["../../evil.ipynb", "/etc/kim_1_2_x.ipynb", "..\\kim_1_2_x.ipynb", "C:\\kim_1_2_x.ipynb"],
)
def test_files_of_take_no_name_that_leads_out(tmp_path: Path, room: Path, name: str) -> None:
    rows = uploaded(room, {name: notebook_of(), "kim_5_61_a.ipynb": notebook_of()})
    path = name.replace("\\", "/")
    assert rows[path] == "not taken: it has a name that leads out of its folder"
    assert rows["kim_5_61_a.ipynb"] == "taken, sheet 4."
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "class"]


def test_files_of_follow_no_link(tmp_path: Path, room: Path) -> None:
    (tmp_path / "export").mkdir()
    (tmp_path / "export/kim_5_61_a.ipynb").symlink_to("/etc/passwd")
    rows = collected(room, tmp_path / "export")
    assert rows == {"kim_5_61_a.ipynb": "not taken: The file is a link, not a file."}


def test_files_of_go_on_after_a_damaged_member(tmp_path: Path, room: Path) -> None:
    export = zipped(
        tmp_path / "a.zip", {"kim_5_61_a.ipynb": notebook_of(), "lee_6_62_a.ipynb": notebook_of()}
    )
    content = bytearray(export.read_bytes())
    content[70] ^= 0xFF  # inside the first member
    export.write_bytes(content)
    rows = collected(room, export)
    assert rows["kim_5_61_a.ipynb"].startswith("not taken: The file is damaged")
    assert rows["lee_6_62_a.ipynb"] == "taken, sheet 4."


def test_files_of_unpack_no_bomb(
    tmp_path: Path, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MAX_BYTES", 100_000)
    rows = uploaded(room, {"kim_5_61_a.ipynb": bytes(50_000_000), "b_6_62_a.ipynb": notebook_of()})
    assert "is larger than" in rows["kim_5_61_a.ipynb"]
    assert rows["b_6_62_a.ipynb"] == "taken, sheet 4."
    monkeypatch.setattr(exports, "MAX_TOTAL", 1000)
    with pytest.raises(ClassroomError, match="unpacks to more"):
        uploaded(room, {f"k_{n}_1_a": bytes(400) for n in range(4)})
    monkeypatch.setattr(exports, "MAX_FILES", 3)
    with pytest.raises(ClassroomError, match="more than 3 files"):
        collected(room, tmp_path / "a.zip")


def test_files_of_read_korean_where_a_zip_does_not_say_how(tmp_path: Path, room: Path) -> None:
    name = f"김지우_42_assignsubmission_file_/{KOREAN}"
    for encoding in ("utf-8", "cp949"):
        export = zipped(tmp_path / "a.zip", {"x" * len(name.encode(encoding)): notebook_of()})
        content = export.read_bytes().replace(
            b"x" * len(name.encode(encoding)), name.encode(encoding)
        )
        export.write_bytes(content)
        assert list(collected(room, export)) == [name]


@pytest.mark.parametrize("content", [None, b"no zip", b"PK\x05\x06" + bytes(17)])
def test_files_of_name_an_export_that_cannot_be_read(
    tmp_path: Path, room: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(ClassroomError, match=r"a\.zip"):
        collected(room, tmp_path / "a.zip")


def test_files_of_read_names_that_are_no_text(tmp_path: Path, room: Path) -> None:
    """A name that is no UTF-8, an endless number, a name that steers the terminal."""
    folder = tmp_path / "export"
    folder.mkdir()
    korean = f"kim_5_61_{KOREAN}"
    names = [korean.encode("cp949"), b"lee_6_62_\xff\xfe.ipynb"]
    for name in names:
        (Path(os.fsdecode(bytes(folder) + b"/" + name))).write_bytes(notebook_of())
    assert list(collected(room, folder)) == [korean, "lee_6_62_\ufffd\ufffd.ipynb"]
    endless = f"park_7_63_x-{'9' * 6000}.ipynb"
    evil = "choi_8_64_\x1b[2J.ipynb"
    said = uploaded(room, dict.fromkeys([endless, evil], notebook_of())).values()
    assert set(said) == {"taken, sheet 4."}
    assert facts(room, "canvas-7")["order"][:2] == [63, 0]
