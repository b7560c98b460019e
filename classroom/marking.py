"""The page on which a teacher marks written answers: a click on the rubric lands in the table.

A small server on this computer shows all answers to read, question by question and without names.
Each answer has a form, and what it sends goes into ``hand/NAME.csv``. The page runs no script and
loads nothing from elsewhere. Nobody else on this computer knows the word in its address.
"""

from __future__ import annotations

import secrets
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from classroom import ClassroomError
from classroom.feedback import page
from classroom.goals import Goals, Question, read_goals
from classroom.markdown import html_of
from classroom.results import HandGrade, HandGrades, complete_hand, hand_file, results, write_hand

STEP = 0.5  # of the points for a row of the rubric
MOST = 100_000  # bytes of a form


def mark(folder: Path, name: str) -> None:
    """Serve the page until the teacher presses Ctrl-C."""
    with Desk(folder, name) as desk:
        print(f"Mark in your browser: {desk.address}", flush=True)
        print(f"Each Save writes to {hand_file(folder, name)}. Ctrl-C ends.", flush=True)
        try:
            desk.serve_forever()
        except KeyboardInterrupt:
            print()


class Desk(HTTPServer):
    """The server.

    Args:
        folder: Of the class.
        name: Of the assignment.

    Raises:
        ClassroomError: The assignment has nothing to read, or nobody is graded yet.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.goals = folder, read_goals(name)
        if not self.goals.to_read:
            raise ClassroomError(f"{name} has no questions that a teacher reads")
        if not self.graded():
            raise ClassroomError(f"nobody is graded yet: run grade {name} first")
        complete_hand(folder, name, self.goals)
        super().__init__(("127.0.0.1", 0), Handler)
        self.word = secrets.token_urlsafe(16)
        self.address = f"http://127.0.0.1:{self.server_port}/{self.word}/"

    def graded(self) -> dict[str, dict[str, Any]]:
        """The result of each student whose answers can be read."""
        found = results(self.folder, self.goals.name)
        return {str(r["student"]): r for r in found if r["status"] == "graded"}

    def save(self, form: dict[str, str]) -> str:
        """Write what a form says to the table; give the name of the next answer's place."""
        keys = _keys(self.goals, self.graded())
        key = (form.get("student", ""), form.get("question", ""))
        if key not in keys:
            raise ClassroomError(f"no answer of {key[0]!r} to {key[1]!r}")
        hand = complete_hand(self.folder, self.goals.name, self.goals)
        rows = self.goals.questions[key[1]].rubric
        chosen = [form.get(f"row-{number}") for number in range(len(rows))]
        if None in chosen and any(chosen):
            raise ClassroomError("each row of the rubric needs points: go back, and click them")
        before = hand[key]
        points, rubric = before.points, before.rubric
        if None not in chosen:
            rubric = tuple(float(str(points)) for points in chosen)
            if not all(
                points in _steps(most) for points, (most, _) in zip(rubric, rows, strict=True)
            ):
                raise ClassroomError("points that the rubric does not have")
            points = sum(rubric)
        hand[key] = HandGrade(points, form.get("comment", "").strip(), rubric)
        write_hand(self.folder, self.goals.name, hand)
        return _place(keys[(keys.index(key) + 1) % len(keys)])


class Handler(BaseHTTPRequestHandler):
    server: Desk

    def do_GET(self) -> None:
        desk, path = self.server, self._path()
        if path == "":
            goals = desk.goals
            hand = complete_hand(desk.folder, goals.name, goals)
            self._send(
                marking_page(goals, desk.graded(), hand).encode(), "text/html; charset=utf-8"
            )
        elif path in {f"{student}.ipynb" for student in desk.graded()}:
            folder = desk.folder / "collected" / desk.goals.name / path.removesuffix(".ipynb")
            self._send((folder / "submission.ipynb").read_bytes(), "application/x-ipynb+json")
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        size = self.headers.get("Content-Length", "")
        if self._path() != "" or not size.isdecimal() or int(size) > MOST:
            self.send_error(404)
            return
        sent = parse_qs(self.rfile.read(int(size)).decode(errors="replace"))
        try:
            place = self.server.save({key: values[-1] for key, values in sent.items()})
        except (ClassroomError, ValueError) as error:
            self.send_error(400, explain=str(error))
            return
        self.send_response(303)
        self.send_header("Location", f"/{self.server.word}/#{quote(place)}")
        self.end_headers()

    def _path(self) -> str | None:
        """The part of the address behind the word; None for who does not know it."""
        known = f"/{self.server.word}/"
        return unquote(self.path.removeprefix(known)) if self.path.startswith(known) else None

    def _send(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal shows where to mark."""


def marking_page(goals: Goals, graded: dict[str, dict[str, Any]], hand: HandGrades) -> str:
    """All answers to read, each with its rubric to click."""
    keys = _keys(goals, graded)
    left = sum(hand[key].points is None for key in keys)
    body = [f"<p>{len(keys)} answers, {left} of them without points.</p>"]
    for question in goals.to_read:
        body += [f"<h2>{escape(question.heading)}</h2>"]
        body += [f"<p><strong>{question.points:g} points.</strong> {escape(question.goal)}</p>"]
        for student, result in graded.items():
            answer = str(result["questions"].get(question.name, {}).get("answer") or "")
            body += _answer(question, student, answer, hand[student, question.name])
    return page(f"{goals.title}: answers to read", body, forms=True)


def _answer(question: Question, student: str, answer: str, given: HandGrade) -> list[str]:
    """One answer with its form."""
    earned = "not read yet" if given.points is None else f"{given.points:g} points"
    body = [
        f'<section id="{escape(_place((student, question.name)))}">',
        f"<h3>{escape(student)}: {earned}</h3>",
        f"<div class=answer>{html_of(answer) if answer else '<p>None.</p>'}</div>",
        f'<p><a href="{quote(student)}.ipynb">The notebook</a></p>',
        "<form method=post>",
        f'<input type=hidden name=student value="{escape(student)}">',
        f'<input type=hidden name=question value="{escape(question.name)}">',
    ]
    for number, (most, text) in enumerate(question.rubric):
        body.append(f"<fieldset><legend>{escape(text)}</legend>")
        for points in _steps(most):
            chosen = " checked" if given.rubric and given.rubric[number] == points else ""
            body.append(
                f"<label><input type=radio name=row-{number} value={points:g}{chosen}>"
                f"{points:g}</label>"
            )
        body.append("</fieldset>")
    comment = escape(given.comment)
    return [
        *body,
        f"<label>Comment<textarea name=comment rows=2>{comment}</textarea></label>",
        "<button>Save, and go to the next</button>",
        "</form>",
        "</section>",
    ]


def _keys(goals: Goals, graded: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """The student and the question of each answer, in the order of the page."""
    return [(student, question.name) for question in goals.to_read for student in graded]


def _place(key: tuple[str, str]) -> str:
    return f"{key[1]}-{key[0]}"


def _steps(most: float) -> list[float]:
    """The points that a row of a rubric may be given."""
    return [STEP * step for step in range(int(most / STEP) + 1)]
