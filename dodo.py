"""The pipeline, for doit: what each step reads and writes.

    source .md ──> notebooks ──> papermill ──> nbval ──> site

Papermill runs what becomes the page, nbval the committed notebook, to compare its outputs with the
stored ones.

A step whose files have the same content as last time is skipped: the code that it runs, found by
its imports, the packages that are installed, and the files that it is given. Paths are relative to
the repository, or to the small book of a test.
"""

import os
import sys
import time
from pathlib import Path

from doit.reporter import ConsoleReporter
from doit.tools import config_changed

from tools.book import Book
from tools.dependencies import data_in, documented_in, files_of, files_of_chapter
from tools.myst import MystError, naming
from tools.parts import parts, reads

PROFILE = os.environ.get("PROFILE", "cpu")
BUILD = Path("build")
BUILD.mkdir(exist_ok=True)
# For what runs elsewhere: a chapter in `notebooks/`; a script, which looks in its own folder.
os.environ["PYTHONPATH"] = str(Path().absolute())

book = Book()
# The last chapters are the longest: begin with them.
CHAPTERS = book.chapters[::-1]
EXECUTED = {page: BUILD / "executed" / PROFILE / f"{page}.ipynb" for page in CHAPTERS}


class Reporter(ConsoleReporter):
    """One line as a step begins and ends; at the end, what failed, in its own words."""

    desc = "steps with their times, failures last"

    def __init__(self, outstream, options):
        super().__init__(outstream, options)
        self.started = {}

    def say(self, line):
        self.write(line + "\n")
        self.outstream.flush()

    def execute_task(self, task):
        if task.actions:
            self.started[task.name] = time.monotonic()
            self.say(f"{task.title()} …")

    def add_success(self, task):
        if task.actions:
            self.say(f"{task.title()}: {time.monotonic() - self.started[task.name]:.0f} s")

    def add_failure(self, task, fail):
        self.say(f"{task.title()}: failed")
        self.failures.append((task, fail))

    def skip_uptodate(self, task):
        pass

    def complete_run(self):
        for task, fail in self.failures:
            said = "".join(action.out for action in task.actions if action.out)
            self.say("\n" + (said.strip() or fail.get_msg()))
        for message in self.runtime_errors:
            self.say(message)
        if self.failures or self.runtime_errors:
            self.say("\nThe book was not built. The last good one, if any, is still in build/html.")


DOIT_CONFIG = {
    "backend": "json",
    "dep_file": "build/.doit.json",
    "reporter": Reporter,
    # Progress is shown as it comes, a step's report only when it fails.
    "verbosity": 1,
    # A chapter runs on one thread, so that its digits are the same everywhere.
    "num_process": min(os.cpu_count() or 1, 4),
    "par_type": "thread",
    "default_tasks": ["site"],
}


def step(command, code, reads):
    """What runs, and all that it depends on."""
    return {
        "actions": [[sys.executable, *map(str, command)]],
        "file_dep": [*files_of(*code), "requirements.lock", *reads],
    }


def tool(name, *arguments, code=(), reads):
    return step(["-m", f"tools.{name}", *arguments], [f"tools.{name}", *code], reads)


def library(page):
    """What a chapter's code depends on."""
    try:
        source = book.source(page)
        with naming(page):
            return files_of_chapter(source)
    except MystError as error:
        raise SystemExit(str(error)) from None


def task_notebooks():
    """Make both notebooks of every chapter."""
    committed = [Path(f"{page}.ipynb") for page in CHAPTERS]
    sources = [f"{page}.md" for page in book.pages]
    # A committed one is read for its outputs; also, who edits one by hand gets it made again.
    stored = [path for path in committed if path.exists()]
    settings = ["_config.yml", "_toc.yml", "book/references.bib"]
    return {
        **tool("notebooks", reads=[*sources, *stored, *settings]),
        "targets": [BUILD / path for path in committed],
        "title": lambda task: "make notebooks",
    }


def task_papermill():
    """Run each chapter with the profile's parameters."""
    for page in CHAPTERS:
        yield {
            "name": page,
            **tool("execute", page, PROFILE, reads=[BUILD / f"{page}.ipynb", *library(page)]),
            "uptodate": [config_changed(book.parameters(page, PROFILE))],
            "targets": [EXECUTED[page]],
            "title": lambda task, page=page: f"run {page.partition('/')[2]} ({PROFILE})",
        }


def task_nbval():
    """Compare each committed notebook's outputs with a new run."""
    for page in CHAPTERS:
        yield {
            "name": page,
            **tool("check_outputs", page, reads=[f"{page}.ipynb", *library(page)]),
            # A cell that fails is told once, and in fewer lines, by the step before.
            "task_dep": ["notebooks", f"papermill:{page}"],
            "title": lambda task, page=page: f"check the outputs of {page.partition('/')[2]}",
        }


def task_parts():
    """Draw the pictures, and write the tables, of the pages that are no notebooks."""
    for script, part in parts().items():
        yield {
            "name": str(part.with_suffix("")),
            **step([script, BUILD / part], [script], reads(script)),
            "targets": [BUILD / part],
            "title": lambda task, part=part: f"make {part}",
        }


def task_site():
    """Build the site, once every chapter has run and its outputs are the stored ones."""
    made = [*EXECUTED.values(), *(BUILD / part for part in parts().values())]
    reads = [*made, *data_in(Path("book")), "_config.yml", "_toc.yml"]
    code = [*book.config["sphinx"]["extra_extensions"], *documented_in(Path("book"))]
    return {
        **tool("site", PROFILE, code=code, reads=reads),
        # In this order, which that of the files would not keep.
        "task_dep": [*(f"papermill:{page}" for page in CHAPTERS), "nbval"],
        "targets": [BUILD / "html/index.html"],
        "title": lambda task: "build the site",
    }
