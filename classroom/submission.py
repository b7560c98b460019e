"""What a student handed in: the cells of a notebook, whatever has happened to it.

A cell that is damaged costs what it says, and no other cell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from classroom.bubblewrap import NotGraded

MAX_BYTES = 20_000_000
MAX_CELLS = 2_000
MAX_ANSWER = 20_000  # characters of a written answer, without its pictures
MAX_PICTURES = 4_000_000  # characters of them
PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=]+")
ATTACHED = re.compile(r"attachment:((?:[^\s<>\"'()]|\([^\s<>\"'()]*\))+)")


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        number: 1 for the first code cell, and so on; 0 for text.
        source: What it says; in a text, attached pictures are ``data:`` images.
        question: The question that its metadata names, or "".
        tags: Its tags.
        pictures: What a code cell drew, as ``data:`` images.
    """

    number: int
    source: str
    question: str = ""
    tags: tuple[str, ...] = ()
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """A notebook.

    Attributes:
        cells: In order.
        metadata: Of the whole.
    """

    cells: tuple[Cell, ...]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell.number)

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
        """The answer to a question that a teacher reads, as Markdown.

        All that the student added to the question's part of the notebook belongs to it, in
        whatever cells it stands: texts, and pictures that code drew.

        Args:
            question: Its name.
            released: The notebook as it was handed out. Where the part of the question has nothing
                new, the answer is all new text outside the parts of the other questions to read.
        """
        given = {cell.source.strip() for cell in released.cells}
        read = {cell.question for cell in released.cells if not cell.number} - {""}
        new = [
            (part, cell)
            for part, cell in zip(self._parts(released), self.cells, strict=True)
            if cell.source.strip() not in given
        ]
        own = [cell for part, cell in new if part == question]
        if all(cell.number for cell in own):
            own += [cell for part, cell in new if part not in read and not cell.number]
        pieces = []
        for cell in own:
            drawn = [f"![Code cell {cell.number}]({picture})" for picture in cell.pictures]
            pieces += drawn if cell.number else [cell.source.strip()]
        return _bounded(pieces)

    def _parts(self, released: Submission) -> list[str]:
        """The question in whose part each cell stands: from its heading on, or from its cell."""
        heads, next_question = {}, ""
        for cell in reversed(released.cells):
            next_question = cell.question or next_question
            if not cell.number and cell.source.startswith("#"):
                heads[cell.source.strip()] = next_question
        found, part = [], ""
        for cell in self.cells:
            part = cell.question or heads.get(cell.source.strip(), part)
            found.append(part)
        return found


def _bounded(pieces: list[str]) -> str:
    """Markdown of at most `MAX_ANSWER` characters, and pictures of at most `MAX_PICTURES`."""
    found, letters, drawn = [], MAX_ANSWER, MAX_PICTURES
    for piece in filter(None, pieces):
        bare = PICTURE.sub("", piece)
        letters, drawn = letters - len(bare), drawn - (len(piece) - len(bare))
        found.append(piece if drawn >= 0 else PICTURE.sub("left-out", piece))
        if letters < 0:
            found[-1] = bare[:letters]
            break
    return "\n\n".join(found)


def defined(source: str) -> set[str]:
    """The functions and values that a cell defines, also in a cell with an error.

    The text is searched, not parsed: a parser can be crashed, and this process is ours.
    """
    names = set(re.findall(r"^[ \t]*(?:def|class)[ \t]+(\w+)", source, re.MULTILINE))
    for chain in re.findall(r"^(?:[^\W\d]\w*[ \t]*=(?!=)[ \t]*)+", source, re.MULTILINE):
        names |= {name.strip() for name in chain.split("=")}
    return names - {""}


def read_submission(file: Path) -> Submission:
    """Read a file that should be a notebook.

    Raises:
        NotGraded: It is none; the message says what it looks like.
    """
    try:
        with file.open("rb") as opened:
            return submission_of(opened.read(MAX_BYTES + 1))
    except OSError as error:
        raise NotGraded(f"The file cannot be read: {error.strerror}.") from None


def submission_of(content: bytes) -> Submission:
    """The notebook that a file with this content is.

    Raises:
        NotGraded: As `read_submission`.
    """
    if len(content) > MAX_BYTES:
        raise NotGraded(f"The file is larger than {MAX_BYTES // 1_000_000} MB.")
    if content.startswith(b"%PDF"):
        raise NotGraded("The file is a PDF, not a notebook (.ipynb).")
    if content.startswith(b"PK"):
        raise NotGraded("The file is a zip file, not a notebook (.ipynb).")
    try:
        notebook = json.loads(content, object_pairs_hook=_longest)
        cells = notebook["cells"]
        if not isinstance(cells, list):
            raise TypeError("no list of cells")
        found = [_cell(cell) for cell in cells if isinstance(cell, dict)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise NotGraded("The file is not a notebook (.ipynb), or is damaged.") from None
    if not found:
        raise NotGraded("The notebook has no cells.")
    if len(found) > MAX_CELLS:
        raise NotGraded(f"The notebook has more than {MAX_CELLS} cells.")
    count, cells = 0, []
    for kind, cell in found:
        count += kind == "code"
        cells.append(replace(cell, number=count) if kind == "code" else cell)
    metadata = notebook.get("metadata")
    return Submission(tuple(cells), metadata if isinstance(metadata, dict) else {})


def _longest(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of a notebook: what is there twice, as after a merge, counts where it says more."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        sized = isinstance(value, str | list | dict) and isinstance(found.get(key), type(value))
        if not sized or len(value) >= len(found[key]):
            found[key] = value
    return found


def _cell(cell: dict[str, Any]) -> tuple[str, Cell]:
    metadata = cell.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    question, tags = metadata.get("question"), metadata.get("tags")
    source = _with_pictures(_text(cell.get("source", "")), cell.get("attachments"))
    outputs = cell.get("outputs")
    listed = outputs if isinstance(outputs, list) else []
    drawn = [output.get("data") for output in listed if isinstance(output, dict)]
    return str(cell.get("cell_type", "")), Cell(
        0,
        source,
        question if isinstance(question, str) else "",
        tuple(map(str, tags)) if isinstance(tags, list) else (),
        tuple(picture for kinds in drawn for picture in _pictures(kinds)),
    )


def _text(source: Any) -> str:
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode(errors="replace").decode()  # lone surrogates go nowhere


def _with_pictures(source: str, attached: Any) -> str:
    """A text with its attached pictures, each once: a short text can ask for a large one often."""
    kinds = attached if isinstance(attached, dict) else {}
    pictures = {name: drawn for name in kinds for drawn in _pictures(kinds[name])}
    return ATTACHED.sub(lambda found: pictures.pop(unquote(found[1]), found[0]), source)


def _pictures(kinds: Any) -> list[str]:
    """What a notebook stores of one picture, by its kinds, as a ``data:`` image."""
    for kind in ("image/png", "image/jpeg"):
        if isinstance(kinds, dict) and kind in kinds:
            found = f"data:{kind};base64,{''.join(_text(kinds[kind]).split())}"
            return [found] if PICTURE.fullmatch(found) else []
    return []
