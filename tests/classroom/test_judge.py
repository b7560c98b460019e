"""Judges: what an answer is worth, and that one answer for everything is worth nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from classroom.checks import Check, Raised, close, equal, partly, raises
from classroom.judge import CONSTANTS, guessable, kind, mark
from classroom.run import Outcome


@pytest.mark.parametrize("judge", [close(0.25), equal([1, 2]), raises(ValueError), lambda a: a > 3])
@pytest.mark.parametrize(
    "answer", [*CONSTANTS[:3], "x", [1, "a"], [[1], 2], {"a": 1}, np.zeros((3, 0)), 10**300, [[]]]
)
def test_mark_is_upset_by_no_answer(judge: Any, answer: Any) -> None:
    check = Check("q", "name", "f", (), judge)
    assert 0 <= mark([(check, Outcome(answer))], 1)["points"] <= 1


def test_mark_gives_nothing_for_one_answer_to_everything() -> None:
    checks = [Check("q", str(n), "f", (n,), equal(n == 2)) for n in range(4)]
    assert not guessable(checks)

    def earned(answers: list[Any]) -> float:
        return mark([(c, Outcome(a)) for c, a in zip(checks, answers, strict=True)], 4)["points"]

    assert earned([False] * 4) == earned([True] * 4) == earned([None] * 4) == 0
    assert earned([False, False, True, False]) == 4
    assert earned([3, 3, True, 3]) == 1  # a right answer is no guess beside other ones
    assert earned([True, False, True, False]) == 3


def test_mark_gives_a_part_but_never_more_than_all() -> None:
    for said, share in ((0.25, 0.25), (7, 1), (-1, 0), (float("nan"), 0)):
        check = Check("q", "n", "f", (), lambda a, said=said: said if a == 99 else 0)
        assert mark([(check, Outcome(99))], 2)["points"] == 2 * share


def test_mark_hints_at_what_is_right_in_part() -> None:
    judge = partly(close(2.5), close(-2.5))
    check = Check("q", "n", "f", (), judge, hint="Read it.", misread="Mind the sign.")
    for answer, share, hint in [(2.5, 1, ""), (-2.5, 0.5, "Mind the sign."), (3, 0, "Read it.")]:
        row = mark([(check, Outcome(answer))], 4)["checks"][0]
        assert (row["share"], row["hint"] if row["failure"] else "") == (share, hint)


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(Raised("ValueError"), {"kind": "exception", "type": "ValueError"}),
        Outcome(failure={"kind": "ended", "why": "exit"}),
    ],
)
def test_mark_takes_a_failure_only_where_an_exception_is_expected(outcome: Outcome) -> None:
    check = Check("q", "n", "f", (), lambda answer: True)
    marked = mark([(check, outcome)], 2)
    assert marked["points"] == 0
    assert [row["failure"] for row in marked["checks"]] == [outcome.failure]


def test_mark_gives_nothing_to_who_always_raises() -> None:
    """Where all checks that were passed expect an exception, one answer passes them."""
    checks = [Check("q", str(n), "f", (n,), raises(ValueError)) for n in range(2)]
    checks.append(Check("q", "2", "f", (2,), equal(4)))
    error = Outcome(
        Raised("ValueError", ("Exception", "BaseException", "object")),
        {"kind": "exception", "type": "ValueError"},
    )

    def earned(*outcomes: Outcome) -> float:
        return mark(list(zip(checks, outcomes, strict=False)), 3)["points"]

    assert guessable(checks[:2])
    assert not guessable(checks)
    assert earned(error, error) == earned(error, error, error) == 0
    assert earned(error, error, Outcome(4)) == 3


def test_kind_tells_no_value_and_no_length() -> None:
    found = {
        kind(v) for n in (3, 4) for v in (n, n / 8, "x" * n, [n] * n, {"n" * n: n}, np.ones(n))
    }
    assert found == {"a number", "a text", "a list", "a dictionary", "an array"}
