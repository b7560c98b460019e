"""How platforms name what students handed in, read and written.

Moodle: ``First Last_1234567_assignsubmission_file_/x.ipynb``, without the last ``_`` from 4.1
on, or without folders; ``…_onlinetext_`` is what was typed into a field. Canvas:
``lastfirst[_LATE]_USER_SUBMISSION_file[-1].ipynb``, and ``lastfirst_USER_text.html``; without names
``[LATE_]anon_a1B2c_SUBMISSION_file.ipynb``. Brightspace:
``USER-FOLDER - First Last - Nov 21, 2026 630 PM/x.ipynb``. Gradescope: ``submission_123/x.ipynb``,
and ``submission_metadata.yml`` says whose it is. Moodle, Canvas and Brightspace know their own
names again when feedback is uploaded. Anywhere else, a folder or a file is named after its student.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import PurePosixPath

import yaml

from classroom import ClassroomError

PLATFORMS = ("moodle", "canvas", "brightspace", "gradescope", "plain")
ROSTER = "submission_metadata.yml"

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
CANVAS_ANONYMOUS = re.compile(
    r"(?P<prefix>(?P<late>LATE_)?(?P<person>anon)_(?P<number>[0-9A-Za-z]{1,20})_(?P<submission>[0-9]{1,18})_)(?P<rest>.+)"
)
BRIGHTSPACE = re.compile(r"(?P<number>[0-9]{1,18})-[0-9]{1,18} - (?P<person>.+) - (?P<date>[^-]+)")
GRADESCOPE = re.compile(r"submission_[0-9]{1,18}")
REVISION = re.compile(r"-([0-9]{1,4})$")  # Canvas: the second file of a name is x-1.ipynb
# Not handed in by anybody: what computers leave in archives and folders.
LITTER = ("__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints")


@dataclass(frozen=True)
class HandedIn:
    """What the path of a file in an export says.

    Attributes:
        platform: one of `PLATFORMS`.
        number: the student's, on the platform; elsewhere what a folder or a file is named after.
        person: the student's name, as far as the platform tells it.
        prefix: the platform's own name, before that of the file; a folder ends with "/".
        file: the name that the student gave the file.
        late: whether it came late; None where the path does not tell.
        is_text: it was typed into a field, and is no file.
        order: a later one is larger; further files of a student have the same order if the path
            does not tell.
    """

    platform: str
    number: str
    person: str
    prefix: str
    file: str
    late: bool | None = None
    is_text: bool = False
    order: tuple[int, int] = (0, 0)

    @property
    def student(self) -> str:
        """The key of the student: no two platforms share one."""
        return f"{self.platform}-{_key(self.number)}"


Roster = dict[str, list[tuple[str, str]]]


def read_roster(content: bytes) -> Roster:
    """Who handed in what, from Gradescope's list: number and name of each, by folder.

    Raises:
        ClassroomError: if it is no such list.
    """
    try:
        return {
            str(folder): [
                (str(who.get(":sid") or who[":email"]), str(who[":name"]))
                for who in entry[":submitters"]
            ]
            for folder, entry in yaml.safe_load(content).items()
        }
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise ClassroomError(f"{ROSTER} is not Gradescope's: download the export again") from None


def owners(path: str, roster: Roster, plain: bool = False) -> list[HandedIn]:
    """Whose a file of an export is; nobody's if its name is none that a platform gives.

    Args:
        path: of the file.
        roster: Gradescope's.
        plain: whether folders, or files outside of all folders, are named after their students.
    """
    parts = PurePosixPath(unicodedata.normalize("NFC", path)).parts
    if plain and parts:
        name = parts[-2] if len(parts) > 1 else _before_dash(parts[-1])
        prefix = "".join(f"{part}/" for part in parts[:-1])
        return [HandedIn("plain", name, name, prefix, parts[-1])]
    for position, part in enumerate(parts[:-1]):
        if GRADESCOPE.fullmatch(part):
            file = "/".join(parts[position + 1 :])
            return [
                HandedIn("gradescope", number, name, f"{part}/", file)
                for number, name in roster.get(part, ())
            ]
    found = read_path(path)
    return [found] if found else []


def _before_dash(file: str) -> str:
    return PurePosixPath(file).stem.split(" - ")[0]


def without_common_folder(places: list[HandedIn]) -> list[HandedIn]:
    """The files of a plain export; in one folder for all, they are named after their students.

    A folder with one notebook is that of its student, unless the notebook is named so.
    """
    named = [place for place in places if place.file.endswith(".ipynb")]
    if len({place.prefix for place in places}) != 1 or not (
        len(named) > 1 or any(" - " in place.file for place in named)
    ):
        return places
    names = [_before_dash(place.file) for place in places]
    return [
        replace(place, number=name, person=name) for place, name in zip(places, names, strict=True)
    ]


def _key(name: str) -> str:
    """A name as that of a folder; two names never give the same."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60]
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def read_path(path: str) -> HandedIn | None:
    """Read the path of a file in an export of Moodle, Canvas or Brightspace; None if of none."""
    parts = PurePosixPath(unicodedata.normalize("NFC", path)).parts
    for position, part in enumerate(parts):
        inner = parts[position + 1 :]
        if found := MOODLE.fullmatch(part):
            if not inner and not found["rest"]:
                return None
            return HandedIn(
                "moodle",
                found["number"],
                found["person"],
                f"{part}/" if inner else found["prefix"],
                "/".join(inner) or found["rest"],
                is_text=found["kind"] == "onlinetext",
            )
        if inner and (found := BRIGHTSPACE.fullmatch(part)):
            return HandedIn(
                "brightspace",
                found["number"],
                found["person"],
                f"{part}/",
                "/".join(inner),
                order=(_minutes(found["date"]), 0),
            )
    name = parts[-1] if parts else ""
    for pattern in (CANVAS_ANONYMOUS, CANVAS, CANVAS_TEXT):
        if found := pattern.fullmatch(name):
            known = found.groupdict()
            revision = REVISION.search(PurePosixPath(found["rest"]).stem)
            return HandedIn(
                "canvas",
                found["number"],
                found["person"],
                found["prefix"],
                found["rest"],
                late=found["late"] is not None,
                is_text="submission" not in known,
                order=(int(known.get("submission") or 0), int(revision[1]) if revision else 0),
            )
    return None


def _minutes(date: str) -> int:
    """A number that grows with a date of Brightspace's, such as "Nov 21, 2026 630 PM"."""
    for form in ("%b %d, %Y %I%M %p", "%d %B, %Y %I%M %p", "%B %d, %Y %I%M %p"):
        with suppress(ValueError):
            return int(datetime.strptime(date.strip(), form).strftime("%Y%m%d%H%M"))
    return 0


def is_litter(path: str) -> bool:
    """Whether a computer left this file, and nobody handed it in."""
    parts = PurePosixPath(path).parts
    return any(part in LITTER or part.startswith("._") for part in parts)


def leads_out(path: str) -> bool:
    """Whether a path leaves the folder that it is to be unpacked in."""
    return path.startswith("/") or ".." in path.split("/") or bool(re.match(r"[A-Za-z]:", path))
