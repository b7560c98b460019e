"""What an assignment is worth: its `goals.toml`, with points, goals and hints a question."""

from __future__ import annotations

import importlib.util
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from classroom import ClassroomError

ASSIGNMENTS = Path(__file__).with_name("assignments")
KINDS = ("checked", "read")


@dataclass(frozen=True)
class Question:
    """One question of an assignment.

    Attributes:
        name: such as "q1".
        title: as its heading has it.
        kind: "checked" by `checks.py`, or "read" by the teacher.
        points: at most.
        goal: what a student who answers it has learned.
        hint: shown when a check of the question fails.
        rubric: of a question that is read, (points, for what); the points sum to ``points``.
        asks: the choices that an answer depends on, see `classroom.variants.deal`.
    """

    name: str
    kind: str
    points: float
    goal: str
    title: str
    hint: str = ""
    rubric: tuple[tuple[float, str], ...] = ()
    asks: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """As students know it: "Question 1: three numbers"."""
        return f"Question {self.name.removeprefix('q')}: {self.title}"


@dataclass(frozen=True)
class Goals:
    """One assignment.

    Attributes:
        name: of its folder.
        title: as students read it.
        chapters: of the course that it needs, by name.
        minutes: that a student may need.
        questions: by name, in order.
        allow: modules that a student may use beside Python and NumPy.
        seconds: of processor time that a submission may take.
    """

    name: str
    title: str
    chapters: tuple[str, ...]
    minutes: int
    questions: dict[str, Question]
    allow: tuple[str, ...] = ()
    seconds: float = 20.0

    @property
    def points(self) -> float:
        return sum(question.points for question in self.questions.values())

    @property
    def to_read(self) -> list[Question]:
        """The questions that a teacher reads."""
        return [question for question in self.questions.values() if question.kind == "read"]


def assignment_names() -> list[str]:
    """The assignments that there are, in the order of the chapters that they need."""
    names = [path.parent.name for path in ASSIGNMENTS.glob("*/goals.toml")]
    return sorted(names, key=lambda name: _table(name).get("position", 0))


def read_goals(name: str) -> Goals:
    """Read ``assignments/NAME/goals.toml``.

    Raises:
        ClassroomError: if there is no such assignment, or its file lacks something.
    """
    table = _table(name)
    try:
        return Goals(
            name=name,
            title=table["title"],
            chapters=tuple(table["chapters"]),
            minutes=table["minutes"],
            questions={
                key: _question(name, key, found) for key, found in table["questions"].items()
            },
            allow=tuple(table.get("allow", ())),
            seconds=table.get("seconds", Goals.seconds),
        )
    except KeyError as error:
        raise ClassroomError(f"assignments/{name}/goals.toml has no {error}") from None


@cache
def load(name: str, module: str = "checks") -> ModuleType:
    """A module of ``assignments/NAME``: by default `checks`, and what the secret decides."""
    _table(name)
    path = ASSIGNMENTS / name / f"{module}.py"
    spec = importlib.util.spec_from_file_location(f"classroom.assignments.{name}.{module}", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def _table(name: str) -> dict[str, Any]:
    path = ASSIGNMENTS / name / "goals.toml"
    if not path.is_file():
        known = ", ".join(sorted(found.parent.name for found in ASSIGNMENTS.glob("*/goals.toml")))
        raise ClassroomError(f"no assignment {name!r}; there are {known}")
    return parsed(path.read_text("utf-8"))


@cache
def parsed(text: str) -> dict[str, Any]:
    """What a TOML file says, which is asked for often: leave what comes back as it is."""
    return tomllib.loads(text)


def _question(assignment: str, name: str, found: dict[str, Any]) -> Question:
    rubric = tuple((row["points"], row["text"]) for row in found.get("rubric", ()))
    place = f"assignments/{assignment}/goals.toml, {name}"
    if found["kind"] not in KINDS:
        raise ClassroomError(f"{place}: kind {found['kind']!r}; it is one of {', '.join(KINDS)}")
    if found["kind"] == "read" and sum(points for points, _ in rubric) != found["points"]:
        raise ClassroomError(f"{place}: the points of the rubric do not sum to {found['points']}")
    asks = tuple(found.get("asks", ()))
    return Question(name, **{**found, "rubric": rubric, "asks": asks})
