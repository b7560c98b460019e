"""Runs of a submission: what later answers build on is asked apart, and one clock ends them all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from classroom import run
from classroom.bubblewrap import Limits
from classroom.checks import Check, Raised, close, follows
from classroom.judge import mark
from classroom.run import Runner, raised
from classroom.sandbox import Ended, Late
from classroom.submission import Cell, Submission
from classroom.variants import SHEETS, variant_of
from tests.classroom.answering import sheet_checks
from tests.classroom.tiny_class import need_sandbox

SECRET = b"of the thieves"
SHEET = next(
    sheet for sheet in SHEETS if variant_of("measuring", SECRET, sheet)["camera"] == "without"
)
HONEST = """
def signed_gap(confidences, correct, weights):
    return weights @ (correct - 2 * confidences) / weights.sum()

def signed_gaps(confidences, correct, weights, groups, n_groups):
    def of(rows):
        return signed_gap(confidences[rows], correct[rows], weights[rows]) if any(rows) else np.nan
    return [of(groups != g) for g in range(n_groups)]
"""
COUNTING = """
calls = []

def count(x):
    calls.append(x)
    return len(calls)

def fails():
    raise ValueError

def main():
    return len(calls)
"""


def graded(source: str, question: str) -> float:
    """The points of a question for some code, through the sandbox."""
    need_sandbox()
    variant = variant_of("measuring", SECRET, SHEET)
    values = f"import numpy as np\nmin_size = {variant['min_size']}\n"
    submission = Submission((Cell(1, values + source),))
    checks = [c for c in sheet_checks("measuring", SECRET, SHEET) if c.question == question]
    outcomes, _ = Runner(submission, Submission(()), Path(), (), Limits()).run(checks)
    return float(mark(list(zip(checks, outcomes, strict=True)), 2)["points"])


def test_an_honest_mistake_is_still_followed() -> None:
    # The formula is wrong, yet rightly gives nan where there is no weight at all: 0.5 of 3.5 parts.
    assert graded(HONEST, "q1") == round(2 * 0.5 / 3.5, 2)
    assert graded(HONEST, "q2") == 2


def test_each_process_answers_apart_and_in_an_order_drawn_anew() -> None:
    """A function that says how often it was called: never with what it is compared with."""
    need_sandbox()
    said: list[list[float]] = []

    def of_own(own: list[float]) -> float:
        said.append(own)
        return -1.0

    own = [("count", (number,)) for number in range(12)] + [("fails", ())]
    check = Check("q", "n", "main", (), follows(close(99), of_own), own=own)
    submission, given = Submission((Cell(1, COUNTING),)), (Submission(()), Path(), (), Limits())
    for _ in range(2):
        [outcome], _ = Runner(submission, *given).run([check])
        assert outcome.answer == 0  # another process has counted
        assert sorted(outcome.own[:12]) == list(range(1, 13))
        assert outcome.own[12] is None  # and no exception
        check.share(outcome.answer, list(outcome.own[:12]))
    assert said[0] != said[1]
    assert list(range(1, 13)) not in said


class Scripted:
    """Stands for a sandbox, whose calls answer 1, end the process or outlast the clock."""

    started: ClassVar[list[float]] = []

    def __init__(self, *place: Any) -> None:
        self.started.append(place[-1])

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("function") == "late":
            raise Late
        if request.get("function") == "ends":
            raise Ended("exit")
        return {"value": 1}

    def close(self) -> None:
        """Nothing is open."""


def why(functions: list[str], seconds: float) -> list[str | None]:
    """Why each call has no answer."""
    Scripted.started.clear()
    checks = [Check(f"q{n}", "n", name, (), close(1)) for n, name in enumerate(functions)]
    submission, limits = Submission((Cell(1, "x = 1"),)), Limits(wall_seconds=seconds)
    outcomes, _ = Runner(submission, Submission(()), Path(), (), limits).run(checks)
    return [None if one.failure is None else one.failure["why"] for one in outcomes]


def test_one_clock_ends_all_processes_and_what_was_right_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "Sandbox", Scripted)
    found = why(["right", "ends", "right", "late", "right"], 1e9)
    assert found == [None, "exit", None, "late", "late"]
    assert len(Scripted.started) == 2
    assert len({*Scripted.started}) == 1
    # Nor does a process start once the time is over.
    assert why(["right", "right"], 1e-9) == ["late", "late"]
    assert Scripted.started == []


@pytest.mark.parametrize(
    "described", [None, [], {}, {"types": 3}, {"types": [None, "1234", "print", "int"]}, "x"]
)
def test_raised_lets_out_only_names_of_built_in_exceptions(described: Any) -> None:
    assert raised(described) == Raised("Exception")
