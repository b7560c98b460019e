"""Text, tables and folds as they are set on the page."""

from __future__ import annotations

import textwrap

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from calib_utils.records import describe_protocol, load_grid, load_record
from tools.finishing.typesetting import (
    PROVENANCE,
    as_fold,
    fold,
    free_formula,
    hold_sign,
    is_dropdown,
    keep_units,
    link_terms,
    mark_numeric,
    name_preprint,
    set_formula,
)

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


def test_columns_of_numbers_are_marked_with_their_heads() -> None:
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
def test_what_counts_as_a_number(cell: str, is_number: bool) -> None:
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
def test_numbers_of_a_table_are_set_as_in_prose(cell: str, is_set: str) -> None:
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


def test_a_table_with_a_cell_across_columns_stays() -> None:
    table = "===  ===\n a    b\n===  ===\n1    2\nboth\n--------\n3    4\n===  ===\n"
    assert not any(map(any, numeric(table)))


def test_no_line_begins_with_the_sign_after_a_formula() -> None:
    tree = publish_doctree("It is :math:`a`, or :math:`b` or (:math:`c`), the :math:`k`-th.")
    for formula in tree.findall(nodes.math):
        hold_sign(formula)
    joined = "\N{WORD JOINER}"
    assert tree.astext() == f"It is a{joined}, or b or (c{joined}), the k{joined}-{joined}th."


def test_no_line_breaks_before_per_cent_but_code_stays() -> None:
    tree = publish_doctree("It is 90 % of *5%*, ``90 % 2``, a % b, 4 s, 4 sets.\n\n::\n\n  7 % 2\n")
    for text in list(tree.findall(nodes.Text)):
        keep_units(text)
    said = tree.astext()
    assert f"It is 90{SPACE}% of 5{SPACE}%, 90 % 2, a % b, 4{SPACE}s, 4 sets." in said
    assert "7 % 2" in said


def test_a_name_with_a_number_stays_in_one_line() -> None:
    tree = publish_doctree("ResNet-34 of 2026-11-20, ``LeNet-5``, a two-way map, -1 to 3-4, 1e-9")
    for text in list(tree.findall(nodes.Text)):
        keep_units(text)
    rest = "34 of 2026-11-20, LeNet-5, a two-way map, -1 to 3-4, 1e-9"
    assert tree.astext() == f"ResNet-\N{WORD JOINER}{rest}"


def test_a_small_number_is_no_name_and_a_sum_stays_in_one_line() -> None:
    tree = publish_doctree("p is 5.8e-08, on 2\n+ 6 = 8 days, ``2 + 6``, a + 6")
    for text in list(tree.findall(nodes.Text)):
        keep_units(text)
    assert tree.astext() == f"p is 5.8e-08, on 2{SPACE}+{SPACE}6 = 8 days, 2 + 6, a + 6"


def test_a_number_stays_beside_what_it_is_the_number_of() -> None:
    tree = publish_doctree(
        "See Figure 7.1 and *Exercise 2.3* at T = 1.2, or at Tea; if x = y, ``at T``."
    )
    for text in list(tree.findall(nodes.Text)):
        keep_units(text)
    said = "See Figure_7.1 and Exercise_2.3 at_T_=_1.2, or at Tea; if x = y, at T."
    assert tree.astext() == said.replace("_", SPACE)


def test_lines_on_how_networks_were_trained_are_told_from_prose() -> None:
    record = load_record("resnet34-cifar100", "test")
    grid = describe_protocol(load_grid("depth", "cpu"))
    of_digits = grid.replace("CIFAR-100", "scikit-learn's digits")
    assert of_digits != grid
    wrapped = "\n".join(textwrap.wrap(record.provenance, 68))
    for said in (record.provenance, wrapped, grid, of_digits):
        assert PROVENANCE.search(said)
    assert not PROVENANCE.search(
        "It saw 45,000 training images, and after 30 epochs and a seed: no."
    )


def test_a_word_in_bold_leads_to_the_glossary_the_first_time() -> None:
    tree = publish_doctree("**Floor** and **other**.\n\nThe **floor** again.\n")
    link_terms(tree, {"floor": "glossary.html#term-floor"})
    links = [(link.astext(), link["refuri"]) for link in tree.findall(nodes.reference)]
    assert links == [("Floor", "glossary.html#term-floor")]
    assert tree.astext().replace("\n\n", " ") == "Floor and other. The floor again."


