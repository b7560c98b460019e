"""The pages that are no notebooks: their code is run here, since no notebook runs it."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tools.sources.book import Book
from tools.sources.reading_time import exercise_times, reading_time
from tools.sources.readme import END, START, table_of, update

PAGES = sorted(Path("book").rglob("*.md"))
# What these need is made in tests of their own, or in test_recipes where it is installed.
ELSEWHERE = {Path(f"book/{page}.md") for page in ("which-command", "deploy", "api/metrics")}
CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE], ids=str)
def test_python_code_of_a_page_runs(page):
    namespace = {}
    for code in CODE.findall(page.read_text("utf-8")):
        if code.startswith(">>> "):
            continue  # which test_examples runs, with what it prints
        exec(compile(code, str(page), "exec"), namespace)


def test_the_picture_of_the_readme_is_what_its_script_makes_and_its_text_says(tmp_path):
    """It is committed, since GitHub shows it without a build."""
    made = tmp_path / "readme.svg"
    script = "book.readme"
    subprocess.run([sys.executable, "-m", script, made], check=True)
    assert made.read_text("utf-8") == Path("book/assets/readme.svg").read_text("utf-8"), (
        f"python -m {script} book/assets/readme.svg makes it anew"
    )
    said = re.search(
        r"!\[(.*?)\]\(book/assets/readme.svg\)", Path("README.md").read_text(), re.DOTALL
    )
    svg = made.read_text("utf-8")
    frames = re.findall(r'(?s)<g id="f\d+">.*?</svg></g>', svg)
    # Its style hides the frames, and no group inside one, such as a panel.
    hidden = re.findall(r"(?m)^(.+) \{ visibility: hidden \}", svg)
    groups = [g for one in hidden for g in BeautifulSoup(svg, "html.parser").select(one)]
    assert [g["id"] for g in groups] == [f"f{k}" for k in range(len(frames))]
    words = [re.findall(r">([^<>]+)</text>", frames[k]) for k in (0, -1)]
    first, last = (dict(pairwise(one)) for one in words)
    assert first["accuracy"] == last["accuracy"]
    (T,) = (word for word in words[1] if word.startswith("T = "))
    for number in (first["ECE"], last["ECE"], last["baseline ECE"], T.removeprefix("T = ")):
        assert number.replace("\N{NO-BREAK SPACE}", " ") in said[1]


def test_the_table_of_the_readme_follows_the_chapters(tmp_path):
    book, readme = Book(), tmp_path / "README.md"
    readme.write_text(f"# A\n\n{START}\n| 1 | stale |\n{END}\n\n## B\n", "utf-8")
    assert update(book, readme)
    assert readme.read_text("utf-8") == f"# A\n\n{table_of(book)}\n\n## B\n"
    assert not update(book, readme)
    rows = [line for line in table_of(book).splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[1] for row in rows] == [
        book.question(page) for page, number in book.pages.items() if number
    ]


def test_reading_takes_as_long_as_its_words_and_its_code_that_is_shown():
    code = "```{{code-cell}} python\n{}\n" + "x = 1\n" * 30 + "```\n"
    words = "word " * 750
    assert reading_time(words) == 5
    assert reading_time(words + "\n\n" + code.format("")) == 10
    assert reading_time(words + "\n\n" + code.format(":tags: [hide-input]")) == 5


def test_exercises_take_as_long_as_their_titles_say():
    exercise = ":::{{exercise}} {}\n:label: ex-one\n\n" + "why " * 500 + "\n:::\n"
    titles = "● Two bins · 10 min", "●●● A proof · 45 min", "Without a time"
    page = "word " * 700 + "\n\n" + "\n".join(map(exercise.format, titles))
    assert exercise_times(page) == [10, 45]
    assert reading_time(page) == 5
