"""Grade a class: each submission in a sandbox of its own, judged outside it.

A batch begins with the grader itself: through the same sandbox, the reference of each sheet must
earn all points and the sheet as released none. Nobody is graded on a sheet where it is wrong about
itself, and the others are. A result is a file, written when its submission is done, so an
interrupted batch goes on where it was. What cannot be graded says why and is never a zero.
"""

from __future__ import annotations

import hashlib
import math
import signal
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom import ClassroomError
from classroom.bubblewrap import Limits, NotGraded
from classroom.checks import Check
from classroom.goals import ASSIGNMENTS, Goals, load, read_goals
from classroom.judge import guessable, mark
from classroom.results import read_json, students, submitted, write_json
from classroom.run import Runner
from classroom.secret import read_secret
from classroom.submission import read_submission
from classroom.variants import SHEETS, secret_of, variant_of

WRONG_SHEET = "The grader is wrong about this sheet, so nobody who has it is graded yet."
GRADER = (
    "bubblewrap",
    "checks",
    "grade",
    "inside",
    "judge",
    "run",
    "sandbox",
    "secret",
    "submission",
    "variants",
)


@dataclass(frozen=True)
class Assignment:
    """All that grading needs of one sheet of an assignment.

    Attributes:
        goals: Its questions and points.
        checks: The hidden checks of this sheet.
        notebook: As it was released, beside its data.
        reference: The notebook with the solutions.
        problem: Why nobody can be graded on this sheet, "" if everybody can.
    """

    goals: Goals
    checks: list[Check]
    notebook: Path
    reference: Path
    problem: str = ""


def read_assignment(folder: Path, name: str, sheet: str) -> Assignment:
    """Read a sheet of an assignment as it was released to a class.

    Raises:
        ClassroomError: It was not released, or its checks and its goals do not fit together.
    """
    goals, secret = read_goals(name), read_secret(folder)
    own, variant = secret_of(secret, sheet), variant_of(name, secret, sheet)
    checks = list(load(name).checks(own, variant))
    asked = {q.name for q in goals.questions.values() if q.kind == "checked"}
    place = f"assignments/{name}/checks.py"
    if {check.question for check in checks} != asked:
        raise ClassroomError(f"{place}: there must be checks for {', '.join(sorted(asked))}")
    if len({(check.question, check.name) for check in checks}) < len(checks):
        raise ClassroomError(f"{place}: each check of a question needs a name of its own")
    for question in sorted(asked):
        if guessable([check for check in checks if check.question == question]):
            raise ClassroomError(
                f"{place}: one and the same answer passes every check of {question}"
            )
    file = f"{name}-{sheet}.ipynb"
    notebook = folder / "released" / name / f"sheet-{sheet}" / file
    reference = folder / "teacher" / name / file
    for path in (notebook, reference):
        if not path.is_file():
            raise ClassroomError(f"{path} is missing: release {name} to this class first")
    return Assignment(goals, checks, notebook, reference)


def hashes_of(folder: Path, name: str) -> dict[str, str]:
    """The hashes of what grades an assignment, and of the secret of a class."""
    sources = [Path(__file__).with_name(f"{module}.py") for module in GRADER]
    sources += sorted((ASSIGNMENTS / name).glob("*.py"))
    sources += [ASSIGNMENTS / name / "goals.toml", ASSIGNMENTS / name / "variants.toml"]
    sources += [ASSIGNMENTS / "measures.py"]
    return {
        "checks": _hash(*(f.read_bytes() for f in sources if f.exists())),
        "secret": _hash(read_secret(folder)),
    }


def _hash(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(c).digest() for c in contents)).hexdigest()


