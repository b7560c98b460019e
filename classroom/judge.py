"""What an answer is worth: judged outside the sandbox, on plain data."""

from __future__ import annotations

import json
from typing import Any

from classroom.checks import Check, Raised, Raises
from classroom.inside import encode
from classroom.run import Failure, Outcome

# What somebody may answer who computes nothing.
CONSTANTS: tuple[Any, ...] = (
    *(None, True, False, *range(-1, 11), 0.5, float("nan"), float("inf"), "", [], {}),
    Raised("ValueError", ("Exception", "BaseException", "object")),
)

SHORT = 200  # characters of an answer that whoever marks can take in


def share(check: Check, answer: Any, own: tuple[Any, ...] = ()) -> float:
    """What a judge says of an answer, 0 to 1; a judge that an answer upsets says 0."""
    if isinstance(answer, Raised) and not isinstance(check.judge, Raises):
        return 0.0
    try:
        found = check.share(answer, list(own))
    except Exception:
        return 0.0
    return min(max(found, 0.0), 1.0) if found == found else 0.0


def guessable(checks: list[Check]) -> bool:
    """Whether one and the same answer, computed from nothing, earns something of each check."""
    return any(all(share(check, constant) > 0 for check in checks) for constant in CONSTANTS)


def kind(answer: Any) -> str:
    """What kind of thing an answer is; not how long, since a length could tell the hidden input."""
    if answer is None:
        return "None"
    if isinstance(answer, bool | str):
        return "True or False" if isinstance(answer, bool) else "a text"
    if isinstance(answer, int | float):
        return "a number"
    if isinstance(answer, list | dict):
        return "a list" if isinstance(answer, list) else "a dictionary"
    return "an array"


def worth(check: Check, answer: Any, own: tuple[Any, ...] = ()) -> tuple[float, str]:
    """The share of a check's points for an answer, and the hint where it is less than 1.

    What earns nothing may be the answer to a different variant, see `Check.read`.
    """
    earned = share(check, answer, own)
    if earned or check.read is None or isinstance(answer, Raised):
        return earned, (check.misread if earned else "") or check.hint
    try:
        earned, hint = check.read(answer)
    except Exception:  # an answer of any shape
        return 0.0, check.hint
    return earned, hint or check.hint


def judge(check: Check, outcome: Outcome) -> tuple[float, Failure | None, str]:
    """The share of a check's points, and what went wrong where it is less than 1, with the hint."""
    answer, failure = outcome.answer, outcome.failure
    if failure is not None and not isinstance(answer, Raised):
        return 0.0, failure, check.hint
    earned, hint = worth(check, answer, outcome.own)
    if earned == 1:
        return earned, None, hint
    return earned, failure or {"kind": "part" if earned else "wrong", "what": kind(answer)}, hint


def _said(outcome: Outcome) -> str:
    """What came back, as a text that differs where the answers do."""
    return json.dumps(encode(outcome.answer) if outcome.failure is None else outcome.failure)


def _own_words(check: Check, outcome: Outcome) -> dict[str, str]:
    """What came back from a call without any input, where it is short: for whoever marks."""
    said = "" if check.arguments or outcome.failure else _said(outcome)
    return {"answer": said} if 0 < len(said) <= SHORT else {}


def mark(pairs: list[tuple[Check, Outcome]], points: float) -> dict[str, Any]:
    """The points of a question, and a row for each of its checks.

    Nobody earns a part of a question with one answer for everything: where the same came back from
    every call, and somebody who computes nothing could have said it, it does not count.
    """
    found = [judge(check, outcome) for check, outcome in pairs]
    passed = [check for (check, _), (earned, *_) in zip(pairs, found, strict=True) if earned > 0]
    constant = len({_said(outcome) for _, outcome in pairs}) == 1
    if passed and constant and guessable(passed):
        found = [(0.0, {"kind": "guess"} if earned else why, hint) for earned, why, hint in found]
    checks = [check for check, _ in pairs]
    total = sum(check.weight for check in checks)
    parts = [c.weight * earned for c, (earned, *_) in zip(checks, found, strict=True)]
    rows = [
        {
            "name": c.name,
            "share": round(earned, 4),
            "hint": hint,
            "failure": failure,
            **_own_words(c, outcome),
        }
        for (c, outcome), (earned, failure, hint) in zip(pairs, found, strict=True)
    ]
    return {"points": round(points * sum(parts) / total, 2), "of": points, "checks": rows}
