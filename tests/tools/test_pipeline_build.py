"""The pipeline on a tiny book: what it runs, what it skips, and what it does when a step fails.

The tests follow one book through its life, so they run in order and share its folder.
"""

from __future__ import annotations

import copy
import html
import os
import re
import runpy
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tiny_book
from tests.tiny_book import TinyBook
from tools.running import snapshot

CHAPTERS = ["01-one", "02-two", "solutions/01-one"]
MAKE, COMPARE, BUILD = "make notebooks", "check the pictures", "build the site"
RUN_ONE, CHECK_ONE = "papermill:notebooks/01-one", "nbval:notebooks/01-one"
RUN_TWO, CHECK_TWO = "papermill:notebooks/02-two", "nbval:notebooks/02-two"
RUN_SOLVED, CHECK_SOLVED = (f"{step}:notebooks/solutions/01-one" for step in ("papermill", "nbval"))
ONE, TWO, SOLVED = {RUN_ONE, CHECK_ONE}, {RUN_TWO, CHECK_TWO}, {RUN_SOLVED, CHECK_SOLVED}
TABLES, GOALS = "parts:tables/results", "parts:tables/goals"
# Lines of chapter 2 and of the solutions.
SHARE, SUM = 'print(f"{2 / 3:.3f}")', "1 + 2"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    book = TinyBook(tmp_path_factory.mktemp("tiny"))
    book.tool("tools.running.notebooks", "--execute")
    assert book.steps() == {
        *(MAKE, COMPARE, BUILD, "make tables/results.md", "make tables/goals.md"),
        *(f"run {name} (cpu)" for name in CHAPTERS),
        *(f"check the outputs of {name}" for name in CHAPTERS),
    }
    return book


def test_the_site_shows_executed_chapters(built: TinyBook) -> None:
    assert built.read("build/site/book/tables/results.md") == "[1]"
    page = built.read("build/html/notebooks/01-one.html")
    assert "1. The first" in page
    assert 'class="katex"' in page
    assert "injected-parameters" not in page
    second = built.read("build/html/notebooks/02-two.html")
    assert "0.667" in second
    assert 'aria-label="A line that rises from 0 to 1."' in second
    # The same numbers as in the notebook for Colab, which counts by itself.
    assert "Figure 2.1" in second
    caption = "**Figure 2.1.** A line, as [(1.1)](01-one.ipynb)."
    assert caption in built.read("notebooks/02-two.ipynb")


def test_a_table_that_a_cell_makes_has_a_number_and_a_caption(built: TinyBook) -> None:
    page = built.read("build/html/notebooks/02-two.html")
    table = re.search(r'<table [^>]*id="tab-half".*?</table>', page, re.DOTALL)
    assert table
    assert "Table 2.1 One half of a number." in re.sub(r"<[^>]+>", "", table[0])
    assert 'href="#tab-half"' in page
    assert "**Table 2.1.** One half of a number." in built.read("notebooks/02-two.ipynb")


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
    assert sentence in linked.sub(r"\1", built.read(f"notebooks/{page}.ipynb"))


def test_a_solution_stands_on_its_own_page(built: TinyBook) -> None:
    page = built.read("build/html/notebooks/solutions/01-one.html")
    assert "Solution to Exercise\N{NO-BREAK SPACE}1.1 (Add)</summary>" in page
    assert 'Back to <a class="reference internal" href="../01-one.html#ex-add">' in page
    # The page asks; the notebook for Colab has a place for the answer, too.
    assert "Your answer" not in built.read("build/html/notebooks/01-one.html")
    assert "# Your answer" in built.read("notebooks/01-one.ipynb")


def test_a_question_is_a_group_of_folds(built: TinyBook) -> None:
    page = built.read("build/html/notebooks/02-two.html")
    group = page.partition("<fieldset ")[2].partition("</fieldset>")[0]
    assert group.count("<details") == group.count("<summary") == 2
    assert "<p><strong>Wrong.</strong> It has no <em>number</em>.</p>" in group
    assert '<details class="is-right"><summary>The first</summary>' in group
    assert "no number" not in built.read("build/html/_static/search-index.js")


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


