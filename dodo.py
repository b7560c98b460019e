"""The pipeline, for doit: what each step reads and writes.

    source .md ──> notebooks ──> papermill ──> nbval ──> site

Papermill runs what becomes the page, and nbval compares the outputs of that run with those stored
in the committed notebook.

A step runs again when a source that is named here has another content, or when what another step
has made for it has. The content of sources is read once, as a build begins: what is edited while a
build runs may be mixed into it, and the next build makes anew what has read it.
"""

import hashlib
import json
import os
import re
import sys
from functools import cache
from pathlib import Path

from doit.action import CmdAction
from doit.exceptions import TaskFailed
from doit.tools import config_changed

from tools.running.kernel import plain_environment
from tools.sources.book import Book
from tools.sources.errors import plainly
from tools.sources.generated import copy_of, maker, parts, reads, shown_in_chapters
from tools.sources.locations import committed

PROFILE = os.environ.get("PROFILE", "cpu")
BUILD = Path("build")
# For what runs elsewhere: a chapter in `notebooks/`; a script, which looks in its own folder.
os.environ["PYTHONPATH"] = str(Path().absolute())

DOIT_CONFIG = {
    "backend": "json",
    "dep_file": str(BUILD / ".doit.json"),
    "reporter": "executed-only",
    # Progress is shown as it comes, what a step says only when it fails.
    "verbosity": 1,
    "failure_verbosity": 2,
    # A chapter runs on one thread, so that its digits are the same everywhere.
    "num_process": min(os.cpu_count() or 1, 4),
    "par_type": "thread",
    "default_tasks": ["site"],
}

# What any code of the book may read, and what runs a chapter.
MODULE = ("requirements.lock", "calib_utils", "calib_audit", "calib_records")
RUNS = ("tools/running/execute.py", "tools/running/kernel.py", "tools/sources/plot_settings.py")
TOC = ("_toc.yml", "_config.yml")
# The chapters that take longest, at whose end no core is to wait for one.
LONG = re.compile("why-networks|resnet34|replication|many-classes$|since-2017$|trust-an-ece$")
SCRIPTS = ("tools", "benchmarks", "classroom/goals.py", "book/*.py", "book/*/*.py", "book/*/*.toml")

BUILD.mkdir(exist_ok=True)
with plainly():
    book = Book()
    CHAPTERS = book.chapters
    PARAMETERS = {page: book.parameters(page, PROFILE) for page in CHAPTERS}
EXECUTED = {page: BUILD / "executed" / PROFILE / f"{page}.ipynb" for page in CHAPTERS}


@cache
def content(pattern):
    """A hash of the names and contents of files, and of all files in folders."""
    paths = sorted(Path().glob(pattern))
    found = hashlib.md5()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                found.update(f"{file}\0{hashlib.md5(file.read_bytes()).hexdigest()}\0".encode())
    return found.hexdigest()


def step(*command, sources, made=(), targets=(), after=()):
    """What runs, the sources that it reads, and what other steps have made for it."""
    arguments = [sys.executable, "-m", "tools.sources.errors", *map(str, command)]
    read = {str(source): content(str(source)) for source in sources}
    return {
        "actions": [CmdAction(arguments, shell=False, env=plain_environment())],
        "uptodate": [config_changed({"read": read, "run": arguments})],
        "file_dep": [*map(str, made)],
        "targets": [*map(str, targets)],
        "task_dep": [*after],
    }


def task_notebooks():
    """Make both notebooks of every chapter."""
    pages = [f"{page}.md" for page in book.pages]
    settings = ["notebooks/parameters", "book/references.bib", "calib_utils/__init__.py"]
    return step(
        "tools.running.notebooks",
        sources=[*TOC, *pages, *settings, "tools/running", "tools/sources"],
        targets=[path for page in CHAPTERS for path in (committed(page), BUILD / f"{page}.ipynb")],
    )


def task_papermill():
    """Run each chapter with the profile's parameters; the longest first."""
    for page in CHAPTERS:
        run = step(
            *("tools.running.execute", page, PROFILE, json.dumps(PARAMETERS[page])),
            sources=[*MODULE, *RUNS],
            made=[BUILD / f"{page}.ipynb"],
            targets=[EXECUTED[page]],
            after=[] if LONG.search(page) else ["shorter"],
        )
        yield {**run, "name": page}


def task_shorter():
    """The other chapters stand in line behind those that nothing holds up any more."""
    return {"actions": [], "task_dep": ["notebooks"]}


def task_nbval():
    """Compare the outputs of each run, and its figures, with the stored ones."""
    for page in CHAPTERS:
        yield {
            "actions": [(compared, [page])],
            "uptodate": [config_changed(content("tools/running"))],
            "file_dep": [str(committed(page)), str(EXECUTED[page])],
            "name": page,
        }


def compared(page):
    # Imported here, once for all chapters: nbval takes as long as comparing several of them.
    from tools.running.check_outputs import check_outputs

    said = check_outputs(page, EXECUTED[page])
    return TaskFailed(said) if said else True


def task_parts():
    """Draw the pictures, and write the tables, of the pages that are no notebooks."""
    for source, part in parts().items():
        made = step(
            *(*maker(source), BUILD / part),
            sources=[*MODULE, *SCRIPTS, source, *reads(source)],
            targets=[BUILD / part],
        )
        yield {**made, "name": str(part.with_suffix(""))}


def task_drawn():
    """Compare the pictures that scripts draw for chapters with those beside the notebooks."""
    scripts = shown_in_chapters()
    return step(
        "tools.running.check_parts",
        sources=[*MODULE, *SCRIPTS, *map(copy_of, scripts)],
        after=["parts"],
    )


def task_site():
    """Build the site, once every chapter has run and its outputs are the stored ones."""
    return step(
        *("tools.finishing.site", PROFILE),
        sources=["book", "tools", *TOC, "CHANGELOG.md", "requirements.lock", "calib_*/**/*.py"],
        made=[*EXECUTED.values(), *(BUILD / part for part in parts().values())],
        targets=[BUILD / "html/index.html"],
        after=["nbval", "drawn"],
    )


def task_page():
    """Build one page of the site anew, once its chapter has run: `doit page:notebooks/NAME`."""
    for page in CHAPTERS:
        yield {
            **step("tools.finishing.site", PROFILE, page, sources=[], after=[f"nbval:{page}"]),
            "uptodate": [False],
            "name": page,
        }
