"""Run a submission in its sandbox: all its cells in order, then each call of the hidden checks.

The calls whose answers other checks build on (`Check.own`) come first and have a process of their
own: what a function says there, it says before it knows what it will be compared with.

A cell that fails does not stop the next one. A cell that ends the process is left out in a new
one, and a call that ends it costs its own check: so a crash keeps all points earned elsewhere. The
clock ends a submission, whatever it does: what it has not answered by then counts as ended.
"""

from __future__ import annotations

import builtins
import re
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom
from typing import Any

from classroom.bubblewrap import Limits
from classroom.checks import Call, Check, Raised
from classroom.inside import MESSAGE, NotPlain, decode, encode
from classroom.sandbox import Ended, Late, Sandbox
from classroom.submission import Submission

# How often a process may end before the rest is given up: in cells, and in calls of a question.
MOST_CELLS = 3
MOST_CALLS = 2
PATH = re.compile(r"(?:/[\w.+-]+)*/(?=[\w.+-])")  # what stands before the name of a file
SKIPPED = "picture"  # the tag of cells that only draw
GIVEN = "variant"  # the tag of cells whose values the secret decides

Failure = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a call gave.

    Attributes:
        answer: That of the function, or the exception that it raised.
        failure: What went wrong, an exception too.
        own: The answers to the further calls that `Check.own` asks for.
    """

    answer: Any = None
    failure: Failure | None = None
    own: tuple[Any, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether the call ended the process."""
        return self.failure is not None and self.failure["kind"] == "ended"


