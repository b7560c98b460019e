"""How text, tables and folds are set: what no setting of Sphinx decides.

A Sphinx extension. It works on the tree of a page, once every reference in it is resolved.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx

from tools.finishing.pages import replaced
from tools.sources.no_break import UNITS, with_numbers_kept, with_units_kept
from tools.sources.questions import tagged, tagged_text

EMPTY_HEAD = re.compile(r"<th([^>]*)></th>")
SIGNS = (
    "\N{MINUS SIGN}\N{EN DASH}\N{PLUS-MINUS SIGN}\N{MULTIPLICATION SIGN}\N{ALMOST EQUAL TO}"
    "\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO}\N{INFINITY}\N{DAGGER}"
)
WORDS = rf"to|inf|nan|below|above|points?|{UNITS}"
POWER = r"(?<=\d)e[+\-]\d+"
NUMBER = re.compile(rf"(?:[\d.,+\-~<=>%/()\[\]?\s{SIGNS}]|{WORDS}|{POWER})+", re.IGNORECASE)
HYPHEN = re.compile(r"(?:(?<![\w.\-])|(?<=\de))-(?=\.?\d|inf\b|log\b)")
SPACED = re.compile(r"(?<=[\w)\]])\s-\s(?=[\w(\[])")
INTERVAL = re.compile(r"(?P<number>\S+ )(?P<interval>\([^()]*\sto\s[^()]*\))")
VERDICT = "verdict"
HANGUL = re.compile(r"[\uac00-\ud7a3]")
# Code in a line, in signs, that no line should break.
SHORT = 28
# Lines of a cell that are open, or of its first statements if it is longer.
OPEN = 12
# What a record, or a grid of them, says of how its networks were trained.
SENTENCE = 30
PROVENANCE = re.compile(r"\d\s+training\s+images\s+of\s+[^,]+,\s+\d+\s+epochs\b")
CODE = (
    *(nodes.FixedTextElement, nodes.literal, nodes.math, nodes.math_block, nodes.raw),
    addnodes.desc_signature,
)


def set_page(app: Sphinx, doctree: nodes.document, page: str) -> None:
    for text in list(doctree.findall(nodes.Text)):
        keep_units(text)
    if page.startswith("book/api/"):
        for text in list(doctree.findall(nodes.Text)):
            set_minus(text)
    for link in doctree.findall(nodes.reference):
        if "<" in link.get("refuri", ""):  # as in some DOIs
            link["refuri"] = link["refuri"].replace("<", "%3C").replace(">", "%3E")
    for formula in doctree.findall(nodes.math):
        hold_sign(formula)
    for code in doctree.findall(nodes.literal):
        if len(code.astext()) <= SHORT:
            code["classes"].append("short")
    for table in doctree.findall(nodes.table):
        verdict_second(table)
        mark_numeric(table)
        mark_wordy(table)
        unwrap_cells(table)
    if page.startswith("notebooks/"):
        link_terms(doctree, glossary(app, page))
    for term in doctree.findall(nodes.term):
        if HANGUL.search(term.astext()):
            term["classes"].append("language-ko")
    for output in doctree.findall(is_output):
        if PROVENANCE.search(output.astext()) and not any(output.findall(nodes.table)):
            output["classes"].append("provenance")
        for printed in output.findall(nodes.literal_block):
            printed.rawsource = HYPHEN.sub("\N{MINUS SIGN}", printed.astext())
            printed[:] = [nodes.Text(printed.rawsource)]
    for code in list(doctree.findall(is_shown_code)):
        fold_rest(code)
    for box in list(doctree.findall(is_dropdown)):
        as_fold(box)


def keep_units(text: nodes.Text) -> None:
    """No line breaks at a number (tools/sources/no_break.py), except in code and formulas."""
    kept = with_numbers_kept(text)
    if kept != text and not is_code(text):
        text.parent.replace(text, nodes.Text(kept))


def is_code(node: nodes.Node) -> bool:
    """Whether a node stands in code, in a signature or in a formula."""
    above = node.parent
    while above is not None and not isinstance(above, CODE):
        above = above.parent
    return above is not None


def set_minus(text: nodes.Text) -> None:
    """-1 and K - 1 of a docstring, which is ASCII, with a true minus and in one line."""
    said = HYPHEN.sub("\N{MINUS SIGN}", text)
    said = SPACED.sub("\N{NO-BREAK SPACE}\N{MINUS SIGN}\N{NO-BREAK SPACE}", said)
    if said != text and not is_code(text):
        text.parent.replace(text, nodes.Text(said))


def hold_sign(formula: nodes.math) -> None:
    """No line begins with the sign that ends a formula's sentence, or breaks in the k-th.

    A word joiner stands before the sign, and on both sides of the hyphen.
    """
    after = formula.next_node(descend=False, siblings=True)
    if isinstance(after, nodes.Text) and re.match(r"[.,;:?!)]|-\w", after):
        held = re.sub("^-", "-\N{WORD JOINER}", after)
        after.parent.replace(after, nodes.Text(f"\N{WORD JOINER}{held}"))


def glossary(app: Sphinx, page: str) -> dict[str, str]:
    """The address of each word of the glossary, as seen from a page."""
    objects = app.env.get_domain("std").get_objects()
    return {
        name.lower(): f"{app.builder.get_relative_uri(page, target)}#{anchor}"
        for name, _, kind, target, anchor, _ in objects
        if kind == "term"
    }


def link_terms(doctree: nodes.document, terms: dict[str, str]) -> None:
    """Where a page explains a word of the glossary, in bold, the first time: a link to it there."""
    left = dict(terms)
    for bold in list(doctree.findall(nodes.strong)):
        address = left.pop(bold.astext().lower(), None)
        if address and not isinstance(bold.parent, nodes.title | nodes.reference):
            bold.children = [nodes.reference("", "", *bold.children, refuri=address, internal=True)]
            bold[0].parent = bold


def mark_numeric(table: nodes.table) -> None:
    """The class `numeric` for the cells of columns that hold numbers, their heads included.

    A link such as (2.1) is the number of something, and no number.
    """
    rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
    body = {id(row) for part in table.findall(nodes.tbody) for row in part.findall(nodes.row)}
    below = [
        cells for row, cells in zip(table.findall(nodes.row), rows, strict=True) if id(row) in body
    ]
    if len({len(cells) for cells in rows}) != 1:
        return  # cells that span others
    for column, cells in enumerate(zip(*below, strict=True)):
        said = [text for cell in cells if (text := cell.astext().strip())]
        are_links = any(any(cell.findall(nodes.reference)) for cell in cells)
        has_digits = any(re.search(r"\d", text) for text in said)
        if has_digits and not are_links and all(map(NUMBER.fullmatch, said)):
            for row in rows:
                row[column]["classes"].append("numeric")
            for cell in cells:
                for text in list(cell.findall(nodes.Text)):
                    set_number(text)


def set_number(text: nodes.Text) -> None:
    """A minus is no hyphen, a space stands before per cent, and an interval stays in one line."""
    if not isinstance(text.parent, CODE):
        said = HYPHEN.sub("\N{MINUS SIGN}", with_units_kept(text))
        said = re.sub(r"\s+to\s+", "\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}", said)
        said = re.sub(r"(?<=\d\N{EN DASH})(?=\d)", "\N{WORD JOINER}", said)
        shown: list[nodes.Node] = [nodes.Text(said)]
        if found := INTERVAL.fullmatch(said):
            # Which a phone shows below its number.
            interval = nodes.inline("", found["interval"], classes=["interval"])
            shown = [nodes.Text(found["number"]), interval]
        text.parent.replace(text, shown)


def verdict_second(table: nodes.table) -> None:
    """The verdict next to what it is about, where a phone shows it; what it rests on follows."""
    rows = list(table.findall(nodes.row))
    head = next((row for part in table.findall(nodes.thead) for row in part), None)
    if head is None or len({len(row) for row in rows}) != 1:
        return
    names = [cell.astext().strip().lower() for cell in head]
    if VERDICT in names[2:]:
        at = names.index(VERDICT)
        for row in rows:
            row.insert(1, row.pop(at))


def unwrap_cells(table: nodes.table) -> None:
    """A cell's only paragraph without an element of its own: half as many to lay out."""
    for cell in table.findall(nodes.entry):
        if len(cell) == 1 and isinstance(cell[0], nodes.paragraph):
            cell[:] = [addnodes.compact_paragraph("", "", *cell[0].children)]


