"""Tables, claims, and how numbers are written."""

from __future__ import annotations

import numpy as np
import pytest

from calib_utils.comparing import ClaimError, Markdown, claim, signed, spread, table


class TestClaim:
    def test_what_holds_is_shown(self, monkeypatch):
        for strict in ("strict", "", "other"):
            monkeypatch.setenv("CALIB_CLAIMS", strict)
            shown = claim(np.bool_(True), "It **rises**.")
            assert shown._repr_markdown_() == repr(shown) == "It **rises**."
            assert claim(True) is None

    def test_what_does_not_hold_stops_the_build(self, monkeypatch):
        monkeypatch.setenv("CALIB_CLAIMS", "strict")
        with pytest.raises(ClaimError, match=r"It \*\*rises\*\*\."):
            claim(False, "It **rises**.")
        with pytest.raises(ClaimError, match="the text around this line does not hold"):
            claim(np.bool_(False))

    @pytest.mark.parametrize("setting", [None, "", "no", "STRICT"])
    def test_what_does_not_hold_never_stops_a_reader(self, monkeypatch, setting):
        monkeypatch.delenv("CALIB_CLAIMS", raising=False)
        if setting is not None:
            monkeypatch.setenv("CALIB_CLAIMS", setting)
        shown = claim(False, "It **rises**.")
        note = "*The text was written for the original values, and with yours it no longer holds.*"
        assert shown._repr_markdown_() == f"{note} It said: It **rises**."
        assert claim(False)._repr_markdown_() == note

    def test_the_note_says_what_the_numbers_are_now(self, monkeypatch):
        monkeypatch.delenv("CALIB_CLAIMS", raising=False)
        ece, names, steps = 0.0712, ["a"], np.array([1, 2])
        shown = claim(
            ece < 0.05 and len(names) == 1 and np.isclose(ece, 0.07) and steps.max() > ece > 3,
            "It is small.",
        )
        assert shown._repr_markdown_().endswith(
            "With your values: `ece` is 0.0712; `steps.max()` is 2.* It said: It is small."
        )

    def test_the_note_quotes_the_text_and_no_long_code(self, monkeypatch):
        monkeypatch.delenv("CALIB_CLAIMS", raising=False)
        moved = {"Platt": 0.02, "beta": 0.01}
        low = 0.5
        shown = claim(
            low < 0.1 and min(moved["Platt"], max(moved.values()), moved["beta"]) > 0.06,
            about="The curves hardly move.",
        )
        assert shown._repr_markdown_() == (
            '*"The curves hardly move." was written for the original values, and with yours it no '
            "longer holds. With your values: `low` is 0.5.*"
        )
        assert claim(True, about="The curves hardly move.") is None
        monkeypatch.setenv("CALIB_CLAIMS", "strict")
        with pytest.raises(ClaimError, match="The curves hardly move"):
            claim(False, about="The curves hardly move.")

    def test_a_side_that_cannot_be_computed_again_stops_nobody(self, monkeypatch):
        monkeypatch.delenv("CALIB_CLAIMS", raising=False)
        found = iter([0.5])
        assert "With your values" not in claim(next(found) > 1)._repr_markdown_()


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
