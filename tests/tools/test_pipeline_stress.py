"""The pipeline when it is killed, run twice at once, on bad settings and without a network.

The tests share one built tiny book, and leave it as they found it.
"""

from __future__ import annotations

import copy
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.tiny_book import TinyBook, write_tiny_book
from tools.finishing.site import site_config
from tools.sources.book import Book
from tools.sources.errors import MystError

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    book = TinyBook(tmp_path_factory.mktemp("tiny"))
    book.tool("tools.running.notebooks", "--execute")
    assert book.doit()[0] == 0
    return book


def runs_a_step(pid: int) -> bool:
    with suppress(psutil.Error):
        return any("tools.sources.errors" in c.cmdline() for c in psutil.Process(pid).children())
    return False


def ended_at(book: TinyBook, line: str, how: signal.Signals) -> tuple[int, str]:
    """Run the pipeline, end it when it says a line, as at a terminal; its exit code and words."""
    process = book.started(start_new_session=True)
    assert process.stdout is not None
    said = ""
    for text in process.stdout:
        said += text
        if text.startswith(line) and text.endswith(" …\n"):
            # It says so just before it starts the step.
            while process.poll() is None and not runs_a_step(process.pid):
                time.sleep(0.01)
            os.killpg(process.pid, how)
    return process.wait(), said


def test_a_run_that_was_ended_publishes_no_old_number(built: TinyBook) -> None:
    stored = built.read("notebooks/02-two.ipynb")
    with built.edited("notebooks/02-two.md", "2 / 3", "1 / 3"):
        code, _ = ended_at(built, "check the outputs of 02-two", signal.SIGKILL)
        assert code != 0
    assert built.read("notebooks/02-two.ipynb") != stored
    (built.root / "notebooks/02-two.ipynb").write_text(stored, "utf-8")
    assert built.doit()[0] == 0
    page = built.read("build/html/notebooks/02-two.html")
    assert "0.667" in page
    assert "0.333" not in page


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_says_so_and_leaves_no_process(
    built: TinyBook, how: signal.Signals
) -> None:
    with built.edited("notebooks/02-two.md", "is short. See", "is quite short. See"):
        code, said = ended_at(built, "run 02-two", how)
        assert code == 128 + how
        assert "make notebooks:" in said
        assert said.rstrip().splitlines()[-1].startswith("Stopped. What was done is kept.")
        assert "Traceback" not in said
        places = [process.info["cwd"] for process in psutil.process_iter(["cwd"])]
        assert [place for place in places if place and place.startswith(str(built.root))] == []
        # What was done before is not done again.
        assert "notebooks" not in built.waiting()
    assert built.steps("notebooks") == {"make notebooks"}


def test_a_second_run_waits_for_the_first(built: TinyBook) -> None:
    assert built.doit()[0] == 0
    (built.root / "build/html/index.html").unlink()
    first = built.started()
    assert first.stdout is not None
    assert first.stdout.readline() == "build the site …\n"
    code, said = built.doit()
    assert code == 0
    assert said.startswith(f"Waiting for process {first.pid}, at work here since ")
    assert len(said.splitlines()) == 1
    assert "build the site: " in first.communicate()[0]
    assert first.returncode == 0
    assert (built.root / "build/html/index.html").exists()


def test_a_step_that_a_killed_run_left_is_waited_for(built: TinyBook) -> None:
    (built.root / "build/html/index.html").unlink()
    assert ended_at(built, "build the site", signal.SIGKILL)[0] == -signal.SIGKILL
    code, said = built.doit()
    assert code == 0
    assert "Waiting for process" in said
    assert (built.root / "build/html/index.html").exists()


def test_a_run_whose_outputs_are_edited_is_run_again(built: TinyBook) -> None:
    with built.edited("build/executed/cpu/notebooks/02-two.ipynb", "0.667", "0.668"):
        steps = {"papermill:notebooks/02-two", "nbval:notebooks/02-two", "site"}
        assert built.waiting() == steps


def test_a_deleted_page_is_built_again(built: TinyBook) -> None:
    (built.root / "build/html/notebooks/01-one.html").unlink()
    assert built.waiting() == {"site"}
    assert built.steps() == {"build the site"}
    assert (built.root / "build/html/notebooks/01-one.html").exists()