class Runner:
    """One submission, in one process after the other.

    Args:
        submission: The notebook.
        released: As it was handed out.
        files: A folder whose files lie beside the notebook.
        allow: Packages beyond the usual ones.
        limits: Of each process.
    """

    def __init__(
        self,
        submission: Submission,
        released: Submission,
        files: Path,
        allow: tuple[str, ...],
        limits: Limits,
    ) -> None:
        self.submission = submission
        self.place = (files, allow, limits)
        self.until = time.monotonic() + limits.wall_seconds
        # Values that are given hold, also where the student's copy of them was changed or lost.
        given = [replace(cell, number=0) for cell in released.code if GIVEN in cell.tags]
        cells = [cell for cell in submission.code if SKIPPED not in cell.tags]
        self.cells = [cell for cell in (*given, *cells, *given) if cell.source.strip()]
        self.failed: dict[int, Failure] = {}  # cells
        self.deadly: set[int] = set()
        self.sandbox: Sandbox | None = None

    def run(self, checks: list[Check]) -> tuple[list[Outcome], list[Failure]]:
        """Run all cells and make the calls of the checks.

        Returns:
            What each call gave; and the cells that failed, each with its number and its question.

        Raises:
            NotGraded: The sandbox does not start, or something else killed it.
        """
        outcomes, ended = [], Counter[str]()
        try:
            known = self.own_answers(checks)
            for check, own in zip(checks, known, strict=True):
                if ended[check.question] >= MOST_CALLS:
                    outcomes.append(Outcome(failure={"kind": "ended", "why": "before"}))
                    continue
                outcome = self.call(check.function, check.arguments)
                if outcome.failure is None:
                    own = own or self.made_of(check, outcome.answer)
                outcomes.append(replace(outcome, own=tuple(own)))
                ended[check.question] += outcome.ended
        except Late:
            late = Outcome(failure={"kind": "ended", "why": "late"})
            outcomes += [late] * (len(checks) - len(outcomes))
        finally:
            self.stop()
        functions = {check.function: check.question for check in checks}
        cells = [
            {**failure, "number": n, "question": self.submission.question_of(n, functions)}
            for n, failure in sorted(self.failed.items())
        ]
        return outcomes, cells

    def start(self) -> Sandbox:
        """Make a process in which all cells have run, but those that end it."""
        while self.sandbox is None:
            if time.monotonic() >= self.until:
                raise Late
            self.sandbox = Sandbox(*self.place, self.until)
            for cell in self.cells:
                if cell.number in self.deadly:
                    continue
                try:
                    request = {"cell": cell.number, "source": cell.source}
                    answer = self.sandbox.ask(request)
                except Ended as ended:
                    if cell.number:
                        self.failed[cell.number] = {"kind": "ended", "why": str(ended)}
                    self.deadly.add(cell.number)
                    if len(self.deadly) > MOST_CELLS:  # then only those before it
                        self.deadly |= {c.number for c in self.cells if c.number > cell.number}
                    self.stop()
                    break
                if "raised" in answer and cell.number:
                    message = str(answer.get("message") or "")[:MESSAGE]
                    message = PATH.sub("", message.encode(errors="replace").decode())
                    self.failed[cell.number] = self.failure(answer["raised"]) | {"message": message}
        return self.sandbox

    def stop(self) -> None:
        """End the process."""
        if self.sandbox is not None:
            self.sandbox.close()
        self.sandbox = None

    def apart(self, calls: list[Call]) -> list[Any]:
        """The answers to some calls, by a new process and in an order drawn anew.

        ``None`` is that of a call that failed, and of all after too many that ended the process.
        """
        places = list(range(len(calls)))
        SystemRandom().shuffle(places)
        answers: list[Any] = [None] * len(calls)
        ended = 0
        self.stop()
        for place in places:
            outcome = self.call(*calls[place])
            answers[place] = outcome.answer if outcome.failure is None else None
            ended += outcome.ended
            if ended >= MOST_CALLS:
                break
        self.stop()
        return answers

    def own_answers(self, checks: list[Check]) -> list[list[Any]]:
        """The answers that each check builds on, as far as they do not depend on its own."""
        calls: list[Call] = []
        places = []
        for check in checks:
            asked = check.own if isinstance(check.own, list) else []
            places.append(range(len(calls), len(calls) + len(asked)))
            calls += asked
        answers = self.apart(calls) if calls else []
        return [[answers[place] for place in of_one] for of_one in places]

    def made_of(self, check: Check, answer: Any) -> list[Any]:
        """The answers to the calls that depend on that of the check."""
        try:
            calls = check.own(answer) if callable(check.own) else []
        except Exception:  # an answer of any shape
            calls = []
        return self.apart(calls) if calls else []

    def call(self, function: str, arguments: tuple[Any, ...]) -> Outcome:
        """Make one call. Nothing of what comes back is trusted to be well formed."""
        request = {"function": function, "arguments": encode(arguments)}
        try:
            answer = self.start().ask(request)
        except Ended as ended:
            self.stop()
            return Outcome(failure={"kind": "ended", "why": str(ended)})
        why = answer.get("not_plain")
        if "value" in answer:
            try:
                return Outcome(decode(answer["value"]))
            except NotPlain as error:
                why = str(error)
            except RecursionError:
                why = "deep"
        elif "raised" in answer:
            # Not where: with a line for each value, a line would tell the hidden input.
            found = raised(answer["raised"])
            return Outcome(found, {"kind": "exception", "type": found.type_name})
        elif "missing" in answer:
            return Outcome(failure={"kind": "missing", "function": function})
        why = why if why in ("deep", "large") else "type"
        return Outcome(failure={"kind": "not plain", "why": why})

    def failure(self, described: Any) -> Failure:
        """Where a cell raised an exception: only a line that there is, only a built-in type."""
        found: Failure = {"kind": "exception", "type": raised(described).type_name}
        place = described if isinstance(described, dict) else {}
        cell, line = place.get("cell"), place.get("line")
        if (code := self.submission.line(cell, line)) is not None:
            found |= {"cell": cell, "line": line, "code": code}
        return found


def raised(described: Any) -> Raised:
    """What `inside.describe` said, as far as these are names of built-in exceptions."""
    types = described.get("types") if isinstance(described, dict) else None
    names = [name for name in (types if isinstance(types, list) else []) if _built_in(name)]
    return Raised(names[0], tuple(names[1:])) if names else Raised("Exception")


def _built_in(name: Any) -> bool:
    found = vars(builtins).get(name) if isinstance(name, str) else None
    return isinstance(found, type) and issubclass(found, BaseException)
