"""Collect what students handed in, from the exports of platforms or from plain folders.

Each file of an export gets a row in ``collected/NAME/collected.csv``: taken, or why not. The table
grows: nothing that was written there once is ever lost. Each student gets a folder
``collected/NAME/ID`` with the latest notebook and the facts about it.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from calib_utils._files import write_bytes
from classroom.exports import Found, files_of
from classroom.goals import assignment_names, read_goals
from classroom.matches import PUBLIC, matches
from classroom.notebooks import fingerprint, reference_of, stubs
from classroom.platforms import ROSTER, HandedIn, Roster, owners, read_roster, without_common_folder
from classroom.results import plain_cell, read_json, write_csv, write_json
from classroom.secret import read_secret
from classroom.solution import solution, with_answers
from classroom.submission import NotGraded, Submission, defined, read_submission, submission_of
from classroom.variants import PUBLISHED, SHEETS, variant_of

HEAD = ("student", "name", "file", "what happened", "when")
SHEET = re.compile(r"""^sheet = ["'](\w+)["']""", re.MULTILINE)  # in the cell of values
REFERENCE = "the reference of the checks"
TAKEN_BEFORE = "taken before"
TYPED = "Text was typed into the platform's field; a notebook must be handed in as a file."


class Row(NamedTuple):
    """What happened to one file."""

    student: str
    name: str
    file: str
    status: str


@dataclass
class Candidate:
    """A file of a student."""

    found: Found
    place: HandedIn
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    sheet: str = ""

    @property
    def order(self) -> list[Any]:
        return [*self.place.order, self.found.time]

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.found.content).hexdigest()


def collect(folder: Path, name: str, exports: Iterable[Path], plain: bool = False) -> list[Row]:
    """Collect an assignment of a class; collecting again takes what is new.

    Args:
        folder: of the class.
        name: of the assignment that the exports belong to.
        exports: folders or zips, as the platform gave them.
        plain: whether they have folders or files that are named after the students.

    Returns:
        A row for each file.

    Raises:
        ClassroomError: if there is no such assignment, or an export cannot be read at all.
    """
    read_goals(name)
    secret, rows = read_secret(folder), []
    releases = {fingerprint(secret, name, sheet): sheet for sheet in SHEETS}
    students: dict[str, list[Candidate]] = defaultdict(list)
    for export in exports:
        roster: Roster = {}
        candidates = []
        for found in files_of(export):
            if PurePosixPath(found.path).name == ROSTER and not plain:
                roster = read_roster(found.content)
                continue
            places = owners(found.path, roster, plain)
            if not places or found.problem.startswith("has a name"):
                why = found.problem or "has no name that a platform gives"
                rows.append(Row("", "", found.path, f"not taken: it {why}"))
                continue
            for place in places:
                candidate = Candidate(found, place)
                examine(candidate, name, releases)
                if candidate.problem:  # a class of bombs would fill memory
                    candidate.found = replace(found, content=b"")
                candidates.append(candidate)
        places = [candidate.place for candidate in candidates]
        places = without_common_folder(places) if plain else places
        for candidate, place in zip(candidates, places, strict=True):
            candidate.place = place
            students[place.student].append(candidate)
    for student, candidates in sorted(students.items()):
        rows += _choose(folder / "collected" / name / student, candidates)
    _log(folder / "collected" / name / "collected.csv", rows)
    return rows


def matches_of(folder: Path, name: str) -> list[tuple[str, ...]]:
    """Who handed in the same code as another student, the public solution or the reference.

    The solution of each sheet is public as well, since a file of the repository makes it. All that
    was ever collected takes part; ``collected/NAME/matches.csv`` has the same rows.
    """
    reference, secret = reference_of(name), read_secret(folder)
    variants = [variant_of(name, secret, sheet) for sheet in (PUBLISHED, *SHEETS)]
    public = [with_answers(name, variant, stub) for variant in variants for stub in stubs(name)]
    handed_in = {PUBLIC: public, REFERENCE: [reference]}
    for file in sorted((folder / "collected" / name).glob("*/submission.ipynb")):
        handed_in[file.parent.name] = [cell.source for cell in read_submission(file).code]
    compared = frozenset(defined("\n\n".join([*public, reference])))
    rows = matches(handed_in, compared)
    head = [("the same, names aside", "who")]
    write_csv(folder / "collected" / name / "matches.csv", [*head, *rows])
    return rows


