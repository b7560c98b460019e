"""What runs inside the sandbox, called here without one."""

from __future__ import annotations

import ast
import json
from typing import Any

import numpy as np
import pytest

from classroom.inside import (
    MAX_ITEMS,
    NotPlain,
    decode,
    describe,
    encode,
    plain_python,
    run_cell,
)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if x:\n    !ls 'a\n    y = 2", "if x:\n    pass\n    y = 2"),
        ("files = !ls *.npz", "files = None"),
        ("a = %time f()", "a = None"),
        ("np.mean??\nx = 1", "pass\nx = 1"),
        ("%%time\nx = 1", "pass\nx = 1"),
        ("%%bash\nrm -rf /", ""),
        # Where the same signs are Python, or text, they stay.
        ("!ls\nx = (5\n% 3)", "pass\nx = (5\n% 3)"),
        ('!ls\ny = """\n!not a command\n"""', 'pass\ny = """\n!not a command\n"""'),
        ("!ls\nx = [1,  # why?\n2]", "pass\nx = [1, 2]"),
    ],
)
def test_plain_python_leaves_out_lines_that_only_jupyter_knows(cell: str, expected: str) -> None:
    assert ast.dump(plain_python(cell, "<cell 1>")) == ast.dump(ast.parse(expected))


@pytest.mark.parametrize(
    "cell", ["def f(x)\n    return 1", "x = = 1", "(", "x = 1 ?? 2", "x = '\0'"]
)
def test_plain_python_refuses_what_is_none(cell: str) -> None:
    with pytest.raises(SyntaxError):
        plain_python(cell, "<cell 1>")


def test_run_cell_goes_on_after_a_statement_that_fails() -> None:
    names: dict[str, object] = {}
    cell = (
        "from __future__ import annotations\nimport pandas_x\ndef f(x: No): return 2\n1 / 0\ny = 3"
    )
    with pytest.raises(ModuleNotFoundError) as caught:
        run_cell(cell, "<cell 7>", names)
    assert (names["f"](1), names["y"]) == (2, 3)  # type: ignore[operator]
    assert describe(caught.value)["line"] == 2
    assert describe(caught.value)["cell"] == 7


@pytest.mark.parametrize(
    "value",
    [
        None, True, -3, 0.1, "신뢰", [1, [2.5, "x"]], {"a": {"b": []}}, [], {},
        np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(2.5, np.float32), np.array([True]),
    ],
)  # fmt: skip
def test_decode_gives_plain_data_back_as_it_was(value: Any) -> None:
    found = decode(json.loads(json.dumps(encode(value))))
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)
    if isinstance(value, np.ndarray):
        assert (found.dtype, found.shape) == (value.dtype, value.shape)


def test_decode_gives_numbers_back_that_are_not_finite() -> None:
    found = decode(json.loads(json.dumps(encode([np.nan, np.inf, np.array([-np.inf])]))))
    np.testing.assert_equal(found, [np.nan, np.inf, np.array([-np.inf])])


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({1, 2}, "type"), (1j, "type"), (object, "type"), ({1: 2}, "type"), (b"x", "type"),
        (np.array([1j]), "type"), (10**400, "large"), ([0] * (MAX_ITEMS + 1), "large"),
        (np.zeros(MAX_ITEMS + 1), "large"), (np.array([object()]), "type"),
    ],
)  # fmt: skip
def test_encode_refuses_other_data(value: Any, word: str) -> None:
    with pytest.raises(NotPlain, match=word):
        encode(value)


@pytest.mark.parametrize(
    "array",
    [
        {"array": [1], "dtype": "object", "shape": [1]},
        {"array": [1], "dtype": "U1000000000", "shape": [1]},
        {"array": [[1], [2, 3]], "dtype": "int64", "shape": [2]},
        {"array": [1], "dtype": "int64", "shape": [-1]},
        {"array": [1], "dtype": "int64", "shape": [10**12]},
        {"array": [], "dtype": "int64", "shape": [0, 10**12]},
        {"array": ["1"], "dtype": "float64", "shape": [1]},
        {"array": [10**30], "dtype": "int64", "shape": [1]},
        {"array": 3, "dtype": ["int64"], "shape": None},
    ],
)
def test_decode_refuses_what_only_claims_to_be_an_array(array: dict[str, Any]) -> None:
    with pytest.raises(NotPlain):
        decode(array)


def test_decode_refuses_more_than_may_come_out() -> None:
    array = {"array": [0] * MAX_ITEMS, "dtype": "int8", "shape": [MAX_ITEMS]}
    for value in ([[]] * (MAX_ITEMS + 1), [array, array], {"a": [[0]] * MAX_ITEMS}):
        with pytest.raises(NotPlain, match="large"):
            decode(value)
