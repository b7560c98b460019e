"""How Moodle and Canvas name what students handed in, read and written.

Moodle: ``First Last_1234567_assignsubmission_file_/x.ipynb``, without the last ``_`` from 4.1
on, or without folders; ``…_onlinetext_`` is what was typed into a field. Canvas:
``lastfirst[_LATE]_USER_SUBMISSION_file[-1].ipynb``, and ``lastfirst_USER_text.html``. Both know
their own names again when feedback is uploaded.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

MOODLE = re.compile(
    r"(?P<prefix>(?P<person>.+?)_(?P<number>[0-9]{1,18})_assignsubmission_(?P<kind>file|onlinetext)_?)"
    r"(?P<rest>.*)"
)
CANVAS = re.compile(
    r"(?P<prefix>(?P<person>.+?)(?P<late>_LATE)?_(?P<number>[0-9]{1,18})_(?P<submission>[0-9]{1,18})_)(?P<rest>.+)"
)
CANVAS_TEXT = re.compile(
    r"(?P<prefix>(?P<person>.+?)(?P<late>_LATE)?_(?P<number>[0-9]{1,18})_)(?P<rest>(?:text|link)\.html)"
)
REVISION = re.compile(r"-([0-9]{1,4})$")  # Canvas: the second file of a name is x-1.ipynb
# Not handed in by anybody: what computers leave in archives and folders.
LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class HandedIn:
    """What the path of a file in an export says.

    Attributes:
        platform: "moodle" or "canvas".
        number: the student's, on the platform.
        person: the student's name, as far as the platform tells it.
        late: whether it came late; None where the path does not tell.
        prefix: the platform's own name, before that of the file; a folder ends with "/".
        file: the name that the student gave the file.
        is_text: it was typed into a field, and is no file.
        order: a later one is larger; further files of a student have the same order if the path
            does not tell.
    """

    platform: str
    number: str
    person: str
    late: bool | None
    prefix: str
    file: str
    is_text: bool
    order: tuple[int, int] = (0, 0)

    @property
    def student(self) -> str:
        """The key of the student: no two platforms share one."""
        return f"{self.platform}-{self.number}"


def read_path(path: str) -> HandedIn | None:
    """Read the path of a file in an export; None if it is neither Moodle's nor Canvas's."""
    parts = PurePosixPath(unicodedata.normalize("NFC", path)).parts
    for position, part in enumerate(parts):
        if found := MOODLE.fullmatch(part):
            inner = parts[position + 1 :]
            if not inner and not found["rest"]:
                return None
            return HandedIn(
                "moodle",
                found["number"],
                found["person"],
                None,
                f"{part}/" if inner else found["prefix"],
                "/".join(inner) or found["rest"],
                found["kind"] == "onlinetext",
            )
    name = parts[-1] if parts else ""
    if found := CANVAS.fullmatch(name) or CANVAS_TEXT.fullmatch(name):
        revision = REVISION.search(PurePosixPath(found["rest"]).stem)
        return HandedIn(
            "canvas",
            found["number"],
            found["person"],
            found["late"] is not None,
            found["prefix"],
            found["rest"],
            "submission" not in found.groupdict(),
            (
                int(found.groupdict().get("submission") or 0),
                int(revision[1]) if revision else 0,
            ),
        )
    return None


def is_litter(path: str) -> bool:
    """Whether a computer left this file, and nobody handed it in."""
    parts = PurePosixPath(path).parts
    return any(part in LITTER or part.startswith("._") for part in parts)


def leads_out(path: str) -> bool:
    """Whether a path leaves the folder that it is to be unpacked in."""
    return path.startswith("/") or ".." in path.split("/") or bool(re.match(r"[A-Za-z]:", path))
