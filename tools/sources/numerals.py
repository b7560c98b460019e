"""Numerals in prose: each comes from the run, or is given on purpose.

    python -m tools.sources.numerals [NAME …]     say which numerals are not as they are listed
    python -m tools.sources.numerals --accept …   list them anew

`tests/numerals.yml` lists the numerals of each section of each page, in the order of the text. One
with `=` before it comes from the run: a cell of its section prints it, or a claim, an input or the
script of a figure holds it. All others are given, by an example, a definition or the literature.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from tools.sources.atomic import write_text
from tools.sources.book import HEAD, Book, chosen
from tools.sources.errors import plainly
from tools.sources.myst import Directive, Text, naming, parse

LISTED = Path("tests/numerals.yml")
ABOUT = """\
# The numerals of the prose, in its order. `=` comes from the run: the cells of the section print
# or hold it. All others are given. `python -m tools.sources.numerals --accept NAME` lists anew.
"""
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
# What a reader does not see, or sees as a number that the build counts: roles but for their titles,
# labels, addresses, the numbers of a list.
UNSEEN = re.compile(
    r"\{[\w:-]+\}`(?:(?P<title>[^`<]+?)\s*<[^`]*>|[^`]*)`"
    r"|^\([^)\s]+\)=|(?<=\])\([^)]*\)|\w+://\S+|^\s*\d+\. ",
    re.MULTILINE,
)
# None of a name, such as LeNet-5. In "1 to 2 %" both are per cent.
NUMERAL = re.compile(
    r"(?<![\w.])(?<![A-Za-z][-\u2011])(?:(?<![^\s($|=,[])[-\u2212])?"
    r"(?P<digits>\d+(?:\{?,\}?\d{3})*(?:\.\d+)?)"
    r"(?P<percent>\s?\\?%|(?=(?: to | and | or |\u2013)[-\u2212]?[\d.]+\s?\\?%))?"
)
NO_PROSE, NO_TITLE = ("eval-rst", "raw"), ("figure", "include", "solution-start")


@dataclass
class Section:
    """What stands below a heading, or in one solution."""

    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)

    @cached_property
    def held(self) -> set[Decimal]:
        """The numbers that its cells print, or that stand in their code."""
        printed = (value(found) for text in self.printed for found in NUMERAL.finditer(text))
        return set(printed).union(*map(literals, self.code))

    def numerals(self) -> Iterator[str]:
        """Each numeral as it is listed, such as `=7.0%`."""
        for prose in self.prose:
            text = UNSEEN.sub(lambda found: found["title"] or "", prose)
            for found in NUMERAL.finditer(text):
                spelled = re.sub(r"[\s{},\\]", "", found[0]).replace("\N{MINUS SIGN}", "-")
                # A single digit stands in any code, and says nothing.
                is_held = len(spelled) > 1 and value(found) in self.held
                yield "=" * is_held + spelled

    def __str__(self) -> str:
        return " ".join(self.numerals())


def value(numeral: re.Match[str]) -> Decimal:
    """What a numeral says, without its sign: 0.07 for 7 %."""
    number = Decimal(re.sub(r"[{},]", "", numeral["digits"]))
    return number if numeral["percent"] is None else number / 100


def literals(code: str) -> set[Decimal]:
    """The numbers in a cell's code, and in its strings."""
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    texts = " ".join(text for text in constants if isinstance(text, str))
    numbers = {Decimal(str(number)) for number in constants if type(number) in (int, float)}
    return numbers | {value(found) for found in NUMERAL.finditer(texts)}


