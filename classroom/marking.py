"""The page on which a teacher marks written answers: a click on the rubric lands in the table.

A small server on this computer shows one answer at a time, question by question and without names,
beside what is right on the student's sheet. What its form sends goes into ``hand/NAME.csv``. Of
what students wrote nothing runs, and nothing is loaded from elsewhere: the one script is ours and
turns keys into clicks. Nobody else on this computer knows the word in the address.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from classroom import ClassroomError
from classroom.goals import Goals, Question, read_goals
from classroom.grade import sheet_of
from classroom.known import asked, example, facts
from classroom.markdown import html_of
from classroom.page import page
from classroom.results import (
    HandGrade,
    HandGrades,
    complete_hand,
    hand_file,
    results,
    write_hand,
)
from classroom.secret import read_secret

STEP = 0.5  # of the points for a row of the rubric
MOST = 100_000  # bytes of a form
AHEAD = 3  # answers that are rendered while the teacher reads
UNREAD = "?unread"  # behind an address: only answers that are not read yet
SCRIPT = """
addEventListener("keydown", event => {
  if (event.key === "Enter" && event.ctrlKey) document.querySelector("form button")?.click();
  if (event.target.matches("textarea") || event.ctrlKey || event.altKey || event.metaKey) return;
  [...document.querySelectorAll("[data-key]")].find(a => a.dataset.key === event.key)?.click();
});
"""
Key = tuple[str, str]  # the student and the question


def mark(folder: Path, name: str) -> None:
    """Serve the page until the teacher presses Ctrl-C."""
    with Desk(folder, name) as desk:
        print(f"Mark in your browser: {desk.address}", flush=True)
        print(f"Each Save writes to {hand_file(folder, name)}. Ctrl-C ends.", flush=True)
        try:
            desk.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            print()


@dataclass(frozen=True)
class Answer:
    """One answer, as it stands when the teacher looks.

    Attributes:
        student: Its id.
        question: That it answers.
        result: Of the student.
        given: What the table has.
    """

    student: str
    question: Question
    result: dict[str, Any]
    given: HandGrade

    @property
    def text(self) -> str:
        """In Markdown, "" where there is none."""
        return str(self.result["questions"].get(self.question.name, {}).get("answer") or "")

    @property
    def own_words(self) -> list[str]:
        """What the student's functions say without any input, each once."""
        rows = self.result["questions"].values()
        checks = [check for row in rows for check in row.get("checks", [])]
        return list(dict.fromkeys(check["answer"] for check in checks if "answer" in check))

    @property
    def place(self) -> str:
        """Its address below that of the desk."""
        return f"{quote(self.question.name)}/{quote(self.student)}"

    @property
    def unread(self) -> bool:
        return self.given.points is None

    @property
    def state(self) -> str:
        """Whether it is read, in words."""
        if not self.unread:
            return f"{self.given.points:g} points"
        return "changed since it was read" if self.given.before else "not read yet"


class Desk(ThreadingHTTPServer):
    """The server.

    Args:
        folder: Of the class.
        name: Of the assignment.

    Raises:
        ClassroomError: The assignment has nothing to read, or nobody is graded yet.
    """

    daemon_threads = True  # a browser may hold a connection open

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.goals = folder, read_goals(name)
        if not self.goals.to_read:
            raise ClassroomError(f"{name} has no questions that a teacher reads")
        self.ahead = list(self.look()[0].values())[:AHEAD]
        if not self.ahead:
            raise ClassroomError(f"nobody is graded yet: run grade {name} first")
        self.secret, self.lock = read_secret(folder), threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        self.word = secrets.token_urlsafe(16)
        self.address = f"http://127.0.0.1:{self.server_port}/{self.word}/"

    def look(self) -> tuple[dict[Key, Answer], HandGrades]:
        """All answers, question by question, and the table."""
        found = results(self.folder, self.goals.name)
        graded = {str(r["student"]): r for r in found if r["status"] == "graded"}
        hand = complete_hand(self.folder, self.goals.name, self.goals)
        answers = {
            (student, question.name): Answer(
                student, question, result, hand[student, question.name]
            )
            for question in self.goals.to_read
            for student, result in graded.items()
        }
        return answers, hand

    def service_actions(self) -> None:
        """Between two requests, render an answer that the teacher has not come to yet."""
        if self.ahead:
            answer = self.ahead.pop(0)
            with self.lock:
                self.beside(answer)
                html_of(answer.text)

    def beside(self, answer: Answer) -> dict[str, Any]:
        """What the teacher knows: what the sheet asks and what is right, and a marked example."""
        name = self.goals.name
        sheet = sheet_of(self.folder / "collected" / name / answer.student)
        right = "\n".join(f"- {line}" for line in facts(name, self.secret, sheet))
        return {
            "sheet": sheet,
            "asked": asked(name, self.secret, sheet).values(),
            "right": html_of(right),
            "example": html_of(example(self.folder, name, answer.question.heading)),
        }

    def save(self, form: dict[str, str], only: bool) -> Answer | None:
        """Write what a form says to the table, and give the answer to read next, see `after`."""
        answers, hand = self.look()
        key = (form.get("student", ""), form.get("question", ""))
        if key not in answers:
            raise ClassroomError(f"no answer of {key[0]!r} to {key[1]!r}")
        answer = answers[key]
        if form.get("answer") != answer.given.answer:
            raise ClassroomError("the answer is a later one: go back, reload, and read it")
        rows, before = answer.question.rubric, answer.given
        chosen = [form.get(f"row-{number}") for number in range(len(rows))]
        if None in chosen and any(chosen):
            raise ClassroomError("each row of the rubric needs points: go back, and click them")
        points, rubric = before.points, before.rubric
        if None not in chosen:
            rubric = tuple(float(str(points)) for points in chosen)
            if not all(
                points in _steps(most) for points, (most, _) in zip(rubric, rows, strict=True)
            ):
                raise ClassroomError("points that the rubric does not have")
            points = sum(rubric)
        hand[key] = HandGrade(points, form.get("comment", "").strip(), rubric, before.answer)
        write_hand(self.folder, self.goals.name, hand)
        return after({**answers, key: replace(answer, given=hand[key])}, answer, only)


