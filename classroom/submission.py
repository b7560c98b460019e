"""What a student handed in: the cells of a notebook, whatever has happened to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classroom.bubblewrap import NotGraded

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000
MAX_ANSWER = 20_000  # characters of a written answer


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        number: 1 for the first code cell, and so on; 0 for text.
        source: What it says.
        question: The question that its metadata names, or "".
        tags: Its tags.
    """

    number: int
    source: str
    question: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """A notebook: its code cells and its texts, in order."""

    code: tuple[Cell, ...]
    texts: tuple[Cell, ...]

    def line(self, number: Any, line: Any) -> str | None:
        """One line of a code cell; ``None`` where there is no such line."""
        cells = {cell.number: cell for cell in self.code}
        if type(number) is not int or type(line) is not int or number not in cells:
            return None
        lines = cells[number].source.split("\n")
        return lines[line - 1].strip()[:100] if 1 <= line <= len(lines) else None

    def question_of(self, number: int, functions: dict[str, str]) -> str:
        """The question that a code cell answers, or "".

        Args:
            number: Of the cell.
            functions: The question of each function. A cell without metadata is known by what it
                defines.
        """
        cell = self.code[number - 1]
        if cell.question:
            return cell.question
        return next((functions[name] for name in defined(cell.source) if name in functions), "")

    def defines(self, functions: Iterable[str]) -> bool:
        """Whether any of these functions stands somewhere in it."""
        return any(not defined(cell.source).isdisjoint(functions) for cell in self.code)

    def written(self, question: str, released: Submission) -> str:
        """The answer to a question that a teacher reads.

        Args:
            question: Its name.
            released: The notebook as it was handed out. Where no cell names the question any
                more, the answer is all text that this one does not have.
        """
        found = [cell.source for cell in self.texts if cell.question == question]
        if not found:
            given = {cell.source.strip() for cell in released.texts}
            unknown = [cell for cell in self.texts if not cell.question]
            found = [cell.source for cell in unknown if cell.source.strip() not in given]
        return "\n\n".join(found)[:MAX_ANSWER]


def defined(source: str) -> set[str]:
    """The functions and values that a cell defines, also in a cell with an error.

    The text is searched, not parsed: a parser can be crashed, and this process is ours.
    """
    names = set(re.findall(r"^[ \t]*(?:def|class)[ \t]+(\w+)", source, re.MULTILINE))
    for chain in re.findall(r"^(?:[^\W\d]\w*[ \t]*=(?!=)[ \t]*)+", source, re.MULTILINE):
        names |= {name.strip() for name in chain.split("=")}
    return names - {""}


def read_submission(file: Path) -> Submission:
    """Read a notebook.

    Raises:
        NotGraded: It is none; the message says what it looks like.
    """
    try:
        if file.stat().st_size > MAX_BYTES:
            raise NotGraded(f"The file is larger than {MAX_BYTES // 1_000_000} MB.")
        content = file.read_bytes()
    except OSError as error:
        raise NotGraded(f"The file cannot be read: {error.strerror}.") from None
    if content.startswith(b"%PDF"):
        raise NotGraded("The file is a PDF, not a notebook (.ipynb).")
    if content.startswith(b"PK"):
        raise NotGraded("The file is a zip file, not a notebook (.ipynb).")
    try:
        notebook = json.loads(content)
        cells = notebook["cells"]
        found = [_cell(cell) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotGraded("The file is not a notebook (.ipynb), or is damaged.") from None
    if not found:
        raise NotGraded("The notebook has no cells.")
    if len(found) > MAX_CELLS:
        raise NotGraded(f"The notebook has more than {MAX_CELLS} cells.")
    code = [cell for kind, cell in found if kind == "code"]
    return Submission(
        tuple(Cell(k, c.source, c.question, c.tags) for k, c in enumerate(code, start=1)),
        tuple(cell for kind, cell in found if kind == "markdown"),
    )


def _cell(cell: dict[str, Any]) -> tuple[str, Cell]:
    source = cell["source"]
    text = source if isinstance(source, str) else "".join(source)
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    question, tags = metadata.get("question"), metadata.get("tags")
    return str(cell["cell_type"]), Cell(
        0,
        text.encode(errors="replace").decode(),  # lone surrogates go nowhere
        question if isinstance(question, str) else "",
        tuple(map(str, tags)) if isinstance(tags, list) else (),
    )
