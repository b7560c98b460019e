"""The teacher's guide: its class of three is real, and its tables say what the course has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from book.tables.classmates import ROWS, STORED, rows
from book.tables.goals import section
from book.tables.syllabus import syllabus
from classroom.__main__ import main
from classroom.goals import assignment_names, read_goals
from classroom.results import complete_hand, write_hand
from classroom.secret import make_secret
from tests.book.page_code import blocks_of
from tests.classroom.tiny_class import need_sandbox
from tools.sources.book import Book

REPOSITORY = Path(__file__).parents[2]
GUIDE = (REPOSITORY / "book/teach.md").read_text("utf-8")
COMMAND = re.compile(r"^\$ classroom (?P<words>.+)\n(?P<said>(?:[^$].*\n)*)", re.M)
SECONDS = re.compile(r"\d+\.\d+ s\b")


def commands() -> list[tuple[str, str]]:
    """Every command of the guide, and what it says there."""
    blocks = "".join(blocks_of("console", GUIDE))
    return [(found["words"], found["said"]) for found in COMMAND.finditer(blocks)]


def test_the_class_of_three(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need_sandbox()
    monkeypatch.chdir(tmp_path)
    steps = commands()
    assert [words.split()[0] for words, _ in steps] == [
        *("release", "rehearse", "collect", "grade", "return", "regrade")
    ]
    make_secret(Path("autumn"), "the same in each run")
    for words, expected in steps:
        if words.startswith("return"):  # as the teacher clicked on the page, see `test_marking`
            goals = read_goals("measuring")
            marked = complete_hand(Path("autumn"), "measuring", goals)
            points = {"moodle-101": 2.0, "moodle-102": 0.0}
            assert {student for student, _ in marked} == points.keys()
            given = {key: replace(found, points=points[key[0]]) for key, found in marked.items()}
            write_hand(Path("autumn"), "measuring", given)
        assert main(words.split()) == 0, words
        captured = capsys.readouterr()
        said = captured.out + captured.err
        assert SECONDS.sub("s", said) == SECONDS.sub("s", expected)


def test_the_guide_says_how_long_a_submission_may_take() -> None:
    short, lab = (60 + 4 * read_goals(name).seconds for name in ("measuring", "lab"))
    assert f"which is {short:g} seconds, or {lab / 60:g} minutes for the lab" in GUIDE


def test_syllabus_has_all_chapters_and_assignments() -> None:
    book = Book(REPOSITORY)
    weeks = syllabus(book)
    for page, number in book.pages.items():
        assert (f"| {number} | {{doc}}`/{page}` |" in weeks) == (number is not None)
        if number:
            row = next(line for line in weeks.splitlines() if f"`/{page}`" in line)
            assert f"| {book.source(page).count('{exercise}')}, " in row
    for name in assignment_names():
        assert weeks.count(f"(`{name}`, {read_goals(name).minutes} minutes)") == 1


@pytest.mark.parametrize("name", assignment_names())
def test_section_of_an_assignment_has_all_goals_and_no_hint(name: str) -> None:
    text = section(read_goals(name))
    for question in read_goals(name).questions.values():
        assert f"| {question.name} | {question.goal} | {question.points:g} |" in text
        assert not question.hint or question.hint not in text


def test_rows_of_copied_answers_are_those_of_the_guide() -> None:
    assert "```{include} tables/classmates.md" in GUIDE
    table = rows(json.loads(STORED.read_text("utf-8")), assignment_names())
    assert [row[0] for row in table] == list(ROWS.values())
    assert all(row[1] and row[2] and row[3] for row in table[:4])
    assert table[4] == [ROWS["nearest"], "", "", "", "100 %"]
