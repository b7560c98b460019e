"""Tables, and how numbers are written."""

from __future__ import annotations

import numpy as np
import pytest

from calib_utils.comparing import Markdown, signed, spread, table


class TestTable:
    def test_is_markdown(self):
        shown = table(["a", "b"], iter([(1, "x"), (2.5, "y")]))
        assert shown._repr_markdown_() == "| a | b |\n| --- | --- |\n| 1 | x |\n| 2.5 | y |"

    def test_numbers_stand_on_the_right(self):
        shown = table(["a", "b", "c"], [("x", 1, 2)], numbers=2)
        assert shown.splitlines() == ["| a | b | c |", "| --- | --: | --: |", "| x | 1 | 2 |"]

    def test_is_for_readers_who_do_not_know_python(self):
        shown = table(["a", "b"], [(True, np.bool_(False)), ([10, 20], (1, True))])
        assert shown.splitlines()[2:] == ["| yes | no |", "| 10, 20 | 1, yes |"]

    def test_a_cell_stays_one_cell(self):
        shown = table(["a|b", "c"], [["P(y | x)", "two\nlines"]])
        assert shown.splitlines()[::2] == [r"| a\|b | c |", r"| P(y \| x) | two lines |"]

    def test_without_rows_has_a_head(self):
        assert table(["a"], []) == "| a |\n| --- |"

    def test_a_row_of_another_length_is_refused(self):
        with pytest.raises(ValueError, match="rows: expected 2 cells as in head, found 1 in row 1"):
            table(["a", "b"], [[1, 2], [3]])

    def test_text_behind_it_is_shown_too(self):
        both = table(["a"], [[1]]) + "\n\nand more"
        assert isinstance(both, Markdown)
        assert both._repr_markdown_().endswith("| 1 |\n\nand more")


def test_signed_numbers_have_a_true_minus():
    assert signed(-0.25, 2) == "\N{MINUS SIGN}0.25"
    assert signed(3) == "+3.0"


def test_spread_is_mean_and_sample_standard_deviation():
    values = [72.1, 73.4, 70.2, 71.0]
    mean, off = np.mean(values), np.sqrt(np.sum((values - np.mean(values)) ** 2) / 3)
    assert spread(values, 2).split("\xa0±\xa0") == [f"{mean:.2f}", f"{off:.2f}"]
    assert spread([-1.0]) == "\N{MINUS SIGN}1.0"
    with pytest.raises(ValueError, match="values: expected at least one number"):
        spread([])
