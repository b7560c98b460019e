"""Pages of text with cells: what they show, and what stops them."""

from pathlib import Path

import pytest

from calib_utils.comparing import ClaimError
from tools.running.cells import shown
from tools.sources.myst import MystError

PAGE = """\
# A page

```{code-cell} python
from calib_utils.comparing import claim, table

found = [1, 2]
```

```{code-cell} python
---
mystnb: {table: {name: tab-two, caption: "Two, no more.", class: long}}
---
table(["number"], ([one] for one in found))
```

So it is.

```{code-cell} python
claim(sum(found) == 3, f"Their sum is {sum(found)}.")
```
"""
SHOWN = """\
# A page



:::{table} Two, no more.
:name: tab-two
:class: long

| number |
| --- |
| 1 |
| 2 |
:::

So it is.

Their sum is 3.
"""


def written(folder: Path, text: str) -> Path:
    (folder / "page.md").write_text(text, "utf-8")
    return folder / "page.md"


def test_shown_puts_results_in_the_place_of_cells(tmp_path: Path) -> None:
    assert shown(written(tmp_path, PAGE)) == SHOWN


def test_shown_names_the_line_of_the_page_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIB_CLAIMS", "strict")
    page = written(tmp_path, PAGE.replace("[1, 2]", "[1, 3]"))
    with pytest.raises(ClaimError, match="Their sum is 4") as caught:
        shown(page)
    (line,) = (entry.lineno for entry in caught.traceback if str(entry.path) == str(page))
    assert PAGE.splitlines()[line].startswith("claim(")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('claim(sum(found) == 3, f"Their sum is {sum(found)}.")', "sum(found)", "line 19: end a"),
        ("name: tab-two, ", "", "line 13: a table, and nothing else"),
        ('table(["number"], ([one] for one in found))', 'claim(True, "Yes.")', "line 13: a table"),
    ],
)
def test_shown_says_what_a_cell_may_not_end_with(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    page = written(tmp_path, PAGE.replace(old, new))
    with pytest.raises(MystError, match=said):
        shown(page)
