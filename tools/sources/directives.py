"""The directives that chapters use, a row each: their look in Colab, and what they are on the page.

Numbers and labels (`book.py`) and the plain forms (`flatten.py`) come from here alone.
A new directive is a new row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from tools.sources.myst import Directive, MystError
from tools.sources.questions import read_question


class Plain(Enum):
    """What a plain Markdown reader, such as Colab, shows."""

    BOX = "a block quote with a bold head; `<details>` where the page folds it, too"
    LINE = "a bold line before the cells of a solution"
    FORMULA = "a formula between `$$`, with its number"
    PICTURE = "the picture, and its caption"
    QUESTION = "the question and its answers, and `<details>` with the reasons"
    TABLE = "the table, behind its caption"
    CELL = "a code cell, followed by the caption of its figure or table"
    NOTHING = "nothing"


@dataclass(frozen=True)
class Row:
    """One directive.

    Attributes:
        plain: Its look in Colab.
        name: What it is called there. With a number, `Exercise 1.2`, also on the page.
        label: The option that holds its label. What has a label has a number, in the order of its
            chapter, counted among all of this name. A point leads into an option of several lines.
        required: Options that it must have.
        of_label: Its argument is no title but the label of what it belongs to.
    """

    plain: Plain
    name: str = ""
    label: str = ""
    required: tuple[str, ...] = ()
    of_label: bool = False


DIRECTIVES = {
    "code-cell": Row(Plain.CELL, "Figure", "mystnb.figure.name"),
    "exercise": Row(Plain.BOX, "Exercise", "label", required=("label",)),
    "figure": Row(Plain.PICTURE, "Figure", "name", required=("name", "alt")),
    "math": Row(Plain.FORMULA, "Equation", "label"),
    "note": Row(Plain.BOX, "Note"),
    "prf:definition": Row(Plain.BOX, "Definition", "label", required=("label",)),
    "prf:proof": Row(Plain.BOX, "Proof"),
    "prf:proposition": Row(Plain.BOX, "Proposition", "label", required=("label",)),
    "question": Row(Plain.QUESTION),
    "solution-end": Row(Plain.NOTHING),
    "solution-start": Row(Plain.LINE, "Solution to", of_label=True),
    "table": Row(Plain.TABLE, "Table", "name", required=("name",)),
}
# A code cell whose result is a table.
TABLE_CELL = Row(Plain.CELL, "Table", "mystnb.table.name")


def row_of(block: Directive) -> Row | None:
    """The directive's row, if it has one.

    Raises:
        MystError: An option is missing, or a question is not whole.
    """
    row = DIRECTIVES.get(block.name)
    if block.name == "code-cell" and "table" in block.options.get("mystnb", {}):
        row = TABLE_CELL
    for option in row.required if row else ():
        if not block.options.get(option):
            raise MystError(
                f"{block}: give it a `:{option}:` (one of several lines stands between `---` lines)"
            )
    if row and row.plain is Plain.QUESTION:
        try:
            if block.argument or block.options:
                raise MystError("it has no title and no options: ask on the next line")
            read_question(block.body)
        except MystError as error:
            raise MystError(f"line {block.line}: {{{block.name}}}: {error}") from None
    return row


def label_of(row: Row, block: Directive) -> str:
    """The directive's label; empty without one."""
    value: Any = block.options
    for key in row.label.split("."):
        value = value.get(key, {})
    return value or ""