def test_a_dropdown_becomes_a_fold_named_by_its_title() -> None:
    tree = publish_doctree(".. admonition:: A *hint*\n   :class: dropdown\n\n   Look.\n")
    box = next(tree.findall(is_dropdown))
    box["ids"].append("ex-1")
    as_fold(box)
    inside = next(tree.findall(fold))
    assert inside["ids"] == ["ex-1"]
    assert "dropdown" not in inside["classes"]
    assert [child.astext() for child in inside] == ["A hint", "Look."]
    assert next(tree.findall(is_dropdown), None) is None


def test_a_link_in_the_title_of_a_fold_goes_inside() -> None:
    tree = publish_doctree(
        ".. admonition:: To `Two <http://x.org>`_\n   :class: dropdown\n\n   Look.\n"
    )
    as_fold(next(tree.findall(is_dropdown)))
    title, back, _ = next(tree.findall(fold)).children
    assert title.astext() == "To Two"
    assert not list(title.findall(nodes.reference))
    assert back.astext() == "Back to Two"
    assert next(back.findall(nodes.reference))["refuri"] == "http://x.org"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("from 0 to K - 1.", "from 0 to K_M_1."),
        ("edge m + 1", "edge m_+_1"),
        ("the mean of (c - y)^2", "the mean of (c_M_y)S"),
        ("50,000 x\n32,000, 3x3, b >= 0", "50,000_X_32,000, 3_X_3, b G 0"),
        (
            "-100, -.5 or 1e-4 to -inf, -log(p), not 2-3",
            "M100, M.5 or 1eM4 to Minf, Mlog(p), not 2-3",
        ),
        ("``K - 1`` and n_bins, x is a logit", "K - 1 and nIbins, x is a logit"),
    ],
)
def test_a_formula_of_a_docstring_has_signs_of_mathematics(said: str, shown: str) -> None:
    doctree = publish_doctree(said)
    for text in list(doctree.findall(nodes.Text)):
        set_formula(text)
    signs = {"_": SPACE, "M": "\N{MINUS SIGN}", "S": "\N{SUPERSCRIPT TWO}"}
    signs |= {"X": "\N{MULTIPLICATION SIGN}", "G": "\N{GREATER-THAN OR EQUAL TO}", "I": "_"}
    assert doctree.astext() == "".join(signs.get(sign, sign) for sign in shown)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("p_k and w_ij", "p[k] and w[ij]"),
        ("s_1^2 / n_1", "s[1]\N{SUPERSCRIPT TWO} / n[1]"),
        ("from N^(1/3) to 2^24", "from N{1/3} to 2{24}"),
        ("with lambda = 2, in Beta(alpha, alpha_b)", "with \u03bb = 2, in Beta(alpha, \u03b1[b])"),
        ("min_count, n_bins, name_0 and _j", "min_count, n_bins, name_0 and _j"),
    ],
)
def test_an_index_of_a_docstring_stands_low_and_a_power_high(said: str, shown: str) -> None:
    doctree = publish_doctree(said)
    for text in list(doctree.findall(nodes.Text)):
        set_formula(text)
    assert as_typed(doctree) == shown


def test_a_formula_that_stands_alone_is_a_paragraph() -> None:
    doctree = publish_doctree("It is::\n\n    - sum_{i != j} c * w_ij^2,\n      (1 - p)^gamma\n")
    free_formula(next(doctree.findall(nodes.literal_block)))
    for text in list(doctree.findall(nodes.Text)):
        set_formula(text)
    assert doctree[1]["classes"] == ["formula"]
    minus, dot, unequal = "\N{MINUS SIGN}", "\N{DOT OPERATOR}", "\N{NOT EQUAL TO}"
    first = f"{minus} \N{N-ARY SUMMATION}[i {unequal} j] c {dot} w[ij]\N{SUPERSCRIPT TWO}, "
    assert as_typed(doctree[1]) == first + f"(1{SPACE}{minus}{SPACE}p){{\u03b3}}"


def as_typed(tree: nodes.Element) -> str:
    """Its text, with [what stands low] and {what stands high}."""
    for marks, kind in (("[]", nodes.subscript), ("{}", nodes.superscript)):
        for node in list(tree.findall(kind)):
            node.parent.replace(node, nodes.Text(f"{marks[0]}{node.astext()}{marks[1]}"))
    return tree.astext()


def test_a_preprint_is_named_once_and_by_its_number() -> None:
    address = "https://arxiv.org/abs/2501.00001"
    link = nodes.reference("", address, refuri=address)
    said = nodes.paragraph("", "Title. arXiv:2501.00001, 2025. URL: ", link, nodes.Text("."))
    name_preprint(nodes.citation("", nodes.label("", "1"), said))
    assert said.astext() == "Title. 2025. arXiv:2501.00001."
    assert link["refuri"] == address
