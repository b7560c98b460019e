"""The pipeline, for doit: what each step reads and writes.

    source .md ──> notebooks ──> papermill ──> nbval ──> site

Papermill runs what becomes the page, and nbval compares the outputs of that run with those stored
in the committed notebook.

All steps run on a snapshot of the sources, so that nothing changes while they read it (see
`tools.running.snapshot`). A step whose files have the same content as last time is skipped: the
code that it runs, found by its imports, the packages that are installed, the files that it is
given, and the stored records that it opened. Paths are relative to the snapshot.
"""

import json
import os
from pathlib import Path

from doit.tools import config_changed

from tools.running.dependencies import data_in, documented_in, files_of, files_of_chapter
from tools.running.runner import STATE, ByContent, Reporter, action, begin, unchanged
from tools.running.snapshot import BUILD
from tools.sources.book import Book
from tools.sources.errors import plainly
from tools.sources.generated import copy_of, maker, parts, reads, shown_in_chapters
from tools.sources.myst import naming

PROFILE = os.environ.get("PROFILE", "cpu")
# For what runs elsewhere: a chapter in `notebooks/`; a script, which looks in its own folder.
os.environ["PYTHONPATH"] = str(Path().absolute())

DOIT_CONFIG = {
    "backend": "json",
    "dep_file": str(STATE),
    "check_file_uptodate": ByContent,
    "reporter": Reporter,
    # Progress is shown as it comes, a step's report only when it fails.
    "verbosity": 1,
    # A chapter runs on one thread, so that its digits are the same everywhere.
    "num_process": min(os.cpu_count() or 1, 4),
    "par_type": "thread",
    "default_tasks": ["site"],
}


def library(page):
    """What the code of a page depends on."""
    source = book.source(page)
    with naming(str(page)):
        return files_of_chapter(source)


with plainly():
    begin()
    book = Book()
    # The last chapters are the longest: begin with them.
    CHAPTERS = book.chapters[::-1]
    PARAMETERS = {page: book.parameters(page, PROFILE) for page in CHAPTERS}
    LIBRARY = {page: library(page) for page in CHAPTERS}
EXECUTED = {page: BUILD / "executed" / PROFILE / f"{page}.ipynb" for page in CHAPTERS}


def step(command, code, reads):
    """What runs, and all that it depends on."""
    return {
        "actions": [action([*map(str, command)])],
        "file_dep": [*files_of("tools.sources.errors", *code), "requirements.lock", *reads],
        "uptodate": [unchanged],
    }


def tool(name, *arguments, code=(), reads):
    return step([f"tools.{name}", *arguments], [f"tools.{name}", *code], reads)


def task_notebooks():
    """Make both notebooks of every chapter."""
    made = [Path(f"{page}.ipynb") for page in CHAPTERS]
    sources = [f"{page}.md" for page in book.pages]
    settings = ["_config.yml", "_toc.yml", "book/references.bib"]
    settings += map(str, Path("notebooks/parameters").glob("*.yml"))
    return {
        **tool("running.notebooks", reads=[*sources, *settings]),
        # The committed ones, too: who edits one by hand gets it made again.
        "targets": [*made, *(BUILD / path for path in made)],
        "title": lambda task: "make notebooks",
    }


def task_papermill():
    """Run each chapter with the profile's parameters."""
    for page in CHAPTERS:
        yield {
            "name": page,
            **tool(
                *("running.execute", page, PROFILE, json.dumps(PARAMETERS[page])),
                reads=[BUILD / f"{page}.ipynb", *LIBRARY[page]],
            ),
            "uptodate": [unchanged, config_changed(PARAMETERS[page])],
            "targets": [EXECUTED[page]],
            "title": lambda task, page=page: f"run {page.partition('/')[2]} ({PROFILE})",
        }


def task_nbval():
    """Compare the outputs of each run, and its figures, with the stored ones."""
    for page in CHAPTERS:
        reads = [f"{page}.ipynb", EXECUTED[page], *LIBRARY[page]]
        yield {
            "name": page,
            **tool("running.check_outputs", page, EXECUTED[page], reads=reads),
            "task_dep": ["notebooks", f"papermill:{page}"],
            "title": lambda task, page=page: f"check the outputs of {page.partition('/')[2]}",
        }


def task_parts():
    """Draw the pictures, and write the tables, of the pages that are no notebooks."""
    for source, part in parts().items():
        made_by = maker(source)
        of_cells = [source, *library(source.with_suffix(""))] if source.suffix == ".md" else []
        code = [source] if source.suffix == ".py" else made_by[:1]
        yield {
            "name": str(part.with_suffix("")),
            **step([*made_by, BUILD / part], code, [*reads(source), *of_cells]),
            "targets": [BUILD / part],
            "title": lambda task, part=part: f"make {part}",
        }


def task_drawn():
    """Compare the pictures that scripts draw for chapters with those beside the notebooks."""
    scripts = shown_in_chapters()
    copies = [path for path in map(copy_of, scripts) if path.exists()]
    return {
        **tool("running.check_parts", reads=[*files_of(*scripts), *copies]),
        "title": lambda task: "check the pictures",
    }


def task_site():
    """Build the site, once every chapter has run and its outputs are the stored ones."""
    made = [*EXECUTED.values(), *(BUILD / part for part in parts().values())]
    reads = [*made, *data_in(Path("book")), "_config.yml", "_toc.yml", "CHANGELOG.md"]
    code = [*book.config["sphinx"]["extra_extensions"], *documented_in(Path("book"))]
    return {
        **tool("finishing.site", PROFILE, code=code, reads=reads),
        # In this order, which that of the files would not keep.
        "task_dep": [*(f"papermill:{page}" for page in CHAPTERS), "nbval", "drawn"],
        "targets": [BUILD / "html"],
        "title": lambda task: "build the site",
    }