def mark_wordy(table: nodes.table) -> None:
    """The class `wordy` for cells with a sentence in them, which a phone should not squeeze."""
    for cell in table.findall(nodes.entry):
        if len(cell.astext()) > SENTENCE:
            cell["classes"].append("wordy")


def is_output(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "cell_output" in node["classes"]


def is_shown_code(node: nodes.Node) -> bool:
    is_code = isinstance(node, nodes.container) and node.get("nb_element") == "cell_code_source"
    return is_code and not isinstance(node.parent, HideCodeCellNode)


def fold_rest(code: nodes.Element) -> None:
    """Below a long cell, what opens the rest of it, or all; whoever copies it gets all."""
    text = code.astext().strip()
    total, shown = len(text.splitlines()), open_lines(text)
    if shown < total:
        words = f"All {total} lines" if shown else f"Show the code, {total} lines"
        named = tagged_text("", words, tag="summary")
        code += tagged("", named, tag="details", classes=["rest", f"rest-{shown}"])


def open_lines(code: str) -> int:
    """How many lines stay open: of a long cell whole statements, never the beginning of one.

    Where these would be imports alone, or a line or two, none: the cell is folded whole.
    """
    lines = code.splitlines()
    if len(lines) <= OPEN:
        return len(lines)
    try:
        statements = ast.parse(code).body
    except SyntaxError:  # a command of the notebook's
        return OPEN
    shown = [one for one in statements if (one.end_lineno or 0) <= OPEN]
    if all(isinstance(one, ast.Import | ast.ImportFrom) for one in shown):
        return 0
    ends = [one.end_lineno or 0 for one in shown]
    # Rather before an empty line, where the author has made a pause.
    pauses = [end for end in ends if end >= OPEN // 2 and not lines[end].strip()]
    return max(pauses or ends)


def is_dropdown(node: nodes.Node) -> bool:
    return (
        isinstance(node, nodes.Element)
        and "dropdown" in node.get("classes", ())
        and bool(node.children)
        and isinstance(node[0], nodes.title)
    )


def as_fold(box: nodes.Element) -> None:
    """Put a fold of HTML's own in the place of an admonition that a script would fold.

    What opens it cannot be a link as well: links of its title go inside.
    """
    title, *rest = box.children
    links = list(title.findall(nodes.reference))
    for link in links:
        link.parent.replace(link, link.children)
        link[:] = [nodes.Text(link.astext().strip())]
    if links:
        rest.insert(0, nodes.paragraph("", "", nodes.Text("Back to "), *links))
    classes = dict.fromkeys([*box["classes"], "admonition", "fold"])
    del classes["dropdown"]
    named = tagged_text("", "", *title.children, tag="summary", classes=["admonition-title"])
    inside = tagged("", named, *rest, tag="details", ids=box["ids"], classes=[*classes])
    box.parent.replace(box, inside)


def for_screen_readers(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """A fold of code is called what it shows, which MyST-NB hides; an empty cell heads nothing."""
    if not doctree:
        return
    if any(doctree.findall(HideCodeCellNode)):
        label = ' aria-label="Toggle hidden content"'
        context["body"] = replaced(context["body"], label, "", page)
    heads = [cell for head in doctree.findall(nodes.thead) for cell in head.findall(nodes.entry)]
    if not all(cell.astext().strip() for cell in heads):
        context["body"] = replaced(
            context["body"], EMPTY_HEAD, lambda found: f"<td{found[1]}></td>", page
        )


def setup(app: Sphinx) -> dict[str, Any]:
    # After what other extensions do to a finished tree.
    app.connect("doctree-resolved", set_page, priority=900)
    app.connect("html-page-context", for_screen_readers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