def test_a_second_run_does_nothing(built: TinyBook) -> None:
    assert built.steps() == set()
    sources = [path for path in built.root.rglob("*") if "build" not in path.parts]
    for path in sources:
        path.touch()
    assert built.steps() == set()


def test_prose_reruns_its_chapter_alone(built: TinyBook) -> None:
    with built.edited("notebooks/02-two.md", "rises. {", "rises and rises. {"):
        assert built.steps("notebooks") == {MAKE}
        assert built.waiting() == TWO
        assert "rises and rises" in built.read("notebooks/02-two.ipynb")
    assert built.steps() == {MAKE}


# A chapter that reads its sources while the test has changed them.
SLOW = """from pathlib import Path
from time import sleep

Path("../build/begun").touch()
while not Path("../build/go").exists():
    sleep(0.01)
from calib_utils.late import ECE
print(ECE, Path("../benchmarks/results/some.json").read_text())
Path("../build/read").touch()
while not Path("../build/end").exists():
    sleep(0.01)"""


@pytest.fixture
def copied(built: TinyBook, tmp_path: Path) -> TinyBook:
    book = copy.copy(built)
    book.root = shutil.copytree(built.root, tmp_path / "book", symlinks=True)
    return book


def wait_for(path: Path, run: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.01)


def test_what_happens_to_the_sources_during_a_step_belongs_to_the_next_build(
    copied: TinyBook,
) -> None:
    """Back in their place, they have the dates and numbers that they had before."""
    build, data = copied.root / "build", copied.root / "benchmarks"
    late = copied.root / "calib_utils/late"
    late.with_suffix(".py").write_text("ECE = 2.12", "utf-8")
    with copied.edited("notebooks/02-two.md", SHARE, SLOW):
        run = copied.started(RUN_TWO)
        wait_for(build / "begun", run)
        aside = data.rename(copied.root / "aside")
        shutil.copytree(aside, data)
        (data / "results/some.json").write_text("[3]", "utf-8")
        # Python takes a package before the module of its name.
        late.mkdir()
        (late / "__init__.py").write_text("ECE = 3.17", "utf-8")
        (build / "go").touch()
        wait_for(build / "read", run)
        shutil.rmtree(late)
        shutil.rmtree(data)
        aside.rename(data)
        (build / "end").touch()
        said = run.communicate()[0]
        assert run.returncode == 0, said
        assert "2.12 [1]" in copied.read("build/executed/cpu/notebooks/02-two.ipynb")
        assert copied.steps(RUN_TWO) == set()


