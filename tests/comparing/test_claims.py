"""Sentences that are shown only if the numbers support them."""

from __future__ import annotations

import numpy as np
import pytest

from calib_utils.comparing import ClaimError, claim


def test_what_holds_is_shown(monkeypatch):
    for strict in ("strict", "", "other"):
        monkeypatch.setenv("CALIB_CLAIMS", strict)
        shown = claim(np.bool_(True), "It **rises**.")
        assert shown._repr_markdown_() == repr(shown) == "It **rises**."
        assert claim(True) is None


def test_what_does_not_hold_stops_the_build(monkeypatch):
    monkeypatch.setenv("CALIB_CLAIMS", "strict")
    with pytest.raises(ClaimError, match=r"It \*\*rises\*\*\."):
        claim(False, "It **rises**.")
    with pytest.raises(ClaimError, match="the text around this line does not hold"):
        claim(np.bool_(False))


@pytest.mark.parametrize("setting", [None, "", "no", "STRICT"])
def test_what_does_not_hold_never_stops_a_reader(monkeypatch, setting):
    monkeypatch.delenv("CALIB_CLAIMS", raising=False)
    if setting is not None:
        monkeypatch.setenv("CALIB_CLAIMS", setting)
    shown = claim(False, "It **rises**.")
    note = "*The text was written for the original values, and with yours it no longer holds.*"
    assert shown._repr_markdown_() == f"{note} It said: It **rises**."
    assert claim(False)._repr_markdown_() == note


def test_the_note_says_what_the_numbers_are_now(monkeypatch):
    monkeypatch.delenv("CALIB_CLAIMS", raising=False)
    ece, names, steps = 0.0712, ["a"], np.array([1, 2])
    shown = claim(
        ece < 0.05 and len(names) == 1 and np.isclose(ece, 0.07) and steps.max() > ece > 3,
        "It is small.",
    )
    assert shown._repr_markdown_().endswith(
        "With your values: `ece` is 0.0712; `steps.max()` is 2.* It said: It is small."
    )


def test_the_note_quotes_the_text_and_no_long_code(monkeypatch):
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


def test_a_side_that_cannot_be_computed_again_stops_nobody(monkeypatch):
    monkeypatch.delenv("CALIB_CLAIMS", raising=False)
    found = iter([0.5])
    assert "With your values" not in claim(next(found) > 1)._repr_markdown_()