def grade_submission(assignment: Assignment, file: Path) -> dict[str, Any]:
    """Grade one notebook.

    Returns:
        ``questions`` (points, of, checks; or the written answer), ``cells`` (what failed), and
        ``late``, its seconds, if they were over before the last check.

    Raises:
        NotGraded: Nothing can be said about it.
    """
    goals, checks = assignment.goals, assignment.checks
    submission, released = read_submission(file), read_submission(assignment.notebook)
    functions = dict.fromkeys(check.function for check in checks)
    if functions and not submission.defines(functions):
        raise NotGraded(
            f"The notebook holds none of the functions of {goals.title!r}: "
            f"{', '.join(functions)}. Is it the right one?"
        )
    # Whatever it does: the processor time of four steps, and a minute for a busy machine.
    seconds = math.ceil(goals.seconds)
    limits = Limits(step_seconds=seconds, wall_seconds=60 + 4 * seconds)
    files = assignment.notebook.parent
    outcomes, cells = Runner(submission, released, files, goals.allow, limits).run(checks)
    questions: dict[str, Any] = {}
    for question in goals.questions.values():
        if question.kind == "read":
            text = submission.written(question.name, released)
            questions[question.name] = {"points": None, "of": question.points, "answer": text}
            continue
        pairs = [
            (c, o) for c, o in zip(checks, outcomes, strict=True) if c.question == question.name
        ]
        questions[question.name] = mark(pairs, question.points)
    late = any(o.failure is not None and o.failure.get("why") == "late" for o in outcomes)
    more = {"late": limits.wall_seconds} if late else {}
    return {"questions": questions, "cells": cells, **more}


def check_grader(assignment: Assignment, stub: bool = True) -> None:
    """Grade the reference of a sheet, and the sheet as released.

    Args:
        assignment: The sheet.
        stub: Whether to grade the sheet as released, too.

    Raises:
        ClassroomError: The first has not all points, or the second has any, or neither can be
            graded. Then no student can be graded either.
    """
    for file, wanted in ((assignment.reference, 1.0), (assignment.notebook, 0.0))[: 1 + stub]:
        try:
            found = grade_submission(assignment, file)
        except NotGraded as error:
            raise ClassroomError(str(error)) from None
        for name, question in found["questions"].items():
            for row in question.get("checks", ()):
                if row["share"] != wanted:
                    raise ClassroomError(
                        f"The grader is wrong about itself: {file.name} "
                        f"has {row['share']:g} of check {row['name']!r} of {name}, not {wanted:g} "
                        f"({row['failure']})"
                    )


def checked_sheets(
    folder: Path, name: str, sheets: Iterable[str], jobs: int = 1, stub: bool = True
) -> dict[str, Assignment]:
    """Some sheets, on which the grader was checked; one where it is wrong says so.

    The checks of a sheet come from the secret, so one may be wrong where all others are right.
    """
    goals = read_goals(name)

    def checked(sheet: str) -> Assignment:
        try:
            found = read_assignment(folder, name, sheet)
            check_grader(found, stub)
        except Exception as error:  # also one of the checks of this sheet
            problem = str(error) if isinstance(error, ClassroomError) else repr(error)
            return Assignment(goals, [], Path(), Path(), problem)
        return found

    asked = list(sheets)
    with quiet(), ThreadPoolExecutor(max(1, jobs)) as pool:
        return dict(zip(asked, pool.map(checked, asked), strict=True))


def quiet() -> warnings.catch_warnings[None]:
    """A block in which NumPy does not say what it thinks of the answers that are judged."""
    return warnings.catch_warnings(action="ignore", category=RuntimeWarning)


def sheet_of(student: Path) -> str:
    """The sheet that a student handed in; any will do where nothing can be graded."""
    return str(read_json(student / "facts.json").get("sheet") or SHEETS[0])


def grade_student(
    assignment: Assignment, student: Path, file: Path, hashes: dict[str, str]
) -> dict[str, Any]:
    """Grade what one student handed in and write the result. Whatever happens is a result.

    Args:
        assignment: The student's sheet.
        student: The folder of what was handed in.
        file: Of the result.
        hashes: Of what grades, see `hashes_of`.
    """
    start = time.monotonic()
    result: dict[str, Any] = {"student": student.name, "assignment": assignment.goals.name}
    try:
        if problem := read_json(student / "facts.json").get("problem"):
            raise NotGraded(str(problem))
        if assignment.problem:  # which is the teacher's to read: it may name what is hidden
            raise NotGraded(WRONG_SHEET)
        found = grade_submission(assignment, student / "submission.ipynb")
        result |= {"status": "graded", "reason": "", **found}
    except NotGraded as error:
        result |= {"status": "not graded", "reason": str(error)}
    except Exception as error:  # ours; the batch goes on
        result |= {"status": "not graded", "reason": f"The grader failed: {error!r}"}
    result["seconds"] = round(time.monotonic() - start, 2)
    result["hashes"] = {**hashes, "submission": submitted(student)}
    write_json(file, result)
    return result