def test_a_stray_file_reruns_nothing(built: TinyBook) -> None:
    strays = ["calib_utils/notes.txt", "calib_utils/used.py.orig", "tools/sources/book.py~"]
    for name in strays:
        (built.root / name).write_text("stray", "utf-8")
    assert built.waiting() == set()
    for name in strays:
        (built.root / name).unlink()


PARAMETERS = "notebooks/parameters/cpu.yml"


@pytest.mark.parametrize(
    ("name", "old", "new", "sentence"),
    [
        (PARAMETERS, "{a: 1}", "{a: 1", f"{PARAMETERS}:2: this is no YAML: "),
        (PARAMETERS, "01-one: {a: 1}", "- 01-one", f"{PARAMETERS}: `name: value` is expected"),
        (PARAMETERS, "{a: 1}", "1", f"{PARAMETERS}: 01-one needs names and values"),
        (PARAMETERS, "01-one", "one", f"{PARAMETERS}: no chapter one; there is 01-one, 02-two"),
        (PARAMETERS, "{a: 1}", "{a: many}", f"{PARAMETERS}: a of 01-one is 'many', no int"),
        ("_toc.yml", "Appendix", "[", "_toc.yml:12: this is no YAML: "),
        (
            "_toc.yml",
            "    chapters:\n      - file: notebooks/solutions/01-one\n",
            "",
            "_toc.yml: part 'Solutions' has no chapters",
        ),
        ("_toc.yml", "02-two", "03-three", "notebooks/03-three.md does not exist: write it"),
        ("_config.yml", "title:", "title: [", "_config.yml:"),
        ("_config.yml", "https://github.com/OWNER/REPOSITORY", "someone", "'someone': write "),
    ],
)
def test_a_bad_setting_is_told_in_a_sentence(
    built: TinyBook, name: str, old: str, new: str, sentence: str
) -> None:
    with built.edited(name, old, new):
        code, said = built.doit()
    assert code != 0
    assert sentence in said
    assert "Traceback" not in said


# Runs a command where there is no network, but a way to itself.
ALONE = ("bwrap", "--dev-bind", "/", "/", "--unshare-user", "--unshare-net")


def works(program: str, *options: str) -> bool:
    return (
        shutil.which(program) is not None
        and subprocess.run([program, *options, "true"], capture_output=True).returncode == 0
    )


@pytest.fixture(scope="module")
def built_anew(built: TinyBook, tmp_path_factory: pytest.TempPathFactory) -> TinyBook:
    """The same sources, built elsewhere from the beginning, without a network where that can be."""
    copied = copy.copy(built)
    copied.root = tmp_path_factory.mktemp("again") / "elsewhere"
    shutil.copytree(built.root, copied.root, ignore=shutil.ignore_patterns("build"))
    steps = copied.steps(within=ALONE if works(*ALONE) else ())
    assert {"make notebooks", "run 02-two (cpu)", "build the site"} <= steps
    return copied


def files_of_site(book: TinyBook) -> dict[str, bytes]:
    folder = book.root / "build/html"
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_two_builds_are_the_same_bytes(built: TinyBook, built_anew: TinyBook) -> None:
    first, second = files_of_site(built), files_of_site(built_anew)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


@pytest.mark.skipif(not works(*ALONE), reason="no bubblewrap on this machine")
def test_without_any_network_the_book_is_built(built_anew: TinyBook) -> None:
    """From the first step to the last, by a fixture that is alone wherever that can be."""
    assert "0.667" in built_anew.read("build/html/notebooks/02-two.html")


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Someone/course",
        "https://github.com/Someone/course/",
        "https://github.com/Someone/course.git",
        "http://www.github.com/Someone/course",
        "git@github.com:Someone/course.git",
        "ssh://git@github.com/Someone/course.git",
    ],
)
def test_an_address_may_be_written_as_git_or_a_browser_gives_it(tmp_path: Path, url: str) -> None:
    book = Book(write_tiny_book(tmp_path, url=url))
    assert book.repository == "https://github.com/Someone/course"
    assert book.website == "https://someone.github.io/course/"
    assert site_config(book)["repository"]["url"] == book.repository


@pytest.mark.parametrize(
    "url", ["https://github.com/someone", "someone/course", "https://gitlab.com/someone/course"]
)
def test_an_address_that_is_no_repository_is_an_error(tmp_path: Path, url: str) -> None:
    book = Book(write_tiny_book(tmp_path, url=url))
    with pytest.raises(MystError, match="repository url"):
        _ = book.repository
