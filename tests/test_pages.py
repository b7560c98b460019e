"""The pages that are no notebooks: their code is run here, since no notebook runs it."""

import importlib.util
import re
from pathlib import Path

import pytest

from tools.book import Book

PAGES = [Path("README.md"), *sorted(Path("book").rglob("*.md"))]
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=str)
def test_python_code_of_a_page_runs(page):
    namespace = {}
    for code in CODE.findall(page.read_text("utf-8")):
        exec(compile(code, str(page), "exec"), namespace)


def test_the_two_tables_of_the_course_agree_on_how_long_a_chapter_takes():
    """One is typed on the front page, the other counted for teachers, in steps of five minutes."""
    spec = importlib.util.spec_from_file_location("syllabus", "book/tables/syllabus.py")
    syllabus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(syllabus)
    book = Book()
    row = re.compile(r"^\| \{doc\}`/(\S+)` \|.*?\| (\d+)\N{NO-BREAK SPACE}min", re.MULTILINE)
    told = {page: int(minutes) for page, minutes in row.findall(Path("book/intro.md").read_text())}
    counted = {page: syllabus.read(book.source(page))[0] for page in told}
    assert told.keys() == {page for page in book.chapters if "/solutions/" not in page}
    assert max(abs(told[page] - counted[page]) for page in told) <= 5
