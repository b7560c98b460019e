"""What runs inside the sandbox, called here without one."""

from __future__ import annotations

import ast

import pytest

from classroom.inside import describe, plain_python, run_cell


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
def test_lines_that_only_jupyter_knows(cell: str, expected: str) -> None:
    assert ast.dump(plain_python(cell, "<cell 1>")) == ast.dump(ast.parse(expected))


@pytest.mark.parametrize("cell", ["def f(x)\n    return 1", "x = = 1", "(", "x = 1 ?? 2"])
def test_what_is_no_python_is_said(cell: str) -> None:
    with pytest.raises(SyntaxError):
        plain_python(cell, "<cell 1>")


def test_a_statement_that_fails_costs_no_other() -> None:
    names: dict[str, object] = {}
    cell = (
        "from __future__ import annotations\nimport pandas_x\ndef f(x: No): return 2\n1 / 0\ny = 3"
    )
    with pytest.raises(ModuleNotFoundError) as caught:
        run_cell(cell, "<cell 7>", names)
    assert (names["f"](1), names["y"]) == (2, 3)  # type: ignore[operator]
    assert describe(caught.value)["line"] == 2
    assert describe(caught.value)["cell"] == 7
