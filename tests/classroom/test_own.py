"""What later answers build on is asked first and apart, so that no counting function can agree."""

from __future__ import annotations

from pathlib import Path

from classroom.bubblewrap import Limits
from classroom.checks import Check, close, follows
from classroom.judge import mark
from classroom.run import Runner
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
