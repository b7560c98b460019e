"""The files of an export, a folder or a zip, one after the other and never more than is sane."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from classroom import ClassroomError
from classroom.platforms import ROSTER, is_litter, leads_out

MAX_BYTES = 20_000_000  # of one file, unpacked
MAX_TOTAL = 2_000_000_000  # of one export, unpacked
MAX_FILES = 20_000
TOO_LARGE = f"is larger than {MAX_BYTES // 1_000_000} MB"
UTF8 = 0x800  # a zip says with this bit that a name is UTF-8


@dataclass(frozen=True)
class Found:
    """One file of an export.

    Attributes:
        path: in the export, with "/".
        time: of the last change, in the export's own words, such as "2026-11-21 18:30:00".
        content: its bytes; empty where there is a problem.
        problem: why it cannot be read.
    """

    path: str
    time: str
    content: bytes = b""
    problem: str = ""


def files_of(export: Path) -> Iterator[Found]:
    """Every file of a folder or a zip, a `ROSTER` first, but not what computers leave there.

    Raises:
        ClassroomError: if it is neither, or is damaged as a whole.
    """
    if export.is_dir():
        yield from _folder(export)
    elif zipfile.is_zipfile(export):
        try:
            with zipfile.ZipFile(export) as archive:
                yield from _members(archive)
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise ClassroomError(f"{export} is damaged ({error}): download it again") from None
    elif export.exists():
        raise ClassroomError(f"{export} is no zip and no folder: take the platform's own download")
    else:
        raise ClassroomError(f"{export} does not exist")


def _folder(folder: Path) -> Iterator[Found]:
    for path in sorted(folder.rglob("*"), key=lambda path: (path.name != ROSTER, path)):
        name = _decoded(os.fsencode(path.relative_to(folder)))
        if is_litter(name) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.is_file():
            yield Found(name, "", problem="is a link, not a file")
            continue
        stat = path.stat()
        time = datetime.fromtimestamp(stat.st_mtime).isoformat(" ", "seconds")
        if stat.st_size > MAX_BYTES:
            yield Found(name, time, problem=TOO_LARGE)
        else:
            yield Found(name, time, path.read_bytes())


def _members(archive: zipfile.ZipFile) -> Iterator[Found]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MAX_FILES:
        raise ClassroomError(f"{archive.filename} has more than {MAX_FILES:,} files")
    total = 0
    for member in sorted(members, key=lambda member: not member.filename.endswith(ROSTER)):
        path = _name(member).replace("\\", "/")
        if is_litter(path):
            continue
        time = "{:04}-{:02}-{:02} {:02}:{:02}:{:02}".format(*member.date_time)
        if leads_out(path):
            yield Found(path, time, problem="has a name that leads out of its folder")
            continue
        content, problem = _unpack(archive, member)
        total += len(content)
        if total > MAX_TOTAL:
            raise ClassroomError(f"{archive.filename} unpacks to more than {MAX_TOTAL:,} bytes")
        yield Found(path, time, content, problem)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[bytes, str]:
    """The bytes of a member, or why there are none; never more than `MAX_BYTES`."""
    try:
        with archive.open(member) as file:
            content = file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        return b"", f"is damaged ({error})"
    except (RuntimeError, NotImplementedError) as error:
        return b"", f"cannot be unpacked ({error})"  # encrypted, or packed in a rare way
    return (b"", TOO_LARGE) if len(content) > MAX_BYTES else (content, "")


def _name(member: zipfile.ZipInfo) -> str:
    """The name, also of a zip that forgot to say how it writes Korean."""
    if member.flag_bits & UTF8 or member.filename.isascii():
        return member.filename
    try:
        return _decoded(member.filename.encode("cp437"))
    except UnicodeEncodeError:
        return member.filename


def _decoded(name: bytes) -> str:
    """The name of a file, in the encodings that Korean computers write."""
    for encoding in ("utf-8", "cp949"):
        try:
            return name.decode(encoding)
        except UnicodeDecodeError:
            continue
    return name.decode("utf-8", "replace")
