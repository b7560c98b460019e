"""Feedback: a page for each student, that loads and runs nothing.

Of a hidden check it tells what kind of thing happened and where in the student's own code, never
a value that went in or came out: such messages would show the hidden inputs.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from typing import Any

from classroom.goals import Goals, Question, read_goals
from classroom.markdown import html_of
from classroom.results import (
    WAITING,
    HandGrade,
    HandGrades,
    complete_hand,
    facts,
    results,
    total,
)
from tools.sources.atomic import write_text

MOST_CELLS = 20  # failed cells that a page names
ENDED = {
    "time": "took more than {seconds:g} seconds of processor time",
    "memory": "took more memory than there is",
    "large": "answered more than can be read",
    "exit": "ended the whole process",
    "forged": "wrote into the pipe of the grader",
    "before": "was not called any more: calls for this question had ended the process",
}
NOT_PLAIN = {
    "type": "returned something other than numbers, texts, lists, dictionaries or arrays",
    "deep": "returned lists that are nested too deeply",
    "large": "returned more than can be read",
}
STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
td, th { border-top: 1px solid #bbb; padding: .3rem .5rem; text-align: left; vertical-align: top }
pre, code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
pre { background: #f2f2f2; padding: .7rem; white-space: pre-wrap }
.points { white-space: nowrap }
.answer { border-left: 4px solid #bbb; padding-left: 1rem; overflow-wrap: anywhere }
.answer img { max-width: 100% }
.answer .block { margin: 1rem 0 }
section { border-top: 1px solid #bbb }
fieldset { border: 0; margin: .5rem 0; padding: 0 }
fieldset label { border: 1px solid #bbb; border-radius: .3rem; display: inline-block }
fieldset label { margin: .2rem .2rem 0 0; padding: .3rem .6rem }
fieldset label:has(:checked) { background: #d7e8ff }
textarea { box-sizing: border-box; display: block; font: inherit; width: 100% }
button { font: inherit; margin: .5rem 0 1.5rem }
body:has(.beside) { margin-top: .5rem; max-width: 88rem }
body:has(.beside) h1 { display: inline; font-size: 1rem; margin-right: 2rem }
.beside { display: grid; gap: 2rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)) }
aside { font-size: .9rem; overflow-wrap: anywhere }
aside h2, h2:has(+ p), h3 { font-size: 1.1rem; margin: .8rem 0 .3rem }
.sheet { break-after: page }
.exam { break-inside: avoid; margin-bottom: 6rem }
.good { color: #444; font-style: italic; margin: .3rem 0 1rem }
nav a { margin-right: 1.2rem }
kbd { border: 1px solid #bbb; border-radius: .2rem; font-size: .8rem; padding: 0 .3rem }
"""


def write_feedback(folder: Path, name: str) -> list[Path]:
    """Write a page for each student who handed in an assignment.

    Raises:
        ClassroomError: There is no such assignment, or the points given by hand hold an error.
    """
    goals = read_goals(name)
    hand, written = complete_hand(folder, name, goals), []
    for result in results(folder, name):
        student = str(result["student"])
        person = str(facts(folder, name, student).get("name") or student)
        file = folder / "feedback" / name / f"{student}.html"
        write_text(file, student_page(goals, result, hand, person))
        written.append(file)
    print(f"{len(written)} pages are in {folder / 'feedback' / name}")
    left = sum(given.points is None for given in hand.values())
    if left:
        changed = sum(given.before is not None for given in hand.values())
        since = f", {changed} of them changed since you read them" if changed else ""
        command = f"python -m classroom mark {name} --class {folder}"
        print(f"{left} answers are left to read{since}: {command}")
    return written


def page(title: str, body: list[str], forms: bool = False, script: str = "") -> str:
    """A whole page; what is in ``body`` is HTML already, and no script but this one runs."""
    allowed = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    allowed += f"form-action '{'self' if forms else 'none'}'"
    if script:
        hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed += f"; script-src 'sha256-{hashed}'"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{allowed}">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *body,
            *([f"<script>{script}</script>"] if script else []),
            "</body>",
            "</html>",
            "",
        ]
    )


def student_page(goals: Goals, result: dict[str, Any], hand: HandGrades, person: str) -> str:
    """The page of one student."""
    title = f"{goals.title}: {person}"
    points, status = total(result, goals, hand)
    if status == "not graded":
        reason = f"<p>{escape(str(result['reason']))}</p>"
        return page(title, ["<p><strong>Not graded.</strong> This is not a zero.</p>", reason])
    earned = sum(p for p in points.values() if p is not None)
    body = [f"<p><strong>{earned:g} of {goals.points:g} points</strong></p>"]
    if status == WAITING:
        body = [
            f"<p><strong>{earned:g} points so far</strong>, of {goals.points:g}. "
            "Some answers are not read yet.</p>"
        ]
    for question in goals.questions.values():
        row = result["questions"].get(question.name, {})
        given = hand.get((str(result["student"]), question.name))
        body += _question(question, row, points[question.name], given, goals.seconds)
    body += _cells(result.get("cells", []), goals)
    return page(title, body)


