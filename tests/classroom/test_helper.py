"""The cell of each notebook that says whether an example agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classroom.goals import ASSIGNMENTS


@pytest.fixture(scope="module")
def helper() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec((ASSIGNMENTS / "helper.py").read_text("utf-8"), names)
    return names


def not_written() -> None:
    raise NotImplementedError


def fails() -> None:
    raise KeyError("logits")


EXAMPLES = [
    (lambda: 0.5, 0.5, "as expected"),
    (lambda: 0.4, 0.5, "expected 0.5\n    your function gives 0.4"),
    (lambda: None, 0.5, "expected 0.5\n    your function gives None"),
    (lambda: "x", 0.5, "expected 0.5\n    your function gives x"),
    (lambda: [1, float("nan")], [1, float("nan")], "as expected"),
    (lambda: [[1], [1, 2]], [1, 2], "expected [1, 2]"),
    (lambda: {"a": 1}, {"a": 1.0}, "as expected"),
    (lambda: {"a": 1}, {"b": 1}, "expected {'b': 1}"),
    (lambda: 1, {"b": 1}, "expected {'b': 1}"),
    (lambda: None, None, "as expected"),
    (lambda: 3, None, "expected None"),
    (not_written, 1, "not written yet"),
    (fails, 1, "KeyError: 'logits'\n    expected 1"),
]


@pytest.mark.parametrize(("function", "expected", "message"), EXAMPLES)
def test_example_says_what_was_expected(
    helper: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    function: Callable[[], Any],
    expected: Any,
    message: str,
) -> None:
    helper["example"](function, expected=expected)
    assert message in capsys.readouterr().out
