"""The style of chapters: ruff reads their code cells, and `--fix` writes these alone anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiny_book import HEAD, write_tiny_book
from tools.sources.book import Book, chosen
from tools.sources.lint import style
from tools.sources.myst import MystError

PAGE = "notebooks/01-one"
SOURCE = """
# One   with   spaces

```python
x = {'not': 'a cell'}
```

```{code-cell} python
:tags: [hide-input]

import os
x = {  'a':1 }
x
```

```{code-cell} python
---
mystnb:   {figure: {name: fig-x,   caption: One.}, image: {alt: One.}}
---
ax.plot([0,1]) ;
```

1*2 is  prose.

```{code-cell} python
ax.plot([0,1]) ;
```
"""
FIXED = (
    SOURCE.replace("import os\n", "")
    .replace("{  'a':1 }", '{"a": 1}')
    .replace("plot([0,1]) ;", "plot([0, 1]);")
)


def tiny(root: Path, source: str) -> Book:
    return Book(write_tiny_book(root, source))


def test_each_finding_has_its_rule_and_its_line_in_the_source(tmp_path: Path) -> None:
    book = tiny(tmp_path, SOURCE)
    lines = book.source(PAGE).splitlines()
    import_, last = lines.index("import os") + 1, len(lines) - 1
    plots = [number for number, line in enumerate(lines, start=1) if line.startswith("ax.plot")]
    assert style(book, PAGE, fix=False) == [
        f"{PAGE}.md:{import_}: F401 `os` imported but unused",
        f"{PAGE}.md:{import_}: I001 Import block is un-sorted or un-formatted",
        f"{PAGE}.md:{import_}: would be formatted",
        f"{PAGE}.md:{plots[0]}: F821 Undefined name `ax`",
        f"{PAGE}.md:{plots[0]}: would be formatted",
        f"{PAGE}.md:{plots[1]}: F821 Undefined name `ax`",
        f"{PAGE}.md:{plots[1]}: would be formatted",
    ]
    assert plots[1] == last
    assert book.source(PAGE) == HEAD + SOURCE


def test_a_fix_changes_the_code_and_nothing_else(tmp_path: Path) -> None:
    book = tiny(tmp_path, SOURCE)
    left = style(book, PAGE, fix=True)
    assert book.source(PAGE) == HEAD + FIXED
    assert [finding.partition(": ")[2] for finding in left] == 2 * ["F821 Undefined name `ax`"]
    assert style(book, PAGE, fix=True) == left
    assert book.source(PAGE) == HEAD + FIXED


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (f"print('{'a' * 60}')", ""),
        (f"# {'a ' * 34}a", "E501"),
        ("for a, b in zip([1], [2]):\n    print(a, b)", "B905"),
        ("import numpy as np\n\nnp.random.seed(0)", "NPY002"),
        ("def double(x):\n    return 2 * x", ""),
        ("x = 1\nimport os\n\nprint(x, os)", ""),
        ('print("2 \u00d7 3")', ""),
    ],
)
def test_the_rules_are_those_of_the_repository_at_70_columns(
    tmp_path: Path, code: str, rule: str
) -> None:
    book = tiny(tmp_path, f"\n# One\n\n```{{code-cell}} python\n{code}\n```\n")
    left = style(book, PAGE, fix=True)
    assert [finding.split()[1] for finding in left] == ([rule] if rule else [])


def test_code_that_does_not_parse_is_a_finding(tmp_path: Path) -> None:
    source = "\n# One\n\n```{code-cell} python\nx = (\n```\n"
    book = tiny(tmp_path, source)
    (finding,) = style(book, PAGE, fix=True)
    assert "invalid-syntax" in finding
    assert book.source(PAGE) == HEAD + source


def test_pages_are_chosen_by_name(tmp_path: Path) -> None:
    book = tiny(tmp_path, SOURCE)
    assert chosen(book.chapters, []) == book.chapters
    solutions = chosen(book.chapters, ["solutions/01-one", "01-one"])
    assert solutions == [PAGE, "notebooks/solutions/01-one"]
    with pytest.raises(MystError, match=r"no page one; there is 01-one, 02-two, sol"):
        chosen(book.chapters, ["one"])