def _question(
    question: Question,
    row: dict[str, Any],
    points: float | None,
    given: HandGrade | None,
    seconds: float,
) -> list[str]:
    earned = "Not read yet" if points is None else f"{points:g} of {question.points:g} points"
    body = [f"<h2>{escape(question.heading)}</h2>", f"<p><strong>{earned}.</strong> "]
    body[-1] += f"{escape(question.goal)}</p>"
    if question.kind == "read":
        answer = html_of(row["answer"]) if row.get("answer") else "<p>None.</p>"
        body += ["<p>Your answer:</p>", f"<div class=answer>{answer}</div>"]
        body += _rubric(question, given)
    else:
        failed = [check for check in row.get("checks", []) if check["failure"]]
        body += ["<table>", "<tr><th>Check<th>Result<th>What happened</tr>"]
        for check in row.get("checks", []):
            said, share = sentence(check["failure"], seconds), check["share"]
            passed = "right" if share == 1 else f"{100 * share:.0f}\xa0%" if share else "no"
            body.append(f"<tr><td>{escape(check['name'])}<td>{passed}<td>{escape(said)}</tr>")
        body.append("</table>")
        # Checks that fail for the same cause share one hint.
        hints = dict.fromkeys(filter(None, (check["hint"] or question.hint for check in failed)))
        if hints:
            body += ["<p>Hints:</p>", "<ul>", *(f"<li>{escape(hint)}" for hint in hints), "</ul>"]
    if given is not None and given.comment:
        body.append(f"<p>Comment:</p><pre>{escape(given.comment)}</pre>")
    return body


def _rubric(question: Question, given: HandGrade | None) -> list[str]:
    """The rubric, with the points of each row where they were clicked."""
    clicked = given.rubric if given else ()
    rows = ["<table>", "<tr><th>Points<th>For</tr>"]
    for number, (most, text) in enumerate(question.rubric):
        points = f"{clicked[number]:g} of {most:g}" if clicked else f"{most:g}"
        rows.append(f"<tr><td class=points>{points}<td>{escape(text)}</tr>")
    return [*rows, "</table>"]


def sentence(failure: dict[str, Any] | None, seconds: float) -> str:
    """What happened in a check, or in a cell, without any value.

    Args:
        failure: As the result file has it.
        seconds: Of processor time that there are for a step.
    """
    if failure is None:
        return ""
    kind, what = failure["kind"], "Your code"
    if kind == "exception":
        if failure["type"] == "NotImplementedError":
            return f"Not written yet{_where(failure)}."
        return f"{what} raised {failure['type']}{_where(failure)}."
    if kind == "wrong":
        return f"{what} returned {failure['what']}, and this is not right."
    if kind == "part":
        return f"{what} returned {failure['what']}, and this is right in part."
    if kind == "missing":
        return f"There is no {failure['function']}: no cell defines it, or that cell failed."
    if kind == "guess":
        return (
            "This was right, but your function gave this same answer every time. "
            "It counts once the function gives different ones."
        )
    words = ENDED if kind == "ended" else NOT_PLAIN
    return f"{what} {words[failure['why']].format(seconds=seconds)}."


def _where(failure: dict[str, Any]) -> str:
    if "line" not in failure:
        return ""
    return f", in code cell {failure['cell']}, line {failure['line']}: {failure['code']}"


def _cells(cells: list[dict[str, Any]], goals: Goals) -> list[str]:
    """What failed when the notebook ran from top to bottom, before any check."""
    if not cells:
        return []
    body = ["<h2>Cells that failed</h2>", "<p>The other cells ran all the same.</p>", "<ul>"]
    for cell in cells[:MOST_CELLS]:
        question = goals.questions.get(cell["question"])
        of = f" ({escape(question.heading)})" if question else ""
        said = escape(sentence(cell, goals.seconds))
        message = f"<pre>{escape(cell['message'])}</pre>" if cell.get("message") else ""
        body.append(f"<li>Code cell {cell['number']}{of}. {said}{message}</li>")
    body.append("</ul>")
    if len(cells) > MOST_CELLS:
        body.append(f"<p>And {len(cells) - MOST_CELLS} more.</p>")
    return body