class Handler(BaseHTTPRequestHandler):
    server: Desk

    def do_GET(self) -> None:
        desk, path = self.server, self._path()
        with desk.lock:
            answers, _ = desk.look()
            question, _, student = (path or "").partition("/")
            shown = answers.get((student, question))
            if path == "":
                self._send(overview(desk.goals, answers), "text/html; charset=utf-8")
            elif shown:
                content = answer_page(desk, answers, shown, self._only())
                self._send(content, "text/html; charset=utf-8")
            elif path in {f"{known}.ipynb" for known, _ in answers}:
                folder = desk.folder / "collected" / desk.goals.name / path.removesuffix(".ipynb")
                self._send((folder / "submission.ipynb").read_bytes(), "application/x-ipynb+json")
            else:
                self.send_error(404)

    def do_POST(self) -> None:
        desk, size = self.server, self.headers.get("Content-Length", "")
        if self._path() != "" or not size.isdecimal() or int(size) > MOST:
            self.send_error(404)
            return
        sent = parse_qs(self.rfile.read(int(size)).decode(errors="replace"))
        try:
            with desk.lock:
                form = {key: values[-1] for key, values in sent.items()}
                following = desk.save(form, bool(self._only()))
        except (ClassroomError, ValueError) as error:
            self.send_error(400, explain=str(error))
            return
        place = following.place + self._only() if following else ""
        self.send_response(303)
        self.send_header("Location", f"/{desk.word}/{place}")
        self.end_headers()

    def _path(self) -> str | None:
        """The part of the address behind the word; None for who does not know it."""
        known, path = f"/{self.server.word}/", urlsplit(self.path).path
        return unquote(path.removeprefix(known)) if path.startswith(known) else None

    def _only(self) -> str:
        return UNREAD if urlsplit(self.path).query == UNREAD[1:] else ""

    def _send(self, content: str | bytes, kind: str) -> None:
        content = content.encode() if isinstance(content, str) else content
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Print nothing: the terminal shows where to mark."""


def after(answers: dict[Key, Answer], answer: Answer, only: bool) -> Answer | None:
    """The answer to read next, from the beginning again after the last one.

    Args:
        answers: All.
        answer: That was read.
        only: Whether to leave out those that are read.
    """
    order = list(answers.values())
    here = [found.place for found in order].index(answer.place)
    following = [*order[here + 1 :], *order[:here]]
    return next((found for found in following if found.unread or not only), None)


def overview(goals: Goals, answers: dict[Key, Answer]) -> str:
    """The list of all answers, with where to begin."""
    order = list(answers.values())
    return page(
        "overview",
        f"{goals.title}: answers to read",
        script=SCRIPT,
        goals=goals,
        answers=order,
        left=[answer for answer in order if answer.unread],
        unread=UNREAD,
    )


def answer_page(desk: Desk, answers: dict[Key, Answer], answer: Answer, only: str) -> str:
    """One answer with its form, beside what is right.

    Args:
        desk: That serves it.
        answers: All.
        answer: To show.
        only: `UNREAD` where what comes next is what is not read yet.
    """
    order = list(answers.values())
    here = order.index(answer)
    following = after(answers, answer, bool(only)) or answer
    desk.ahead = [following, *order[here + 1 : here + AHEAD]]
    # One step back is to any answer, because a slip of the mouse is seen after it is saved.
    links = {
        "p": (order[here - 1].place + only, "previous"),
        "n": (following.place + only, "next unread" if only else "next"),
        "u": (answer.place + ("" if only else UNREAD), "all" if only else "only unread"),
        "l": ("", "list"),
    }
    return page(
        "answer",
        f"{desk.goals.title}: answers to read",
        forms=True,
        script=SCRIPT,
        word=desk.word,
        answer=answer,
        beside=desk.beside(answer),
        links=links,
        number=here + 1,
        total=len(order),
        left=sum(found.unread for found in order),
        only=only,
        steps=_steps,
    )


def _steps(most: float) -> list[float]:
    """The points that a row of a rubric may be given."""
    return [STEP * step for step in range(int(most / STEP) + 1)]