def _left(hashes: dict[str, str], student: Path, file: Path) -> bool:
    """Whether there is no result yet of this submission, these checks and this secret."""
    result = read_json(file)
    wanted = {**hashes, "submission": submitted(student)}
    return result.get("status") != "graded" or result.get("hashes") != wanted


def grade_class(
    folder: Path, name: str, *, jobs: int = 1, again: list[str] | None = None
) -> list[dict[str, Any]]:
    """Grade what a class handed in, and print a line for each student.

    Args:
        folder: Of the class.
        name: Of the assignment.
        jobs: How many to grade at once.
        again: Which students to grade although nothing has changed; ``[]`` is all. By default
            those whose submission, checks or secret changed, and those that were not graded.

    Returns:
        The new results.

    Raises:
        ClassroomError: Nothing can be graded, and the message says what to do.
    """
    collected = folder / "collected" / name
    if not collected.is_dir():
        raise ClassroomError(f"{collected} is missing: collect {name} first")
    everyone = {place.name: place for place in students(folder, name)}
    own = {student: sheet_of(place) for student, place in everyone.items()}
    if unknown := sorted(set(again or ()) - everyone.keys()):
        raise ClassroomError(f"nobody with the id {', '.join(unknown)} handed in {name}")
    graded, hashes = folder / "graded" / name, hashes_of(folder, name)
    chosen = []
    for student, place in everyone.items():
        wanted = not again or student in again
        if wanted and (again is not None or _left(hashes, place, graded / f"{student}.json")):
            chosen.append(place)
    if not chosen:
        print(f"{name}: nothing is left to grade; {len(everyone)} results are in {graded}")
        return []
    sheets = checked_sheets(folder, name, sorted({own[place.name] for place in chosen}), jobs)
    problems = {sheet: one.problem for sheet, one in sheets.items() if one.problem}
    if len(problems) == len(sheets):
        raise ClassroomError(f"Nothing is graded. {next(iter(problems.values()))}")
    for sheet, problem in problems.items():
        print(f"Nobody with sheet {sheet} is graded. {problem}")
    results = []
    with quiet():
        for result in _batch([(sheets[own[p.name]], p) for p in chosen], graded, hashes, jobs):
            results.append(result)
            print(f"[{len(results)}/{len(chosen)}] {line_of(result)}", flush=True)
    for result in sorted(results, key=lambda r: str(r["student"])):
        if late := result.get("late"):
            print(
                f"  {result['student']}: its {late:.0f} s were over before the last check; "
                "if this machine was busy, regrade it"
            )
    done = sum(result["status"] == "graded" for result in results)
    seconds = sorted(result["seconds"] for result in results)
    print(
        f"{name}: {done} graded, {len(results) - done} not graded; "
        f"{seconds[len(seconds) // 2]:.2f} s each, at most {seconds[-1]:.2f} s"
    )
    for result in sorted(results, key=lambda r: str(r["student"])):
        if result["status"] != "graded":
            print(f"  {result['student']}: {result['reason']}")
    return results


def _batch(
    chosen: list[tuple[Assignment, Path]], graded: Path, hashes: dict[str, str], jobs: int
) -> Iterator[dict[str, Any]]:
    # Ctrl-C is for this thread alone: a sandbox that was just starting would die of it, and its
    # student would be written down as not graded.
    deaf = (signal.SIG_BLOCK, {signal.SIGINT})
    with ThreadPoolExecutor(
        max(1, jobs), initializer=signal.pthread_sigmask, initargs=deaf
    ) as pool:
        waiting = [
            pool.submit(grade_student, assignment, place, graded / f"{place.name}.json", hashes)
            for assignment, place in chosen
        ]
        try:
            for future in waiting:
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def line_of(result: dict[str, Any]) -> str:
    """One line about a result."""
    if result["status"] != "graded":
        return f"{result['student']}: not graded, {result['seconds']:.1f} s"
    checked = [q for q in result["questions"].values() if "checks" in q]
    points, of = sum(q["points"] for q in checked), sum(q["of"] for q in checked)
    return f"{result['student']}: {points:g} of {of:g}, {result['seconds']:.1f} s"
