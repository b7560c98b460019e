"""Every public name has an example, which pytest runs where it stands, in the docstring."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import pytest

import calib_utils

PACKAGES = [
    importlib.import_module(f"calib_utils.{found.name}")
    for found in pkgutil.iter_modules(calib_utils.__path__)
    if not found.name.startswith("_")
]
PUBLIC = [
    pytest.param(package, getattr(package, name), id=f"{package.__name__}.{name}")
    for package in PACKAGES
    for name in package.__all__
    if callable(getattr(package, name))  # a constant has no docstring
]


def examples(documented: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(documented.__doc__ or "")


@pytest.mark.parametrize(("package", "documented"), PUBLIC)
def test_a_public_name_has_an_example(package: ModuleType, documented: Any) -> None:
    found = examples(documented)
    assert found, f"write an `Example:` into the docstring of {documented.__name__}"
    assert any(example.want for example in found)
    assert not all(doctest.SKIP in example.options for example in found)


@pytest.mark.parametrize(
    ("name", "fewest"), [("predictions", 20), ("metrics", 8), ("recalibration", 8)]
)
def test_the_steps_on_a_page_run_one_after_the_other(name: str, fewest: int) -> None:
    page = Path(__file__).parents[1] / f"book/api/{name}.md"
    text = re.sub("^```.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)
    steps = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(steps.examples) >= fewest
    options = doctest.ELLIPSIS | doctest.REPORT_NDIFF
    said: list[str] = []
    found = doctest.DocTestRunner(optionflags=options).run(steps, out=said.append)
    plt.close("all")
    assert found.failed == 0, "".join(said)


@pytest.mark.parametrize(("package", "documented"), PUBLIC)
def test_an_example_runs_outside_its_module(package: ModuleType, documented: Any) -> None:
    """It needs its package's public names, and imports the rest; what a module has is no help."""
    tree = ast.parse("".join(example.source for example in examples(documented)))
    used, bound = set(), set(package.__all__) | set(vars(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name)
    assert used - bound == set()


@pytest.mark.parametrize(("package", "documented"), PUBLIC)
def test_a_page_takes_no_sentence_for_a_type(package: ModuleType, documented: Any) -> None:
    """What stands before a colon, in the first line of a property or of what is returned."""
    members = vars(documented).items() if inspect.isclass(documented) else ()
    own = [documented, *(member for name, member in members if not name.startswith("_"))]
    first_lines = [
        found[1]
        for one in own
        for found in re.finditer(r"Returns:\n\s+(.*)", getattr(one, "__doc__", None) or "")
    ]
    first_lines += [(one.__doc__ or "").split("\n")[0] for one in own if isinstance(one, property)]
    assert [line for line in first_lines if ":" in re.sub("`.*?`", "", line)] == []
