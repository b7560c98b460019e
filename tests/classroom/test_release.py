"""Releasing: nothing hidden gets out, and students get what they need."""

from __future__ import annotations

import ast
import csv
import html
import re
from functools import cache, partial
from pathlib import Path

import nbformat
import numpy as np
import pytest

from classroom import ClassroomError
from classroom.goals import read_goals
from classroom.known import example
from classroom.notebooks import (
    fingerprint,
    notebook,
    source_of,
)
from classroom.release import LONG, all_text, data_of, hidden_lines, leaked, release
from classroom.solution import solution
from classroom.variants import PUBLISHED, SHEETS, variant_of
from tools.sources.book import Book

REPOSITORY = Path(__file__).parents[2]
NAMES = ["measuring", "diagnosing", "recalibrating", "lab"]
SECRET = b"for the tests"
# What readers get: the book, as it is written and as it is built, and the package.
FOR_READERS = [
    *REPOSITORY.glob("book/**/*.md"),
    *REPOSITORY.glob("notebooks/**/*.md"),
    *REPOSITORY.glob("notebooks/**/*.ipynb"),
    *REPOSITORY.glob("build/html/**/*.html"),
    *REPOSITORY.glob("calib_utils/**/*.py"),
]


def released(room: Path, name: str, sheet: str) -> nbformat.NotebookNode:
    """The notebook of a sheet, as the students get it."""
    file = room / f"released/{name}/sheet-{sheet}/{name}-{sheet}.ipynb"
    return nbformat.read(str(file), as_version=4)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class that all assignments were released to."""
    folder = tmp_path_factory.mktemp("release") / "class"
    for name in NAMES:
        release(name, folder, key="for the tests")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_release_gives_out_no_hidden_line(room: Path, name: str) -> None:
    """Line by line: of solutions, checks, hints, rubrics and samples, in any file."""
    hidden = hidden_lines(name)
    assert len(hidden) > 80
    for sheet in SHEETS:
        assert leaked(hidden, all_text(released(room, name, sheet))) == []
    for path in (room / "released" / name).rglob("*.*"):
        content = path.read_bytes()
        assert not [line for line in hidden if len(line) >= LONG and line.encode() in content]
        assert b"for the tests" not in content  # the secret
    # The proof can fail: the notebook with the solutions holds every line of them.
    reference = all_text(notebook(name, SECRET, PUBLISHED, solved=True))
    assert len(leaked(hidden, reference)) > 15


@cache
def text_of(path: Path) -> str:
    """What a file says; of a page and of a notebook, with its code as plain lines."""
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        return html.unescape(re.sub(r"<[^>]*>", "", text))
    return all_text(nbformat.reads(text, as_version=4)) if path.suffix == ".ipynb" else text


@pytest.mark.parametrize("name", NAMES)
def test_no_hidden_line_is_published(name: str) -> None:
    """A line that says something (20 signs or more) is in no page and in no file of the package.

    Where one is by chance: give a name in the checks another word. Solutions share their idioms
    with the chapters that teach them.
    """
    pieces = [piece for ways in solution(name).values() for piece in ways.values()]
    solved = {line.strip() for piece in pieces for line in piece.splitlines()}
    hidden = {line for line in hidden_lines(name) - solved if len(line) >= LONG}
    assert len(FOR_READERS) > 30
    found = {path: leaked(hidden, text_of(path)) for path in FOR_READERS}
    assert {path.name: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_is_named_as_the_book_names_it(name: str) -> None:
    book = Book(REPOSITORY)
    titles = {book.title(page) for page in book.chapters}
    (needs,) = re.findall(r"\*\*You need\*\* the chapters (.+?), and about", source_of(name), re.S)
    named = re.findall(r"\*(.+?)\*", needs.replace("\n", " "))
    assert len(named) >= 2
    assert titles.issuperset(named)


def test_release_stops_at_a_solution_that_would_leak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from classroom import release as releasing

    monkeypatch.setattr(releasing, "notebook", partial(notebook, solved=True))
    with pytest.raises(ClassroomError, match="students would get this hidden line: "):
        release("measuring", tmp_path, key="for the tests")
    assert not (tmp_path / "released").exists()


@pytest.mark.parametrize("name", NAMES)
def test_release_gives_out_a_whole_notebook(room: Path, name: str) -> None:
    goals = read_goals(name)
    found = released(room, name, "3")
    nbformat.validate(found)
    assert found.metadata["assignment"] == name
    assert found.metadata["release"] == fingerprint(SECRET, name, "3")
    assert not any(cell.get("outputs") for cell in found.cells)
    answers = {c.metadata["question"]: c for c in found.cells if "question" in c.metadata}
    assert list(answers) == list(goals.questions)
    for question, cell in answers.items():
        read = goals.questions[question].kind == "read"
        assert cell.cell_type == ("markdown" if read else "code")
        mark = cell.metadata["nbgrader"]
        assert mark["schema_version"] == 3
        assert mark["grade_id"] == f"{name}-{question}"
        assert (mark["solution"], mark["grade"], mark["locked"]) == (True, read, False)
        assert mark.get("points") == (goals.questions[question].points if read else None)
        if not read:
            ast.parse(cell.source)
            assert "raise NotImplementedError" in cell.source or "return {" in cell.source
    text = all_text(found)
    assert "{{" not in text
    assert f"There are {goals.points:g} points" in " ".join(text.split())
    for question in goals.questions.values():
        assert f"## {question.heading} ({question.points:g} points)" in text


def test_pictures_are_marked_and_nothing_else_draws(room: Path) -> None:
    for name in NAMES:
        for cell in released(room, name, "0").cells:
            if cell.cell_type == "code":
                assert ("plt." in cell.source) == ("picture" in cell.metadata.get("tags", []))


def test_code_fits_the_page(room: Path) -> None:
    """That of the sheets and of their solutions, with the values of this class."""
    files = list(room.rglob("*.ipynb"))
    assert len(files) == 2 * len(NAMES) * len(SHEETS)
    for file in files:
        for cell in nbformat.read(str(file), as_version=4).cells:
            if cell.cell_type == "code":
                assert max(map(len, cell.source.splitlines())) <= 70, cell.source


def test_release_is_the_same_for_the_same_secret(room: Path) -> None:
    for name in NAMES:
        place = room / f"released/{name}/sheet-0"
        text = (place / f"{name}-0.ipynb").read_text("utf-8")
        assert text == nbformat.writes(notebook(name, SECRET, "0")) + "\n"
        for file, arrays in data_of(name, SECRET, "0").items():
            with np.load(place / file) as found:
                for key, array in arrays.items():
                    np.testing.assert_array_equal(found[key], array)


def test_release_is_another_for_another_secret(room: Path, tmp_path: Path) -> None:
    """What its checks are made of differs too, for each assignment: see `test_assignments`."""
    files = list(release("measuring", tmp_path).rglob("*.*"))
    assert len(files) == 2 * len(SHEETS)
    for path in files:
        assert path.read_bytes() != (room / path.relative_to(tmp_path)).read_bytes()
    assert len({path.read_bytes() for path in files}) == len(files)


def test_release_tells_the_teacher_what_each_sheet_asks(room: Path) -> None:
    for name in NAMES:
        with (room / f"teacher/{name}/variants.csv").open(encoding="utf-8-sig") as file:
            rows = {row.pop("sheet"): row for row in csv.DictReader(file)}
        assert list(rows) == list(SHEETS)
        for sheet, row in rows.items():
            asked = variant_of(name, SECRET, sheet)
            assert row == {key: str(value) for key, value in asked.items()}


def test_labels_of_the_new_images_stay(room: Path) -> None:
    with np.load(room / "released/recalibrating/sheet-0/cameras-0.npz") as data:
        assert set(data.files) == {
            *("fit_logits", "fit_labels", "fit_groups", "new_logits", "new_groups", "facts")
        }
        assert str(data["facts"]) == '{"assignment": "recalibrating"}'


@pytest.mark.parametrize("name", NAMES)
def test_release_has_marked_samples_for_each_rubric(room: Path, name: str) -> None:
    """Each answer has a mark for each row of its rubric, and their sum."""
    text = (room / f"teacher/{name}/sample.md").read_text("utf-8")
    assert "{{" not in text
    assert "for the tests" not in text  # the secret
    asked = read_goals(name).to_read
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [q.heading for q in asked]

    def points(said: str) -> float:
        return float(re.sub(r"(\d?)½", lambda found: f"{found[1] or 0}.5", said))

    for question in asked:
        found = example(room, name, question.heading)
        marks = re.findall(r"(?:^\*|(?<=\. ))([\d½]+) of (\d+)\b", found, re.MULTILINE)
        [total] = re.findall(r"^\*\*([\d½]+) of (\d+)\.\*\*$", found, re.MULTILINE)
        assert [int(most) for _, most in marks] == [most for most, _ in question.rubric]
        assert sum(points(earned) for earned, _ in marks) == points(total[0])
        assert int(total[1]) == question.points
    assert example(room, name, "Question 1: none") == ""
