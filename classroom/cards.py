"""Cards for a conversation of five minutes: five questions about a student's own sheet and work.

They are drawn from the class's secret, so two students with the same sheet rarely get the same
five. Under each question stands what a good answer contains: the cards are for the teacher.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calib_utils._files import write_text
from classroom import ClassroomError
from classroom.goals import read_goals
from classroom.grade import sheet_of
from classroom.known import asked, for_teacher, known
from classroom.notebooks import rendered
from classroom.page import page
from classroom.results import facts, results
from classroom.secret import generator, read_secret
from classroom.submission import Submission, read_submission
from classroom.variants import choices, variant_of

N_QUESTIONS = 5
N_OF_CODE = 2  # of them about a function that the student wrote
LINES = 40  # of a function that is printed
LENGTHS = (40, 300)  # characters of a sentence that is asked about
SENTENCE = re.compile(r"[^\s.!?](?:[^.!?]|[.!?](?=\S))*[.!?]")


@dataclass(frozen=True)
class Card:
    """One question.

    Attributes:
        question: To ask.
        good: What a good answer contains.
        shown: Of the student's own work, to look at together.
    """

    question: str
    good: str
    shown: str = ""


def write_cards(folder: Path, name: str) -> Path:
    """Write ``oral/NAME.html``, a page to print for each student whose work is graded.

    Raises:
        ClassroomError: Nobody is graded yet.
    """
    secret, students = read_secret(folder), []
    for result in results(folder, name):
        if result["status"] != "graded":
            continue
        student = str(result["student"])
        place = folder / "collected" / name / student
        sheet, person = sheet_of(place), str(facts(folder, name, student).get("name") or student)
        submission = read_submission(place / "submission.ipynb")
        students.append((person, sheet, cards(name, secret, sheet, result, submission)))
    if not students:
        raise ClassroomError(f"nobody is graded yet: run grade {name} first")
    file, title = folder / "oral" / f"{name}.html", read_goals(name).title
    write_text(file, page("cards", f"{title}: five minutes with each student", students=students))
    return file


def cards(
    name: str, secret: bytes, sheet: str, result: dict[str, Any], submission: Submission
) -> list[Card]:
    """Draw the questions of one student.

    Args:
        name: Of the assignment.
        secret: Of the class.
        sheet: That the student handed in.
        result: Of grading.
        submission: The notebook.

    Returns:
        `N_QUESTIONS` cards: about what another sheet asks, about a number in the student's own
        words if there is one, about functions of their own, and about the sheet.
    """
    rng, values = (
        generator(secret, "oral", name, str(result["student"])),
        known(name, secret, sheet),
    )
    of_code: list[Card] = []
    others: list[Card] = []
    for row in rng.permutation(np.array(for_teacher(name)["cards"], dtype=object)):
        code = source_of(submission, row["function"]) if "function" in row else ""
        question, good = (rendered(row[key], values) for key in ("question", "good"))
        if code or "function" not in row:
            (of_code if code else others).append(Card(question, good, code))
    apart = {card.shown: card for card in of_code}  # about as many functions as there are
    chosen = list(apart.values())[:N_OF_CODE]
    first = [_other_way(name, secret, sheet, rng), *_own_number(result, rng), *chosen]
    return [*first, *others, *(card for card in of_code if card not in chosen)][:N_QUESTIONS]


def _other_way(name: str, secret: bytes, sheet: str, rng: np.random.Generator) -> Card:
    """What would change if the sheet asked one thing in the way of a different sheet."""
    variant = variant_of(name, secret, sheet)
    of_code = {c for question in read_goals(name).questions.values() for c in question.asks}
    choice = str(rng.choice(sorted(of_code or choices(name))))
    ways = choices(name)[choice]
    other = str(rng.choice([way for way in ways if way != variant[choice]]))
    return Card(
        "Your sheet asks one thing, and a different sheet asks another. Which of your lines would "
        "change, and what would stand there?",
        "Finds the lines without help, says what replaces them, and knows which results would stay "
        "the same.",
        f"Yours: {asked(name, secret, sheet)[choice]}\nOther: {ways[other].format_map(variant)}",
    )


def _own_number(result: dict[str, Any], rng: np.random.Generator) -> list[Card]:
    """A sentence with a number from the student's own answers, if there is one."""
    texts = [str(row.get("answer") or "") for row in result["questions"].values()]
    found = [
        " ".join(sentence.split())
        for text in texts
        for sentence in SENTENCE.findall(re.sub(r"!\[[^]]*\]\([^)]*\)", "", text))
        if re.search(r"\d", sentence) and LENGTHS[0] <= len(sentence) <= LENGTHS[1]
    ]
    if not found:
        return []
    return [
        Card(
            "You wrote this. How did you compute the number, and by how much could it differ by "
            "chance?",
            "Says from which images and by which call or formula it comes, gives its noise (from "
            "n, a different seed, or the baseline), and does not claim more than that.",
            str(rng.choice(found)),
        )
    ]


def source_of(submission: Submission, function: str) -> str:
    """The student's own lines of a function, "" if it is still empty.

    The text is searched, not parsed, because a parser can be crashed.
    """
    found: list[str] = []
    for cell in submission.code:
        lines = cell.source.split("\n")
        for number, line in enumerate(lines):
            if re.match(rf"def\s+{re.escape(function)}\s*\(", line):
                found = [line]
                for following in lines[number + 1 :]:
                    if following.strip() and not following.startswith((" ", "\t", ")")):
                        break
                    found.append(following)
    text = "\n".join(found[:LINES]).rstrip()
    return "" if "raise NotImplementedError" in text else text