def test_ctrl_c_while_python_begins_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It comes while the snapshot is made, or while what runs on it is imported."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    begun: list[str] = []
    with monkeypatch.context() as patched:
        for name in ("take_lock", "write", "snapshot"):
            patched.setattr(snapshot, name, lambda *_: None)
        patched.setattr(os, "chdir", lambda _: None)
        patched.setattr(os, "execve", lambda python, command, _: begun.extend(command))
        snapshot.run("early", "list")
    assert begun == [sys.executable, "-m", "tools.running", "early", "list"]
    (tmp_path / "early.py").write_text("raise KeyboardInterrupt", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(snapshot, "take_lock", stopped)
    for on_snapshot in (False, True):
        if on_snapshot:
            monkeypatch.setenv(snapshot.ORIGIN, str(tmp_path))
        monkeypatch.setattr(sys, "argv", ["tools.running", "early"])
        with pytest.raises(SystemExit) as ended:
            runpy.run_module("tools.running", run_name="__main__")
        assert ended.value.code == 130
        assert capsys.readouterr().out == "\nStopped.\n"


@pytest.mark.thorough
def test_compiled_code_of_another_file_is_not_taken(copied: TinyBook) -> None:
    """A file of the same size and date as the one before, as `cp -p` and `tar` bring it."""
    late = copied.root / "calib_utils/late.py"
    shown = "from calib_utils.late import ECE\nprint(ECE)"
    with copied.edited("notebooks/02-two.md", SHARE, shown):
        for ece in ("0.875", "0.125"):
            late.write_text(f"ECE = {ece}", "utf-8")
            os.utime(late, (1e9, 1e9))
            # As somebody does in a notebook or a test.
            subprocess.run([sys.executable, "-c", "import calib_utils.late"], cwd=copied.root)
            assert copied.steps(RUN_TWO) >= {"run 02-two (cpu)"}
            assert ece in copied.read("build/executed/cpu/notebooks/02-two.ipynb")


@pytest.mark.thorough
def test_what_is_stored_waits_for_no_source_that_has_changed_meanwhile(copied: TinyBook) -> None:
    """Neither an edited notebook nor that of an edited chapter is written over."""
    build, notebook = copied.root / "build", "notebooks/02-two.ipynb"
    stored = copied.read(notebook)
    slow = SLOW.replace("from calib_utils.late import ECE", "ECE = 4")
    (build / "end").touch()
    with copied.edited("notebooks/02-two.md", SHARE, slow):
        run = copied.started(command=("tools.running.notebooks", "--execute", "02-two"))
        wait_for(build / "begun", run)
        with copied.edited("notebooks/02-two.md", "rises. {", "rises and rises. {"):
            (build / "go").touch()
            said = run.communicate()[0]
    assert run.returncode == 0, said
    assert "notebooks/02-two.md has changed meanwhile: notebooks/02-two.ipynb" in said
    assert copied.read(notebook) == stored


def test_the_library_reruns_the_chapters_that_use_it(built: TinyBook) -> None:
    # The page on calib_utils.tiny is made from its docstrings; a notebook names the version.
    checks = {CHECK_TWO, CHECK_SOLVED}  # a check of outputs reads the book, which names the version
    assert built.waiting_for("calib_utils/__init__.py") == {*ONE, *checks, "notebooks", "site"}
    assert built.waiting_for("calib_utils/used.py") == {*ONE, *checks, "notebooks", "site"}
    assert built.waiting_for("calib_utils/tiny.py") == {"site"}
    assert built.waiting_for("calib_utils/unused.py") == set()
    assert built.waiting_for("requirements.lock") == {
        *ONE,
        *TWO,
        *SOLVED,
        "notebooks",
        TABLES,
        GOALS,
        "drawn",
        "site",
    }


def test_settings_rerun_what_is_made_from_them(built: TinyBook) -> None:
    assert built.waiting_for("_toc.yml") == {"notebooks", "site"}
    # The notebook for Colab offers every profile.
    with built.edited("notebooks/parameters/cpu.yml", "{a: 1}", "{a: 2}"):
        assert built.waiting() >= {RUN_ONE, "notebooks"}
        assert RUN_TWO not in built.waiting()
    with built.edited("notebooks/parameters/gpu.yml", "{a: 5}", "{a: 6}"):
        assert built.waiting() == {"notebooks"}
    with built.edited("benchmarks/results/some.json", "[1]", "[2]"):
        assert built.steps("parts") == {"make tables/results.md"}
        assert built.waiting() == {"site"}
    assert built.steps("parts") == {"make tables/results.md"}
    assert built.waiting_for("classroom/assignments/one/goals.toml") == {GOALS}
    assert built.waiting() == set()


def test_data_beside_the_library_rerun_the_chapters_that_use_it(built: TinyBook) -> None:
    record = built.root / "calib_utils/kept/some.npz"
    record.parent.mkdir()
    unfinished = record.with_name("some.npz.part")
    unfinished.write_bytes(b"da")
    assert built.waiting() == set()
    record.write_bytes(b"data")
    assert built.waiting() == {*ONE, CHECK_TWO, CHECK_SOLVED, "notebooks", "site"}
    shutil.rmtree(record.parent)
    assert built.waiting_for("benchmarks/results/some.json") == {TABLES}
    assert built.waiting() == set()


@pytest.fixture
def record(built: TinyBook) -> Iterator[Path]:
    folder = built.root / "calib_records/predictions"
    folder.mkdir(parents=True)
    (folder / "lenet.test.npz").touch()
    # The outputs of a cell that a test edits are no longer stored.
    notebook = built.root / "notebooks/02-two.ipynb"
    stored = notebook.read_bytes()
    yield folder / "lenet.test.npz"
    shutil.rmtree(built.root / "calib_records")
    notebook.write_bytes(stored)
    assert built.doit()[0] == 0


OPENS, LISTS = "open({!r}).close()", "list(__import__('pathlib').Path({!r}).parent.glob('*'))"


@pytest.mark.parametrize(
    ("name", "old", "reads", "step"),
    [
        pytest.param(
            *("notebooks/02-two.md", SHARE, OPENS, RUN_TWO),
            marks=pytest.mark.thorough,
        ),
        ("book/tables/results.py", "import sys\n", OPENS, TABLES),
        ("book/tables/results.py", "import sys\n", LISTS, TABLES),
    ],
)
def test_a_record_reruns_what_has_opened_it(
    built: TinyBook, record: Path, name: str, old: str, reads: str, step: str
) -> None:
    """And a new record what has listed its folder."""
    with built.edited(name, old, f"{reads.format(str(record))}\nimport sys\n"):
        assert built.doit("notebooks", step)[0] == 0
        assert step not in built.waiting()
        record.write_text("changed", "utf-8")
        assert step in built.waiting()
        assert len(built.steps(step)) == 1
        record.with_name("resnet.test.npz").touch()
        assert (step in built.waiting()) is (reads == LISTS)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("running/check_outputs.py", {CHECK_ONE, CHECK_TWO, CHECK_SOLVED}),
        (
            "running/execute.py",
            {RUN_ONE, RUN_TWO, RUN_SOLVED, "notebooks"},
        ),  # which `--execute` stores outputs with
        ("sources/colab_notebook.py", {"notebooks"}),
        ("finishing/sphinx_extension.py", {"site"}),
    ],
)
def test_a_tool_reruns_the_steps_that_import_it(
    built: TinyBook, name: str, steps: set[str]
) -> None:
    assert built.waiting_for(f"tools/{name}") == steps


