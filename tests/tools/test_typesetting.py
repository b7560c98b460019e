"""Text, tables and folds as they are set on the page."""

from __future__ import annotations

import textwrap

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from myst_nb.sphinx_ import HideCodeCellNode

from calib_utils.records import describe_protocol, load_grid, load_record
from tools.finishing.typesetting import (
    PROVENANCE,
    as_fold,
    fold_rest,
    hold_sign,
    is_dropdown,
    is_shown_code,
    keep_units,
    link_terms,
    mark_numeric,
    open_lines,
    set_minus,
)
from tools.sources.questions import tagged

SPACE = "\N{NO-BREAK SPACE}"
TABLE = """
==========  =====  ==========  =========  =====
network     ECE    interval    share      note
==========  =====  ==========  =========  =====
LeNet-5     2.1    0.4 to 2.9  12 ms      one
ResNet-34   M7.0   5.2D7.7     D          2
paper              D           0.5 %      D
==========  =====  ==========  =========  =====
""".replace("M", "\N{MINUS SIGN}").replace("D", "\N{EN DASH}")


def numeric(source: str) -> list[list[bool]]:
    table = next(publish_doctree(source).findall(nodes.table))
    mark_numeric(table)
    rows = table.findall(nodes.row)
    return [["numeric" in cell["classes"] for cell in row.findall(nodes.entry)] for row in rows]


def test_mark_numeric_marks_columns_of_numbers_with_their_heads() -> None:
    assert numeric(TABLE) == [[False, True, True, True, False]] * 4


@pytest.mark.parametrize(
    ("cell", "is_number"),
    [
        ("below 0.001", True),
        ("+1.2 points", True),
        ("0.5 to 2", True),
        ("5.8e-08", True),
        ("size 5", False),
        ("?", False),
        ("layer 1", False),
        ("`(2.1) <https://a.b>`_", False),
    ],
)
def test_mark_numeric_knows_what_counts_as_a_number(cell: str, is_number: bool) -> None:
    line = "=" * 24
    table = f"=====  {line}\nname   value\n=====  {line}\none    {cell}\n=====  {line}\n"
    assert numeric(table) == [[False, is_number]] * 2


@pytest.mark.parametrize(
    ("cell", "is_set"),
    [
        ("-3.1 to -2", "M3.1_to_M2"),
        ("1.2D1.6", "1.2DJ1.6"),
        ("5.8e-08", "5.8eM08"),
        ("-1.2%", "M1.2_%"),
        ("2026-11-22", "2026-11-22"),
        ("``-1``", "-1"),
    ],
)
def test_mark_numeric_sets_numbers_as_in_prose(cell: str, is_set: str) -> None:
    signs = {"M": "\N{MINUS SIGN}", "_": SPACE, "D": "\N{EN DASH}", "J": "\N{WORD JOINER}"}
    line = "=" * 12
    source = f"=====  {line}\nname   value\n=====  {line}\n-1%    {cell}\n=====  {line}\n"
    table = next(publish_doctree(source.replace("D", signs["D"])).findall(nodes.table))
    mark_numeric(table)
    said = [entry.astext() for entry in table.findall(nodes.entry)]
    assert said == [
        "name",
        "value",
        f"{signs['M']}1{SPACE}%",
        is_set.translate(str.maketrans(signs)),
    ]


def test_mark_numeric_leaves_a_table_with_a_cell_across_columns() -> None:
    table = "===  ===\n a    b\n===  ===\n1    2\nboth\n--------\n3    4\n===  ===\n"
    assert not any(map(any, numeric(table)))


def test_hold_sign_lets_no_line_begin_with_it() -> None:
    tree = publish_doctree("It is :math:`a`, or :math:`b` or (:math:`c`), the :math:`k`-th.")
    for formula in tree.findall(nodes.math):
        hold_sign(formula)
    joined = "\N{WORD JOINER}"
    assert tree.astext() == f"It is a{joined}, or b or (c{joined}), the k{joined}-{joined}th."


@pytest.mark.parametrize(
    ("source", "is_set"),
    [
        (
            "It is 90 % of *5%*, ``90 % 2``, a % b, 4 s, 4 sets.\n\n::\n\n  7 % 2\n",
            "It is 90_% of 5_%, 90 % 2, a % b, 4_s, 4 sets.\n\n7 % 2",
        ),
        (
            "ResNet-34 of 2026-11-20, ``LeNet-5``, a two-way map, -1 to 3-4, 1e-9",
            "ResNet-J34 of 2026-11-20, LeNet-5, a two-way map, -1 to 3-4, 1e-9",
        ),
        # A small number is no name.
        (
            "p is 5.8e-08, on 2\n+ 6 = 8 days, ``2 + 6``, a + 6",
            "p is 5.8e-08, on 2_+_6 = 8 days, 2 + 6, a + 6",
        ),
        (
            "See Figure 7.1, *Exercise 2.3* and part II at T = 1.2, or at Tea; if x = y, ``at T``.",
            "See Figure_7.1, Exercise_2.3 and part_II at_T_=_1.2, or at Tea; if x = y, at T.",
        ),
    ],
)
def test_keep_units_keeps_a_number_in_one_line_with_what_it_is_about(
    source: str, is_set: str
) -> None:
    """Its unit, its name, its sum; but not in code."""
    tree = publish_doctree(source)
    for text in list(tree.findall(nodes.Text)):
        keep_units(text)
    assert tree.astext() == is_set.replace("_", SPACE).replace("-J", "-\N{WORD JOINER}")


