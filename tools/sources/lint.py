"""Format and check the code of the chapters with ruff.

`python -m tools.sources.lint [--fix] [NAME …]` does so.
Assignments are checked like chapters, without being pages of the book.

The repository's rules hold at 70 columns, the width of a page. Without `--fix` each finding is a
line, and the exit code is 1. With `--fix` the code cells of the sources are written anew, and
everything around them stays as it is.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat.v4 import new_notebook

from calib_utils._files import write_text
from tools.sources.book import Book, chosen
from tools.sources.chapter_notebook import notebook_metadata
from tools.sources.errors import plainly
from tools.sources.locations import code_of
from tools.sources.myst import naming

ROOT = Path(__file__).parents[2]
COLUMNS = 70
# A chapter explains its functions in prose, imports where it needs to, and prints other signs.
IGNORED = "D,E402,RUF001"
OPTIONS = [
    *("--config", str(ROOT / "pyproject.toml"), "--config", f"line-length = {COLUMNS}"),
    *("--config", 'lint.isort.known-first-party = ["calib_audit", "calib_utils"]'),
    "--no-cache",
]


def sources(book: Book, names: list[str]) -> list[str]:
    """The chapters and the assignments with these names; all without names."""
    assignments = {
        path.parent.name: path.with_suffix("").relative_to(book.root).as_posix()
        for path in sorted(book.root.glob("classroom/assignments/*/*.md"))
        if path.stem == path.parent.name
    }
    asked = [assignments[name] for name in names if name in assignments]
    chapters = [name for name in names if name not in assignments]
    if names:
        return [*(chosen(book.chapters, chapters) if chapters else []), *asked]
    return [*book.chapters, *assignments.values()]


def style(book: Book, page: str, fix: bool) -> list[str]:
    """Check one page; return a line for each finding that is left."""
    with naming(page):
        if fix:
            cells = code_of(book.source(page))
            _, laid_out = _ruff([code for _, code in cells], fix=True)
            text = book.source(page)
            for (start, before), after in reversed(list(zip(cells, laid_out, strict=True))):
                text = text[:start] + after + text[start + len(before) :]
            if text != book.source(page):
                write_text(book.root / f"{page}.md", text)
                print(f"wrote {page}.md")
        text = book.source(page)
        cells = code_of(text)
    lines = [text.count("\n", 0, start) + 1 for start, _ in cells]
    found, laid_out = _ruff([code for _, code in cells], fix=False)
    findings = [(lines[cell] + row, what) for cell, row, what in found]
    for line, (_, before), after in zip(lines, cells, laid_out, strict=True):
        if before != after:
            findings.append((line, "would be formatted"))
    return [f"{page}.md:{line}: {what}" for line, what in sorted(findings)]


def _ruff(cells: list[str], fix: bool) -> tuple[list[tuple[int, int, str]], list[str]]:
    """What ruff finds, as (cell, row, message) from 0, and the cells as it lays them out."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chapter.ipynb"
        code = [nbformat.v4.new_code_cell(source) for source in cells]
        nbformat.write(new_notebook(cells=code, metadata=notebook_metadata()), path)
        check = ["check", f"--extend-ignore={IGNORED}", "--output-format=json"]
        said = _run([*check, *(["--fix"] if fix else []), str(path)])
        _run(["format", str(path)])
        laid_out = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    found = [
        (one["cell"] - 1, one["location"]["row"] - 1, f"{one['code'] or ''} {one['message']}")
        for one in json.loads(said)
    ]
    return found, laid_out


def _run(arguments: list[str]) -> str:
    command = [str(Path(sys.executable).with_name("ruff")), *arguments, *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # 1: something was found. 2: code that does not parse, or a wrong option.
    if done.returncode == 2 and "Failed to parse" not in done.stderr:
        raise RuntimeError(done.stderr)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="NAME", help="such as ece-and-mce; or all")
    parser.add_argument("--fix", action="store_true", help="format and correct the sources")
    arguments = parser.parse_args()
    book = Book()
    findings = [
        finding
        for page in sources(book, arguments.pages)
        for finding in style(book, page, arguments.fix)
    ]
    for finding in findings:
        print(finding)
    sys.exit(bool(findings))


if __name__ == "__main__":
    with plainly():
        main()
