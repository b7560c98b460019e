"""The goals of the assignments."""

from __future__ import annotations

from pathlib import Path

import pytest

from classroom import ClassroomError
from classroom.goals import ASSIGNMENTS, assignment_names, load, read_goals

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize("name", assignment_names())
def test_read_goals_are_whole(name: str) -> None:
    goals = read_goals(name)
    for chapter in goals.chapters:
        assert (REPOSITORY / f"notebooks/{chapter}.md").exists()
    for question in goals.questions.values():
        assert question.points > 0
        assert question.goal.endswith(".")
        assert question.hint.endswith(".")
        assert bool(question.rubric) == (question.kind == "read")
    assert (ASSIGNMENTS / name / f"{name}.md").exists()


def test_read_goals_and_load_refuse_an_unknown_assignment() -> None:
    with pytest.raises(ClassroomError, match="no assignment 'nothing'; there are diagnosing"):
        read_goals("nothing")
    with pytest.raises(ClassroomError, match="no assignment"):
        load("../measuring/x")
