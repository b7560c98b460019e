"""The pipeline on a tiny book: what it runs, what it skips, and what it does when a step fails.

The tests follow one book through its life, so they run in order and share its folder.
"""

from __future__ import annotations

import copy
import html
import re
import runpy
import shutil
from pathlib import Path

import nbformat
import pytest

from tests.tiny_book import TinyBook
from tools.running.notebooks import make
from tools.sources.book import Book

CHAPTERS = ["01-one", "02-two", "solutions/01-one"]
RUN = {f"papermill:notebooks/{name}" for name in CHAPTERS}
CHECK = {f"nbval:notebooks/{name}" for name in CHAPTERS}
RUN_TWO, CHECK_TWO = "papermill:notebooks/02-two", "nbval:notebooks/02-two"
TABLES, GOALS = "parts:tables/results", "parts:tables/goals"
# A line of chapter 2.
SHARE = 'print(f"{2 / 3:.3f}")'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """What `make notebooks` would run a second time, and store, is what the build has run."""
    book = TinyBook(tmp_path_factory.mktemp("tiny"))
    assert book.steps("papermill") == {"notebooks", *RUN}

    def ran(source: Path, *_: object) -> nbformat.NotebookNode:
        return nbformat.read(Path("build/executed/cpu", *source.parts[1:]), as_version=4)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(book.root)
        patch.setattr("tools.running.execute.run", ran)
        for name in CHAPTERS:
            make(Book(), f"notebooks/{name}", execute=True)
    assert book.steps() == {*CHECK, TABLES, GOALS, "drawn", "site"}
    return book


def test_the_site_shows_executed_chapters(built: TinyBook) -> None:
    assert built.read("build/site/book/tables/results.md") == "[1]"
    page = built.read("build/html/notebooks/01-one.html")
    assert "1. The first" in page
    assert 'class="katex"' in page
    assert "injected-parameters" not in page
    second = built.read("build/html/notebooks/02-two.html")
    assert "0.667" in second
    assert 'alt="A line that rises from 0 to 1."' in second
    # The same numbers as in the notebook for Colab, which counts by itself.
    assert "Figure 2.1" in second
    caption = "**Figure 2.1.** A line, as [(1.1)](01-one.ipynb)."
    assert caption in built.read("notebooks/made/02-two.ipynb")


def test_a_table_that_a_cell_makes_has_a_number_and_a_caption(built: TinyBook) -> None:
    page = built.read("build/html/notebooks/02-two.html")
    table = re.search(r'<table [^>]*id="tab-half".*?</table>', page, re.DOTALL)
    assert table
    assert "Table 2.1 One half of a number." in re.sub(r"<[^>]+>", "", table[0])
    assert 'href="#tab-half"' in page
    assert "**Table 2.1.** One half of a number." in built.read("notebooks/made/02-two.ipynb")


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ("02-two", "Figure 2.1 rises. Table 2.1 is short. See The first, which is Chapter 1."),
        # The formula inside a proposition has a number, too.
        ("02-two", "By Proposition 2.1 and (2.1)."),
        # A page without number counts with the other ones: book/intro has formula (1).
        (
            "solutions/01-one",
            "Exercise 1.1 is in Chapter 1, The first. Here is Figure 1, with (2).",
        ),
        ("solutions/01-one", "Solution to Exercise 1.1 (Add)"),
        ("02-two", "It is Chapter 1, with (1.1)."),
    ],
)
def test_page_and_notebook_give_the_same_numbers(built: TinyBook, page: str, sentence: str) -> None:
    markup = built.read(f"build/html/notebooks/{page}.html")
    # On the page, a kind stays in one line with its number.
    shown = html.unescape(re.sub(r"<[^>]+>", "", markup)).replace("\N{NO-BREAK SPACE}", " ")
    assert sentence in shown
    # There, what is in another notebook is a link to its file.
    linked = re.compile(r"\[([^][]+)\]\([\w./-]+\.ipynb\)")
    assert sentence in linked.sub(r"\1", built.read(f"notebooks/made/{page}.ipynb"))


def test_a_solution_stands_on_its_own_page(built: TinyBook) -> None:
    page = built.read("build/html/notebooks/solutions/01-one.html")
    assert "Solution to Exercise\N{NO-BREAK SPACE}1.1 (Add)</summary>" in page
    assert 'Back to <a class="reference internal" href="../01-one.html#ex-add">' in page
    # The page asks; the notebook for Colab has a place for the answer, too.
    assert "Your answer" not in built.read("build/html/notebooks/01-one.html")
    assert "# Your answer" in built.read("notebooks/made/01-one.ipynb")


def test_docstrings_become_a_page(built: TinyBook) -> None:
    page = built.read("build/html/book/module.html")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "Child(places: list[Point] = ...)" in text
    assert re.findall(r'<dt [^>]*id="calib_utils\.tiny\.([\w.]+)"', page) == [
        *("Child", "Parent", "Parent.fit", "Point", "Point.x"),
    ]
    assert 'that <a class="reference internal" href="#calib_utils.tiny.Point"' in page
    # The parent's method.
    assert 'see <a class="reference internal" href="#calib_utils.tiny.Parent.fit"' in page
    assert "module.html#calib_utils.tiny.Parent.fit" in built.read("build/html/genindex.html")