class Reader:
    """Sorts a page into sections; its cells have printed what its notebook stores."""

    def __init__(self, folder: Path, cells: list[dict[str, Any]]) -> None:
        self.folder = folder
        self.cells = [cell for cell in cells if cell["cell_type"] == "code"]
        self.sections: dict[str, Section] = {}
        self.here = Section()

    def _enter(self, title: str) -> None:
        self.here = self.sections.setdefault(title, Section())

    def read(self, markdown: str) -> None:
        for block in parse(markdown):
            if isinstance(block, Directive):
                self._directive(block)
            elif isinstance(block, Text):
                self._text(block.text)

    def _text(self, text: str) -> None:
        start = 0
        for found in HEADING.finditer(text):
            self.here.prose.append(text[start : found.start()])
            self.heading, start = found["title"], found.start()
            self._enter(self.heading)
        self.here.prose.append(text[start:])

    def _directive(self, block: Directive) -> None:
        if block.name == "code-cell":
            self._cell(block)
            return
        if block.name.startswith("solution"):
            self._enter(block.argument or self.heading)
        if block.name not in NO_TITLE:
            self.here.prose.append(block.argument)
        self.here.prose.append(str(block.options.get("alt", "")))
        if block.name == "figure":
            script = (self.folder / block.argument).with_suffix(".py")
            self.here.code += [script.read_text("utf-8")] * script.exists()
        if block.name == "math":
            self.here.prose.append(block.body)
        elif block.name not in NO_PROSE:
            self.read(block.body)

    def _cell(self, block: Directive) -> None:
        about = block.options.get("mystnb", {})
        says = [about.get("image", {}).get("alt", ""), about.get("code_prompt_show", "")]
        says += [about.get(made, {}).get("caption", "") for made in ("figure", "table")]
        self.here.prose += says
        self.here.code.append(block.body)
        # Checks come last in the notebook.
        for position, cell in enumerate(self.cells):
            if block.body in "".join(cell["source"]):
                self.here.printed += map(_text_of, cell["outputs"])
                del self.cells[position]
                break


def _text_of(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    return "".join(output.get("text") or data.get("text/markdown") or data.get("text/plain") or "")


def sections(markdown: str, cells: list[dict[str, Any]], folder: Path) -> dict[str, Section]:
    """The sections of a source that have numerals, by their titles.

    The cells, as a notebook stores them, have printed what the code of the source prints.
    """
    reader = Reader(folder, cells)
    head = HEAD.match(markdown)
    reader.read(markdown[head.end() if head else 0 :])
    # The opening says what the whole page finds.
    opening, *others = reader.sections.values()
    opening.code += [code for section in others for code in section.code]
    opening.printed += [text for section in others for text in section.printed]
    return {title: section for title, section in reader.sections.items() if str(section)}


def read(book: Book, page: str) -> dict[str, Section]:
    """The sections of a page of the book.

    Raises:
        MystError: The page cannot be parsed.
    """
    notebook = book.root / f"{page}.ipynb"
    cells = json.loads(notebook.read_text("utf-8"))["cells"] if notebook.exists() else []
    with naming(page):
        return sections(book.source(page), cells, (book.root / page).parent)


def findings(now: dict[str, Section], listed: dict[str, str]) -> list[str]:
    """What is not as listed: other numerals in a section, or one that its cells no longer hold."""
    found = []
    for title in dict.fromkeys([*now, *listed]):
        has, had = str(now.get(title, "")), listed.get(title, "")
        if has.replace("=", "") != had.replace("=", ""):
            found.append(f"{title!r} has the numerals\n  {has}\nand listed are\n  {had}")
            continue
        pairs = zip(has.split(), had.split(), strict=True)
        if lost := [was[1:] for is_, was in pairs if was[0] == "=" != is_[0]]:
            found.append(f"{title!r}: no cell prints or holds {', '.join(lost)} any more")
    return found


def read_list() -> dict[str, dict[str, str]]:
    """What is listed of each page: the numerals of its sections, by their titles."""
    return yaml.safe_load(LISTED.read_text("utf-8")) or {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="NAME", help="such as ece-and-mce; or all")
    parser.add_argument("--accept", action="store_true", help="list the numerals anew")
    arguments = parser.parse_args()
    book = Book()
    listed = read_list()
    found = []
    for page in chosen(book.pages, arguments.pages):
        now = read(book, page)
        found += [f"{page}.md: {finding}" for finding in findings(now, listed.get(page, {}))]
        listed[page] = {title: str(section) for title, section in now.items()}
    print("\n".join(found))
    if not arguments.accept:
        sys.exit(bool(found))
    kept = {page: listed[page] for page in book.pages if listed.get(page)}
    said = yaml.safe_dump(kept, allow_unicode=True, sort_keys=False, width=sys.maxsize)
    write_text(LISTED, ABOUT + said)


if __name__ == "__main__":
    with plainly():
        main()