def test_a_profile_gives_its_parameters(built: TinyBook) -> None:
    assert built.steps("papermill:notebooks/01-one", profile="gpu") == {"run 01-one (gpu)"}
    executed = built.read("build/executed/gpu/notebooks/01-one.ipynb")
    assert "a = 5" in executed
    assert '"7"' in executed
    code, said = built.doit(profile="tpu")
    assert code != 0
    assert "no profile 'tpu': notebooks/parameters has cpu, gpu" in said


def test_an_unknown_parameter_is_an_error(built: TinyBook) -> None:
    with built.edited("notebooks/parameters/gpu.yml", "{a: 5}", "{epochs: 5}"):
        code, said = built.doit("papermill", profile="gpu")
    assert code != 0
    assert "its parameters cell does not have epochs" in said


def test_warnings_of_sphinx_leave_the_site(built: TinyBook) -> None:
    """A reference that leads nowhere, and a name that a docstring invents."""
    before = {name: built.read(f"build/html/book/{name}.html") for name in ("intro", "module")}
    with (
        built.edited("book/intro.md", "comes first", "comes {ref}`nowhere`"),
        built.edited("calib_utils/tiny.py", "see `fit`", "see `fits`"),
    ):
        code, said = built.doit()
    assert code != 0
    assert "undefined label: 'nowhere'" in said
    assert "py:obj reference target not found: fits" in said
    assert before == {name: built.read(f"build/html/book/{name}.html") for name in before}


def test_a_profile_with_other_parameters_has_no_stored_outputs(built: TinyBook) -> None:
    """What it prints is not what the committed notebook prints."""
    with built.edited("notebooks/01-one.ipynb", '"3"', '"4"'):
        assert built.steps(CHECK_ONE, profile="gpu") >= {"check the outputs of 01-one"}


