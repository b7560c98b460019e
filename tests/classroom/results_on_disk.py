"""Results as grading writes them, and what is made of them; no sandbox is needed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from classroom.feedback import ENDED, NOT_PLAIN, write_feedback
from classroom.results import answer_hash, read_json, submitted, write_json
from classroom.scores import write_scores

HEAD = "student,question,points,comment,rubric,answer"
EVIL = "</pre><script>alert('x')</script>"
FAILURES: list[dict[str, Any] | None] = [
    None,
    {"kind": "exception", "type": "ValueError"},
    {"kind": "exception", "type": "KeyError", "cell": 2, "line": 3, "code": f"x = {EVIL}"},
    {"kind": "wrong", "what": "an array"},
    {"kind": "missing", "function": "gap"},
    {"kind": "guess"},
    *({"kind": "ended", "why": why} for why in ENDED),
    *({"kind": "not plain", "why": why} for why in NOT_PLAIN),
]


def give(folder: Path, student: str, points: float = 2.0, **changes: Any) -> None:
    """Write a result as grading does."""
    checks = [
        {"name": f"check {n}", "share": 0.0 if failure else 1.0, "hint": "", "failure": failure}
        for n, failure in enumerate(FAILURES)
    ]
    questions = {
        "q1": {"points": points, "of": 2, "checks": checks},
        "q2": {
            "points": 1.25,
            "of": 3,
            "checks": [{**checks[3], "share": 0.5, "hint": "Mind it."}],
        },
        "q3": {"points": 0.0, "of": 1, "checks": []},
        "q4": {"points": None, "of": 4, "answer": f"I think {EVIL}"},
    }
    cell = {"kind": "exception", "type": "NameError", "question": "q1", "message": EVIL}
    cells = [{**cell, "number": n} for n in range(1, 61)]
    result = {"student": student, "assignment": "tiny", "status": "graded", "reason": ""}
    result |= {"questions": questions, "cells": cells, "seconds": 1.0} | changes
    result["hashes"] = {"submission": submitted(folder / "collected/tiny" / student)}
    write_json(folder / "graded/tiny" / f"{student}.json", result)


def set_answer(folder: Path, student: str, text: str) -> None:
    """Give the question that a teacher reads another answer, as grading finds it."""
    file = folder / "graded/tiny" / f"{student}.json"
    result = read_json(file)
    result["questions"]["q4"]["answer"] = text
    write_json(file, result)


def hash_of(folder: Path, student: str, question: str = "q4") -> str:
    """The hash of an answer."""
    return answer_hash(read_json(folder / "graded/tiny" / f"{student}.json"), question)


def hand(folder: Path, text: str) -> None:
    (folder / "hand").mkdir(exist_ok=True)
    (folder / "hand/tiny.csv").write_text(text, "utf-8")


def scores(folder: Path) -> dict[str, dict[str, str]]:
    with write_scores(folder).open(encoding="utf-8-sig", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def pages(folder: Path) -> dict[str, str]:
    return {file.stem: file.read_text("utf-8") for file in write_feedback(folder, "tiny")}