def test_the_placeholder_gives_no_colab_button(built: TinyBook) -> None:
    assert "colab" not in built.read("build/html/notebooks/01-one.html")


def test_what_reads_a_source_runs_again_when_it_changes(built: TinyBook) -> None:
    assert built.waiting() == set()
    everything = {*RUN, TABLES, GOALS, "drawn", "site"}
    assert built.waiting_for("calib_utils/used.py") == everything
    assert built.waiting_for("classroom/assignments/one/goals.toml") == {GOALS}


def test_a_difference_is_told_and_leaves_the_site(built: TinyBook) -> None:
    before = built.read("build/html/notebooks/02-two.html")
    with built.edited("notebooks/made/02-two.ipynb", "0.667", "0.668"):
        code, said = built.doit()
    assert code != 0
    assert "notebooks/made/02-two.ipynb: the outputs are not the stored ones" in said
    line = built.read("notebooks/02-two.md").splitlines().index(SHARE) + 1
    assert f"notebooks/02-two.md:{line}: code cell 2\nCell outputs differ\n" in said
    assert "0.668" in said
    assert "Traceback" not in said
    assert built.read("build/html/notebooks/02-two.html") == before


def test_words_rerun_their_chapter_alone_and_build_its_page(built: TinyBook) -> None:
    page = "page:notebooks/02-two"
    before = built.read("build/html/book/intro.html")
    with built.edited("notebooks/02-two.md", "rises. {", "rises and rises. {"):
        assert built.steps(page) == {"notebooks", RUN_TWO, CHECK_TWO, page}
        assert built.waiting() == {"site"}
        assert "rises and rises" in built.read("notebooks/made/02-two.ipynb")
        assert "rises and rises" in built.read("build/html/notebooks/02-two.html")
        assert "colab" not in built.read("build/html/notebooks/02-two.html")
    assert before == built.read("build/html/book/intro.html")


def test_a_profile_gives_its_parameters(built: TinyBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built.root)
    monkeypatch.setenv("PROFILE", "gpu")
    runs = {one["name"]: one for one in runpy.run_path("dodo.py")["task_papermill"]()}
    run = runs["notebooks/01-one"]
    assert run["targets"] == ["build/executed/gpu/notebooks/01-one.ipynb"]
    assert run["actions"][0].action[-2:] == ["gpu", '{"a": 5}']


def test_warnings_of_sphinx_leave_the_site(built: TinyBook) -> None:
    """A reference that leads nowhere, and a name that a docstring invents."""
    before = {name: built.read(f"build/html/book/{name}.html") for name in ("intro", "module")}
    with (
        built.edited("book/intro.md", "comes first", "comes {ref}`nowhere`"),
        built.edited("calib_utils/tiny.py", "see `fit`", "see `fits`"),
    ):
        code, said = built.run("tools.finishing.site", "cpu")
    assert code != 0
    assert "undefined label: 'nowhere'" in said
    assert "py:obj reference target not found: fits" in said
    assert before == {name: built.read(f"build/html/book/{name}.html") for name in before}


@pytest.mark.thorough
def test_an_address_brings_buttons_and_the_map_of_the_site(tmp_path: Path, built: TinyBook) -> None:
    assert built.doit("nbval")[0] == 0
    course = TinyBook(tmp_path / "course", url="https://github.com/someone/course")
    shutil.copytree(built.root / "build", course.root / "build", symlinks=True)
    shutil.copytree(built.root / "notebooks/made", course.root / "notebooks/made")
    assert course.run("tools.finishing.site", "cpu")[0] == 0
    page = course.read("build/html/notebooks/01-one.html")
    button = (
        "https://colab.research.google.com/github/someone/course/blob/main/notebooks/made/01-one"
    )
    assert f'href="{button}.ipynb"' in page
    sitemap = course.read("build/html/sitemap.xml")
    assert "https://someone.github.io/course/notebooks/01-one.html" in sitemap
    picture = "https://someone.github.io/course/_static/card.png"
    assert f'<meta property="og:image" content="{picture}" />' in page
    page = built.read("build/html/notebooks/01-one.html")
    assert "og:image" not in page


def files_of_site(book: TinyBook) -> dict[str, bytes]:
    folder = book.root / "build/html"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.thorough
def test_two_builds_are_the_same_bytes(built: TinyBook, tmp_path: Path) -> None:
    """The same sources, built elsewhere from the beginning."""
    again = copy.copy(built)
    assert built.doit()[0] == 0
    again.root = tmp_path / "elsewhere"
    shutil.copytree(built.root, again.root, ignore=shutil.ignore_patterns("build"))
    assert {"notebooks", RUN_TWO, "site"} <= again.steps()
    first, second = files_of_site(built), files_of_site(again)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
