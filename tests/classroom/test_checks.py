"""Judges by themselves: which answers they take."""

from __future__ import annotations

import numpy as np

from classroom.checks import Raised, close, equal, raises


def test_close_equal_and_raises_take_what_they_should() -> None:
    assert close([1, 2])(np.array([1.0, 2.0 + 1e-9]))
    assert close(np.nan)(float("nan"))
    assert not close([1, 2])([1, 2, 3])
    assert not close(1.0)(True)
    assert not close(1.0)("1")
    assert not close([1.0, 2.0])([[1.0, 2.0]])
    assert equal({"b": [1], "a": "x"})({"a": "x", "b": (1,)})
    assert not equal(1)(True)
    assert not equal(0)(None)
    assert raises(ValueError)(Raised("UnicodeError", ("ValueError",)))
    assert not raises(Exception)(Raised("NotImplementedError", ("Exception",)))
    assert not raises(ValueError)("ValueError")
