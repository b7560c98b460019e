"""The pipeline, for doit: what each step reads and writes.

    source .md ──> notebooks ──> papermill ──> nbval ──> site

Papermill runs what becomes the page, nbval the committed notebook, to compare its outputs with the
stored ones.

A step whose files have the same content as last time is skipped. Paths are relative to the folder
that doit runs in, which is the repository, or a small book of a test.
"""

import os
import sys
import time
from pathlib import Path

from doit.reporter import ConsoleReporter
from doit.tools import config_changed

from tools.book import Book

PROFILE = os.environ.get("PROFILE", "cpu")
TOOLS = Path(__file__).parent.absolute() / "tools"
BUILD = Path("build")
BUILD.mkdir(exist_ok=True)
# The steps are modules of `tools`, whatever folder they run in.
os.environ["PYTHONPATH"] = str(TOOLS.parent)

book = Book()


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


def tool(name, *arguments):
    return [[sys.executable, "-m", f"tools.{name}", *arguments]]


def tools(*names):
    return [TOOLS / f"{name}.py" for name in names]


def existing(*paths):
    return [path for path in map(Path, paths) if path.exists()]


def everything(folder):
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return [path for path in files if "__pycache__" not in path.parts]


def reads(page):
    """What a chapter's outputs depend on beside its notebook."""
    library = everything("calib_utils") if "calib_utils" in book.source(page) else []
    return library + existing("requirements.lock") + tools("kernel")


# The last chapters are the longest: begin with them.
CHAPTERS = book.chapters[::-1]
# Pictures and tables for pages that are no notebooks, by the script that makes them.
PARTS = {
    script: BUILD / folder / f"{script.stem}{suffix}"
    for folder, suffix in (("figures", ".svg"), ("tables", ".md"))
    for script in sorted(Path("book", folder).glob("*.py"))
}


def task_notebooks():
    """Make both notebooks of every chapter."""
    committed = [f"{page}.ipynb" for page in CHAPTERS]
    return {
        "actions": tool("notebooks"),
        "file_dep": [
            *(f"{page}.md" for page in book.pages),
            *existing("_config.yml", "_toc.yml", "book/references.bib"),
            # Read for their outputs; also, who edits one by hand gets it made again.
            *existing(*committed),
            *tools("book", "colab", "flatten", "myst", "notebooks", "page"),
        ],
        "targets": [BUILD / path for path in committed],
        "title": lambda task: "make notebooks",
    }


def task_papermill():
    """Run each chapter with the profile's parameters."""
    for page in CHAPTERS:
        yield {
            "name": page,
            "actions": tool("execute", page, PROFILE),
            "file_dep": [BUILD / f"{page}.ipynb", *reads(page), *tools("execute")],
            "uptodate": [config_changed(book.parameters(page, PROFILE))],
            "targets": [BUILD / "executed" / PROFILE / f"{page}.ipynb"],
            "title": lambda task, page=page: f"run {page.partition('/')[2]} ({PROFILE})",
        }


def task_nbval():
    """Compare each committed notebook's outputs with a new run."""
    for page in CHAPTERS:
        yield {
            "name": page,
            "actions": tool("compare", page),
            # A cell that fails is told once, and in fewer lines, by the step before.
            "task_dep": ["notebooks", f"papermill:{page}"],
            "file_dep": [f"{page}.ipynb", *reads(page), *tools("compare")],
            "title": lambda task, page=page: (
                f"compare {page.partition('/')[2]} with its stored outputs"
            ),
        }


def task_parts():
    """Draw the pictures, and write the tables, of the pages that are no notebooks."""
    sources = {"figures": "calib_utils", "tables": "benchmarks/results"}
    for script, part in PARTS.items():
        folder = script.parent.name
        yield {
            "name": f"{folder}/{script.stem}",
            "actions": [[sys.executable, str(script), str(part)]],
            "file_dep": [script, *everything(sources[folder]), *existing("requirements.lock")],
            "targets": [part],
            "title": lambda task: f"make {task.name.partition(':')[2]}",
        }


def task_site():
    """Build the site, once every chapter has run and compared well."""
    executed = [BUILD / "executed" / PROFILE / f"{page}.ipynb" for page in CHAPTERS]
    return {
        "actions": tool("site", PROFILE),
        # In this order, which that of the files below would not keep.
        "task_dep": [*(f"papermill:{page}" for page in CHAPTERS), "nbval"],
        "file_dep": [
            *executed,
            *PARTS.values(),
            *everything("book"),
            *existing("_config.yml", "_toc.yml", "requirements.lock"),
            *tools("book", "site", "sphinx_extension"),
        ],
        "targets": [BUILD / "html/index.html"],
        "title": lambda task: "build the site",
    }
