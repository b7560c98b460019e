"""Which code is folded because it draws."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell

from tools.sources.folding import drawing_title, fold_drawings

FIGURE = {"mystnb": {"figure": {"name": "fig-a", "caption": "A."}}}
DRAWN = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nfor x in y:\n    ax.plot(x)"


@pytest.mark.parametrize(
    ("code", "after", "is_folded"),
    [
        (DRAWN, "z = 2 * y", True),
        (DRAWN, "fig, ax = f(1)\nfor x in y:\n    print(x, ax)", True),
        (DRAWN, "import matplotlib.pyplot as plt\nplt.show()", True),
        # Who copies only what is open would miss it.
        (DRAWN, "plt.show()", False),
        (DRAWN, "x = x + 1", False),
        (DRAWN, "def f():\n    return ax", False),
        (f"{DRAWN}\nclass A: pass", "A()", False),
        # What draws in one call is taught.
        ("reliability_diagram(probs, labels)\nplt.show()", "z = 1", False),
        # What does not parse is reported by others.
        (DRAWN, "x = (", True),
    ],
)
def test_code_that_draws_is_folded_unless_an_open_cell_needs_it(
    code: str, after: str, is_folded: bool
) -> None:
    drawn, later = new_code_cell(code, metadata=FIGURE), new_code_cell(after)
    fold_drawings([drawn, later])
    assert drawn.metadata.get("tags", []) == ["hide-input"] * is_folded
    assert "tags" not in later.metadata


def test_what_a_folded_cell_needs_keeps_nothing_open() -> None:
    drawn = new_code_cell(DRAWN, metadata=FIGURE)
    folded = new_code_cell("plt.show()", metadata={"tags": ["hide-cell"]})
    fold_drawings([drawn, folded])
    assert drawn.metadata["tags"] == ["hide-input"]


def test_a_tag_of_the_author_stays_alone() -> None:
    drawn = new_code_cell(DRAWN, metadata=FIGURE | {"tags": ["varies", "hide-cell"]})
    plain = new_code_cell(DRAWN)
    fold_drawings([plain, drawn])
    assert drawn.metadata["tags"] == ["varies", "hide-cell"]
    assert "tags" not in plain.metadata


@pytest.mark.parametrize(
    ("caption", "title"),
    [
        ("Two networks. Bars: accuracy.", "Two networks"),
        ("Rain with a chance of 0.7. A mark.", "Rain with a chance of 0.7"),
        ("Two classes: the best prediction.", "Two classes"),
        ("One line", "One line"),
    ],
)
def test_a_fold_is_called_as_the_caption_begins(caption: str, title: str) -> None:
    figure = {"mystnb": {"figure": {"name": "fig-a", "caption": caption}}}
    assert drawing_title(new_code_cell(DRAWN, metadata=figure)) == f"Draw: {title}"
    figure["mystnb"]["code_prompt_show"] = "Draw: two curves"
    assert drawing_title(new_code_cell(DRAWN, metadata=figure)) == "Draw: two curves"