def _log(file: Path, rows: list[Row]) -> None:
    """Add to the table what it does not say yet."""
    text = file.read_text("utf-8-sig") if file.is_file() else ""
    table = list(csv.reader(io.StringIO(text, newline="")))[1:]
    said = {tuple(row[:4]) for row in table}
    when = datetime.now().isoformat(" ", "seconds")
    new = [
        [*cells, when]
        for row in rows
        if (cells := tuple(map(plain_cell, row))) not in said and row.status != TAKEN_BEFORE
    ]
    write_csv(file, [HEAD, *table, *new])


def examine(candidate: Candidate, name: str, releases: dict[str, str]) -> None:
    """Find out which sheet a file is, or why it cannot be graded as this assignment.

    Args:
        candidate: the file; its problem, its notes and its sheet are set.
        name: of the assignment.
        releases: the sheets of this class by their fingerprints.
    """
    try:
        notebook = _opened(candidate)
    except NotGraded as error:
        candidate.problem = str(error)
        return
    sources = [cell.source for cell in notebook.code]
    other = assignment_of(notebook.metadata, sources)
    if other not in (None, name):
        candidate.problem = f"This is the notebook of {other!r}, not of {name!r}."
        return
    release = notebook.metadata.get("release")
    if release not in (None, *releases):
        candidate.notes.append("The notebook was released to another class.")
    written = SHEET.search("\n".join(sources))
    sheet = releases.get(str(release)) or (written[1] if written else "")
    if sheet in SHEETS:
        candidate.sheet = sheet
    else:
        candidate.problem = (
            "The notebook does not say which sheet it is: its line 'sheet = ...' is missing."
        )


def _opened(candidate: Candidate) -> Submission:
    """The notebook in a file.

    Raises:
        NotGraded: It is none.
    """
    if candidate.found.problem:
        raise NotGraded(f"The file {candidate.found.problem}.")
    if candidate.place.is_text:
        raise NotGraded(TYPED)
    return submission_of(candidate.found.content)


def assignment_of(metadata: dict[str, Any], sources: Iterable[str]) -> str | None:
    """The assignment of a notebook: by its metadata, else by the functions in it."""
    names = assignment_names()
    if metadata.get("assignment") in names:
        return str(metadata["assignment"])
    written = set().union(*map(defined, sources))
    counts = {name: len(functions_of(name) & written) for name in names}
    best = max(counts, key=lambda name: counts[name])
    return best if list(counts.values()).count(counts[best]) == 1 and counts[best] else None


@cache
def functions_of(name: str) -> frozenset[str]:
    """The functions that an assignment asks for."""
    return frozenset(solution(name)["answers"])


def _choose(folder: Path, candidates: list[Candidate]) -> list[Row]:
    """Keep the latest notebook of a student; say of each file what became of it."""
    candidates = sorted(candidates, key=lambda candidate: candidate.order)
    usable = [candidate for candidate in candidates if not candidate.problem]
    stored = read_json(folder / "facts.json")
    taken = usable[-1] if usable else None
    said = _take(folder, taken, stored) if taken else ""
    if not taken and (not stored or stored["problem"]):
        _write(folder, candidates[-1], [])
    rows = []
    for candidate in candidates:
        why = candidate.problem
        if taken and not why:  # of two with the same time, the last in the export is taken
            later = candidate.order < taken.order
            other = f"another one was taken: {taken.place.file}"
            why = "a later one was handed in" if later else other
        status = said if candidate is taken else f"not taken: {why}"
        place = candidate.place
        rows.append(Row(place.student, place.person, candidate.found.path, status))
    return rows


def _take(folder: Path, taken: Candidate, stored: dict[str, Any]) -> str:
    """Store a notebook unless a later one is there; say what was done."""
    earlier = not stored.get("problem") and stored
    if earlier and earlier["hash"] == taken.hash:
        return TAKEN_BEFORE
    if earlier and earlier["order"] > taken.order:
        return f"not taken: {earlier['file']} was collected before, and is later"
    again = [f"It took the place of {earlier['file']}, collected before."] if earlier else []
    _write(folder, taken, [*taken.notes, *again])
    return " ".join([f"taken, sheet {taken.sheet}.", *taken.notes, *again])


def _write(folder: Path, candidate: Candidate, notes: list[str]) -> None:
    """Write the facts, and the notebook where there is no problem."""
    place = candidate.place
    if not candidate.problem:
        write_bytes(folder / "submission.ipynb", candidate.found.content)
    facts = {
        "id": place.student,
        "platform": place.platform,
        "number": place.number,
        "name": place.person,
        "file": place.file,
        "prefix": place.prefix,
        "late": place.late,
        "time": candidate.found.time,
        "order": candidate.order,
        "hash": candidate.hash,
        "problem": candidate.problem or None,
        "sheet": candidate.sheet,
        "notes": notes,
    }
    write_json(folder / "facts.json", facts)
