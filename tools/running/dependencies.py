"""Which files of the repository some Python depends on, read from its imports.

Code depends on the repository's modules that it imports, on those that they import in turn, and on
the data of their packages, any of which they may open. So what a step or a chapter reads is
computed, and nobody keeps a list of it. Only an import whose name is made at run time is not seen.
Of the stored records, which are many, a step depends on those that it has opened (see `runner`).
Paths are relative to the folder that runs, which is the repository.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.sources.myst import Directive, parse

PACKAGES = ("benchmarks", "book", "calib_audit", "calib_utils", "classroom", "tools")
# What lies beside the data: code, files that are not finished, files that say nothing.
NO_DATA = (".*", "__pycache__", "*.part", "*.py", "py.typed")
# What code opens: any other file beside it is a stray one.
DATA = (".html", ".json", ".npz", ".toml")
DOCUMENTED = re.compile(r"^\.\. automodule:: (\S+)$", re.MULTILINE)


def files_of(*starts: str | Path) -> list[Path]:
    """Every file that modules (by name) and scripts (by path) depend on, they included.

    A module that is not in one of `PACKAGES` adds nothing.
    """
    found: set[Path] = set()
    names: set[str] = set()
    waiting: list[Path] = []
    for start in starts:
        waiting += _module(start) if isinstance(start, str) else [start]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            new = _imported(path.read_text("utf-8"), path.parent.parts) - names
            names |= new
            waiting += [file for name in new for file in _module(name)]
    for folder in {path.parent for path in found if path.parts[0] in PACKAGES}:
        found.update(path for path in data_in(folder) if path.suffix in DATA)
    return sorted(found)


def files_of_chapter(markdown: str) -> list[Path]:
    """Every file that the code cells of a chapter's source depend on.

    Raises:
        MystError: The source is no MyST.
    """
    cells = [
        block.body
        for block in parse(markdown)
        if isinstance(block, Directive) and block.name == "code-cell"
    ]
    return files_of(*(name for code in cells for name in _imported(code)))


def documented_in(folder: Path) -> set[str]:
    """The modules whose docstrings the pages in a folder, and in its sub-folders, show."""
    pages = (path.read_text("utf-8") for path in folder.rglob("*.md"))
    return {name for page in pages for name in DOCUMENTED.findall(page)}


def data_in(folder: Path) -> Iterator[Path]:
    """All that is no code in one folder, and in its sub-folders that are no packages."""
    for path in folder.iterdir():
        if any(path.match(pattern) for pattern in NO_DATA):
            continue
        if path.is_file():
            yield path
        elif not (path / "__init__.py").exists():
            yield from data_in(path)


def _module(name: str) -> Iterator[Path]:
    """The files that importing `a.b.c` runs; `c` may also be something that `a.b` defines."""
    folder = Path()
    for part in name.split(".") if name.partition(".")[0] in PACKAGES else ():
        for path in (folder / f"{part}.py", folder / part / "__init__.py"):
            if path.is_file():
                yield path
        folder /= part


@cache
def _imported(code: str, package: tuple[str, ...] = ()) -> frozenset[str]:
    """The names that code imports; all there are if it is no plain Python, as a cell with `%`."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except SyntaxError:
        files = (path for name in PACKAGES for path in Path(name).rglob("*.py"))
        return frozenset(".".join(path.with_suffix("").parts) for path in files)
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            start = [*above, node.module] if node.module else above
            names.update(".".join([*start, alias.name]) for alias in node.names)
    return frozenset(names)
