"""Feedback: a page for each student, that loads and runs nothing.

Of a hidden check it tells what kind of thing happened and where in the student's own code, never
a value that went in or came out: such messages would show the hidden inputs.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from classroom.goals import Goals, Question, read_goals
from classroom.results import (
    WAITING,
    HandGrade,
    HandGrades,
    facts,
    hand_file,
    read_hand,
    results,
    total,
    write_hand_template,
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
"""


def write_feedback(folder: Path, name: str) -> list[Path]:
    """Write a page for each student who handed in an assignment, and one to read answers from.

    Raises:
        ClassroomError: There is no such assignment, or the points given by hand hold an error.
    """
    goals = read_goals(name)
    write_hand_template(folder, name, goals)
    hand, written = read_hand(folder, name, goals), []
    found = results(folder, name)
    for result in found:
        student = str(result["student"])
        person = str(facts(folder, name, student).get("name") or student)
        file = folder / "feedback" / name / f"{student}.html"
        write_text(file, student_page(goals, result, hand, person))
        written.append(file)
    print(f"{len(written)} pages are in {folder / 'feedback' / name}")
    read = [question.name for question in goals.questions.values() if question.kind == "read"]
    if read:
        file = hand_file(folder, name)
        write_text(file.with_suffix(".html"), answers_page(goals, found))
        print(f"{file.with_suffix('.html')}: all answers to read; their points go into {file}")
        graded = [str(result["student"]) for result in found if result["status"] == "graded"]
        for student in graded:  # who handed in after the table was written
            if missing := [q for q in read if (student, q) not in hand]:
                print(f"{file} has no row yet for {student}: {', '.join(missing)}")
    return written


def page(title: str, body: list[str]) -> str:
    """A whole page; what is in ``body`` is HTML already."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
            '<meta name="referrer" content="no-referrer">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            *body,
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
    body += _cells(result.get("cells", []), goals.seconds)
    return page(title, body)


def _question(
    question: Question,
    row: dict[str, Any],
    points: float | None,
    given: HandGrade | None,
    seconds: float,
) -> list[str]:
    earned = "not read yet" if points is None else f"{points:g} of {question.points:g}"
    body = [f"<h2>{escape(question.name)}: {earned}</h2>", f"<p>{escape(question.goal)}</p>"]
    if question.kind == "read":
        body += ["<p>Your answer:</p>", f"<pre>{escape(row.get('answer') or 'None.')}</pre>"]
        body += _rubric(question)
    else:
        body += ["<table>", "<tr><th>Check<th>Result<th>What happened</tr>"]
        for check in row.get("checks", []):
            said, hint = sentence(check["failure"], seconds), check["hint"] or question.hint
            said = f"{escape(said)} {escape(hint)}" if check["failure"] else ""
            share = check["share"]
            passed = "right" if share == 1 else f"{100 * share:.0f}\xa0%" if share else "no"
            body.append(f"<tr><td>{escape(check['name'])}<td>{passed}<td>{said}</tr>")
        body.append("</table>")
    if given is not None and given.comment:
        body.append(f"<p>Comment:</p><pre>{escape(given.comment)}</pre>")
    return body


def _rubric(question: Question) -> list[str]:
    rows = [f"<tr><td class=points>{p:g}<td>{escape(text)}</tr>" for p, text in question.rubric]
    return ["<table>", "<tr><th>Points<th>For</tr>", *rows, "</table>"]


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
        return f"{what} returned {failure['shape']}, and this is not right."
    if kind == "missing":
        return f"There is no {failure['function']}: no cell defines it, or that cell failed."
    if kind == "guess":
        return (
            "This was right, but the same answer for everything would be, too. "
            "It counts once another check of this question is right."
        )
    words = ENDED if kind == "ended" else NOT_PLAIN
    return f"{what} {words[failure['why']].format(seconds=seconds)}."


def _where(failure: dict[str, Any]) -> str:
    if "line" not in failure:
        return ""
    return f", in code cell {failure['cell']}, line {failure['line']}: {failure['code']}"


def _cells(cells: list[dict[str, Any]], seconds: float) -> list[str]:
    """What failed when the notebook ran from top to bottom, before any check."""
    if not cells:
        return []
    body = ["<h2>Cells that failed</h2>", "<p>The other cells ran all the same.</p>", "<ul>"]
    for cell in cells[:MOST_CELLS]:
        question = f" ({escape(cell['question'])})" if cell["question"] else ""
        said = escape(sentence(cell, seconds))
        message = f"<pre>{escape(cell['message'])}</pre>" if cell.get("message") else ""
        body.append(f"<li>Code cell {cell['number']}{question}. {said}{message}</li>")
    body.append("</ul>")
    if len(cells) > MOST_CELLS:
        body.append(f"<p>And {len(cells) - MOST_CELLS} more.</p>")
    return body


def answers_page(goals: Goals, found: list[dict[str, Any]]) -> str:
    """All answers that a teacher reads, question by question, without names."""
    body = []
    for question in goals.questions.values():
        if question.kind == "read":
            body += [f"<h2>{escape(question.name)}: {question.points:g} points</h2>"]
            body += [f"<p>{escape(question.goal)}</p>", *_rubric(question)]
            for result in found:
                if result["status"] == "graded":
                    answer = result["questions"].get(question.name, {}).get("answer")
                    body.append(f"<h3>{escape(str(result['student']))}</h3>")
                    body.append(f"<pre>{escape(answer or 'None.')}</pre>")
    return page(f"{goals.title}: answers to read", body)