def test_provenance_is_told_from_prose() -> None:
    record = load_record("resnet34-cifar100", "test")
    grid = describe_protocol(load_grid("depth", "core"))
    of_digits = grid.replace("CIFAR-100", "scikit-learn's digits")
    assert of_digits != grid
    wrapped = "\n".join(textwrap.wrap(record.provenance, 68))
    for said in (record.provenance, wrapped, grid, of_digits):
        assert PROVENANCE.search(said)
    assert not PROVENANCE.search(
        "It saw 45,000 training images, and after 30 epochs and a seed: no."
    )


def test_link_terms_leads_to_the_glossary_the_first_time() -> None:
    tree = publish_doctree("**Baseline** and **other**.\n\nThe **baseline** again.\n")
    link_terms(tree, {"baseline": "glossary.html#term-baseline"})
    links = [(link.astext(), link["refuri"]) for link in tree.findall(nodes.reference)]
    assert links == [("Baseline", "glossary.html#term-baseline")]
    assert tree.astext().replace("\n\n", " ") == "Baseline and other. The baseline again."


def test_as_fold_names_a_fold_by_the_title_of_the_dropdown() -> None:
    tree = publish_doctree(".. admonition:: A *hint*\n   :class: dropdown\n\n   Look.\n")
    box = next(tree.findall(is_dropdown))
    box["ids"].append("ex-1")
    as_fold(box)
    inside = next(tree.findall(tagged))
    assert inside["ids"] == ["ex-1"]
    assert "dropdown" not in inside["classes"]
    assert [child.astext() for child in inside] == ["A hint", "Look."]
    assert next(tree.findall(is_dropdown), None) is None


def test_as_fold_takes_a_link_in_the_title_inside() -> None:
    tree = publish_doctree(
        ".. admonition:: To `Two <http://x.org>`_\n   :class: dropdown\n\n   Look.\n"
    )
    as_fold(next(tree.findall(is_dropdown)))
    title, back, _ = next(tree.findall(tagged)).children
    assert title.astext() == "To Two"
    assert not list(title.findall(nodes.reference))
    assert back.astext() == "Back to Two"
    assert next(back.findall(nodes.reference))["refuri"] == "http://x.org"


def test_set_minus_sets_true_minus_signs_in_a_docstring() -> None:
    doctree = publish_doctree(
        "From 0 to K - 1, (1\n- p), -100, -.5 or 1e-4 to -inf, -log(p); not 2-3, ``K - 1``"
    )
    for text in list(doctree.findall(nodes.Text)):
        set_minus(text)
    minus = "\N{MINUS SIGN}"
    said = "From 0 to K_M_1, (1_M_p), M100, M.5 or 1eM4 to Minf, Mlog(p); not 2-3, K - 1"
    assert doctree.astext() == said.replace("_", SPACE).replace("M", minus)


@pytest.mark.parametrize(("lines", "is_long"), [(12, False), (13, True)])
@pytest.mark.parametrize("is_folded", [False, True])
def test_fold_rest_lets_a_long_cell_be_opened(lines: int, is_long: bool, is_folded: bool) -> None:
    """Unless all of it is folded: then it opens at once."""
    code = nodes.container("", nodes.literal_block("", "x = 1\n" * lines))
    code["nb_element"] = "cell_code_source"
    around = HideCodeCellNode("", code) if is_folded else nodes.container("", code)
    assert is_shown_code(code) is not is_folded
    assert not is_shown_code(around)
    fold_rest(code)
    rest = code.children[1:]
    assert [one.astext() for one in rest] == [f"All {lines} lines"] * is_long
    assert [one["tag"] for one in rest] == ["details"] * is_long


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = 1\n" * 12, 12),
        ("x = 1\n" * 13, 12),
        # Before the statement that would be cut, and rather where the author made a pause.
        ("x = 1\n" * 8 + "y = [\n" + "    1,\n" * 9 + "]", 8),
        ("x = 1\n" * 6 + "\n" + "x = 1\n" * 9, 6),
        # Imports alone tell nothing, and of a long function nothing is shown.
        ("import os\nimport re\n" + "y = [\n" + "    1,\n" * 12 + "]", 0),
        ("def f():\n" + "    pass\n" * 13, 0),
        ("%matplotlib inline\n" + "x = 1\n" * 13, 12),
    ],
)
def test_open_lines_cut_no_statement(code: str, shown: int) -> None:
    assert open_lines(code.strip()) == shown