def line_of(code: str, text: str) -> int:
    return (tiny_book.HEAD + text).splitlines().index(code) + 1


OF_SHARE = f"notebooks/02-two.md:{line_of(SHARE, tiny_book.TWO)}: code cell 2"
OF_SUM = f"notebooks/solutions/01-one.md:{line_of(SUM, tiny_book.SOLUTIONS)}: code cell 1"
DIES, DIVIDES = "import os; os._exit(1)", "1 / 0"
# A claim that does not hold is an error then.
CLAIMS = "import os; raise ValueError(os.environ['CALIB_CLAIMS'])"
FAULTS = [
    (
        *("notebooks/02-two.md", f"{SHARE}\n```\n", f"{SHARE}\n```\n\n:::{{note}}\n", "list"),
        ["notebooks/02-two.md: `:::{note}` is never closed"],
    ),
    (
        *("notebooks/02-two.ipynb", "0.667", "0.668", None),
        [
            "notebooks/02-two.ipynb: the outputs are not the stored ones",
            f"{OF_SHARE}\nCell outputs differ\n",
            "0.668",
            "The last good one, if any, is still in build/html.",
        ],
    ),
    # What is printed is the same.
    (
        *("notebooks/02-two.md", "ax.plot([0, 1]", "ax.plot([0, 1.02]", None),
        ["fig-line: it differs by ", "`make notebooks`"],
    ),
    (
        *("notebooks/02-two.md", SHARE, "plt.plot();", RUN_TWO),
        [f"{OF_SHARE} draws 1 pictures and describes 0"],
    ),
    (
        *("notebooks/02-two.md", SHARE, CLAIMS, None),
        [f"{OF_SHARE} failed\n\n    {CLAIMS}\n\n", "ValueError: strict"],
    ),
    pytest.param(
        *("notebooks/02-two.md", SHARE, DIES, None),
        [f"{OF_SHARE} failed\n\n    {DIES}\n\n", "the kernel died"],
        marks=pytest.mark.thorough,
    ),
    pytest.param(
        *("notebooks/solutions/01-one.md", f"\n{SUM}\n", f"\n{DIVIDES}\n", None),
        [f"{OF_SUM} failed\n\n    {DIVIDES}\n\n", "ZeroDivisionError: division by zero"],
        marks=pytest.mark.thorough,
    ),
]


@pytest.mark.parametrize(("name", "old", "new", "task", "sentences"), FAULTS)
def test_a_fault_is_told_and_leaves_the_site(
    built: TinyBook, name: str, old: str, new: str, task: str | None, sentences: list[str]
) -> None:
    before = built.read("build/html/notebooks/02-two.html")
    with built.edited(name, old, new):
        code, said = built.doit(*([task] if task else []))
    assert code != 0
    assert [sentence for sentence in sentences if sentence not in said] == []
    assert "Traceback" not in said
    assert built.read("build/html/notebooks/02-two.html") == before


@pytest.mark.thorough
def test_an_address_brings_buttons_and_the_map_of_the_site(tmp_path: Path, built: TinyBook) -> None:
    assert built.doit("nbval")[0] == 0
    course = TinyBook(tmp_path / "course", url="https://github.com/someone/course")
    shutil.copytree(built.root / "build", course.root / "build", symlinks=True)
    course.tool("tools.finishing.site", "cpu")
    page = course.read("build/html/notebooks/01-one.html")
    button = "https://colab.research.google.com/github/someone/course/blob/main/notebooks/01-one"
    assert f'href="{button}.ipynb"' in page
    sitemap = course.read("build/html/sitemap.xml")
    assert "https://someone.github.io/course/notebooks/01-one.html" in sitemap
    picture = "https://someone.github.io/course/_static/card.png"
    assert f'<meta property="og:image" content="{picture}" />' in page
    assert 'href="https://github.com/someone/course/releases.atom"' in page
    page = built.read("build/html/notebooks/01-one.html")
    assert "og:image" not in page
    assert "atom" not in page
