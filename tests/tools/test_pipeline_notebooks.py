"""From MyST to the two notebooks: every directive and role, and what must not pass."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
import types
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from calib_utils import __version__
from tests.tiny_book import HEAD, ONE, REPOSITORY, write_tiny_book
from tools.running.notebooks import doubtful
from tools.sources.book import Book
from tools.sources.chapter_notebook import page_notebook, write_if_changed
from tools.sources.colab_notebook import colab_notebook, keep_text
from tools.sources.errors import ExecutionError
from tools.sources.flatten import Flattener
from tools.sources.locations import INSTALLS, committed
from tools.sources.myst import MystError
from tools.sources.opening import (
    MODULE,
    Needs,
    install_code,
    lower_picture,
    raise_picture,
)

CELL = "```{code-cell} python\n"
URL = "https://github.com/someone/course"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["name"]
SITE = "https://someone.github.io/course/"
LABELS = """
# The second

(part)=
## A part

(loose)=
Text without a heading.

```{math}
:label: eq-product
p = q r
```

:::{prf:definition} Calibration
:label: def-calibration

Promise and truth agree.
:::

::::{prf:proposition}
:label: prop-sum

```{math}
:label: eq-inside
s = t
```
::::

:::{exercise} Count
:label: ex-count

Count them.
:::

:::{table} Two numbers.
:name: tab-two

| a | b |
|---|---|
| 1 | 2 |
:::

:::{figure} ../book/figures/map.svg
---
alt: A map of
  the chapters.
name: fig-map
---
Where {ref}`part` stands.
:::
"""


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(write_tiny_book(tmp_path / "placeholder", two=LABELS))


@pytest.fixture
def published(tmp_path: Path) -> Book:
    return Book(write_tiny_book(tmp_path / "published", two=LABELS, url=URL))


def flat(book: Book, markdown: str) -> str:
    return Flattener(book, "notebooks/02-two").flatten(markdown)


PLAIN = [
    (":::{note}\nLook.\n:::", "> **Note**\n>\n> Look."),
    (
        ":::{note}\n:class: dropdown\nLook.\n:::",
        "<details>\n<summary>Note</summary>\n\nLook.\n\n</details>",
    ),
    (
        ":::{prf:definition} Of $t$\n:label: def-calibration\nIt is.\n:::",
        "> **Definition 2.1 (Of $t$)**\n>\n> It is.",
    ),
    (":::{prf:proposition}\n:label: prop-sum\nIt is.\n:::", "> **Proposition 2.1**\n>\n> It is."),
    (":::{prf:proof}\nSee.\n:::", "> **Proof**\n>\n> See."),
    (
        ":::{exercise} Count\n:label: ex-count\nCount them.\n:::",
        "> **Exercise 2.1 (Count)**\n>\n> Count them.",
    ),
    (
        "```{solution-start} ex-count\n:class: dropdown\n```",
        "**Solution to Exercise 2.1 (Count)**",
    ),
    ("```{solution-end}\n```", ""),
    (
        "```{figure} x.svg\n:name: fig-map\n:alt: A map.\n\nA caption.\n```",
        "![A map.](x.svg)\n\n**Figure 2.1.** A caption.",
    ),
    (
        ":::{table} Two numbers.\n:name: tab-two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n:::",
        "**Table 2.1.** Two numbers.\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    ),
    (
        "It takes 90 % of 5 s, `90 % 2`",
        "It takes 90\N{NO-BREAK SPACE}% of 5\N{NO-BREAK SPACE}s, `90 % 2`",
    ),
    ("```{math}\n:label: eq-product\np = q r\n```", r"$$p = q r \tag{2.1}$$"),
    ("```{math}\np =\n q\n```", "$$p = q$$"),
    (
        "::::{note}\n:::{prf:proof}\nA\n:::\nB\n::::",
        "> **Note**\n>\n> > **Proof**\n> >\n> > A\n>\n> B",
    ),
    (":::{note}\n$$\na = b\n$$\n:::", "> **Note**\n>\n> $$a = b$$"),
    (
        ":::{question}\nWho?\n\n- [x] Us\n  - {ref}`part`.\n- [ ] No\n  - Not.\n:::",
        "> **Check yourself**\n>\n> Who?\n>\n> 1. Us\n> 2. No\n\n<details>\n"
        "<summary>Which is right, and why?</summary>\n\n1. **Right.** A part.\n"
        "2. **Wrong.** Not.\n\n</details>",
    ),
    ("(here)=\n## Section", "## Section"),
    ("<!-- slide -->\n\nText.\n\n<!-- and -->", "Text."),
    ("```python\n{ref}`x` [^1]\n```", "```python\n{ref}`x` [^1]\n```"),
    ("````md\n```{tip}\nx\n```\n````", "````md\n```{tip}\nx\n```\n````"),
    ("- a\n\n  ```python\n  b\n  ```", "- a\n\n  ```python\n  b\n  ```"),
    ("`` {ref}`x` `` and `{{ x }}`", "`` {ref}`x` `` and `{{ x }}`"),
    ("$f[x](y)$ and $$a_{{b}}$$", "$f[x](y)$ and $$a_{{b}}$$"),
    ("[a](https://example.org)", "[a](https://example.org)"),
]


@pytest.mark.parametrize(("markdown", "plain"), PLAIN)
def test_each_directive_has_a_plain_form(book: Book, markdown: str, plain: str) -> None:
    assert flat(book, markdown) == plain


@pytest.mark.parametrize(
    ("role", "plain", "link"),
    [
        ("{ref}`part`", "A part", "notebooks/02-two.html#part"),
        ("{ref}`there <part>`", "there", "notebooks/02-two.html#part"),
        ("{ref}`one`", "The first", "notebooks/01-one.html#one"),
        ("{numref}`one`", "Chapter 1", "notebooks/01-one.html#one"),
        ("{numref}`ex-add`", "Exercise 1.1", "notebooks/01-one.html#ex-add"),
        ("{eq}`eq-solved`", "(2)", "notebooks/solutions/01-one.html#equation-eq-solved"),
        ("{numref}`fig-icon`", "Figure 1", "notebooks/solutions/01-one.html#fig-icon"),
        ("{doc}`solutions/01-one`", "Solutions: The first", "notebooks/solutions/01-one.html"),
        ("{ref}`ex-count`", "Exercise 2.1", "notebooks/02-two.html#ex-count"),
        ("{numref}`fig-map`", "Figure 2.1", "notebooks/02-two.html#fig-map"),
        ("{numref}`tab-two`", "Table 2.1", "notebooks/02-two.html#tab-two"),
        ("{prf:ref}`def-calibration`", "Definition 2.1", "notebooks/02-two.html#def-calibration"),
        ("{prf:ref}`prop-sum`", "Proposition 2.1", "notebooks/02-two.html#prop-sum"),
        ("{eq}`eq-inside`", "(2.2)", "notebooks/02-two.html#equation-eq-inside"),
        ("{eq}`eq-sum`", "(1.1)", "notebooks/01-one.html#equation-eq-sum"),
        ("{doc}`01-one`", "The first", "notebooks/01-one.html"),
        ("{doc}`start </book/intro>`", "start", "book/intro.html"),
    ],
)
def test_each_role_is_a_link_once_the_book_has_an_address(
    book: Book, published: Book, role: str, plain: str, link: str
) -> None:
    page, _, _ = link.removeprefix("notebooks/").partition(".html")
    beside = link.startswith("notebooks/") and page != "02-two"
    there = f"[{plain}]({page}.ipynb)" if beside else plain
    # What is no notebook has no address, so its place is named.
    there += " (a page of the course: “The book”)" * (page == "book/intro")
    assert flat(book, role) == there
    assert flat(published, role) == f"[{plain}]({SITE}{link})"


def test_citations_link_to_the_papers(book: Book) -> None:
    paper = "https://arxiv.org/abs/1706.04599"
    assert flat(book, "{cite:t}`guo2017calibration`") == f"[Guo et al. (2017)]({paper})"
    assert flat(book, "{cite:p}`guo2017calibration`") == f"([Guo et al., 2017]({paper}))"


def test_names_of_authors_are_plain_text(book: Book) -> None:
    bibliography = book.root / "book" / "references.bib"
    with bibliography.open("a") as file:
        file.write('@misc{ue, author={M{\\"u}ller, R and {Silva Filho}, T}, year=2019, url={u}}')
    assert flat(Book(book.root), "{cite:t}`ue`") == "[Müller and Silva Filho (2019)](u)"


def test_a_picture_is_part_of_the_notebook(book: Book, published: Book) -> None:
    """Saved elsewhere, or opened in Colab, a notebook has no files beside it."""
    figure = LABELS[LABELS.index(":::{figure}") :]
    for one in (book, published):
        script = one.root / "book/figures/map.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text("", "utf-8")
        copy = one.root / "notebooks/made/figures/map.png"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(b"a map")
        text = flat(one, figure)
        assert text.startswith("![A map of the chapters.](data:image/png;base64,YSBtYXA=)\n")
        assert text.splitlines()[2].startswith("**Figure 2.1.** Where ")


def test_a_notebook_begins_with_its_title_and_its_opening(book: Book) -> None:
    first, second, *_ = colab_notebook(book, "notebooks/01-one").cells
    assert first.source.startswith("# The first\n\nHow much is $a + b$?")
    assert second.source.startswith(INSTALLS)


def test_a_page_in_a_sub_folder_finds_the_others(book: Book, published: Book) -> None:
    page = "notebooks/solutions/01-one"
    assert book.chapters == ["notebooks/01-one", "notebooks/02-two", page]
    assert Flattener(book, page).flatten("{ref}`one`") == "[The first](../01-one.ipynb)"
    assert Flattener(published, page).flatten("{doc}`../01-one`") == (
        f"[The first]({SITE}notebooks/01-one.html)"
    )
    cells = colab_notebook(published, page).cells
    text = "\n".join(cell.source for cell in cells)
    assert "](data:image/svg+xml;base64," in text
    assert "**Solution to Exercise 1.1 (Add)**" in text


@pytest.mark.parametrize(
    ("markdown", "message"),
    [
        ("```{mermaid}\ngraph\n```", "directive {mermaid} has no plain form; these have: code-"),
        ("{glue:text}`x`", "role {glue:text} has no plain form"),
        ("{cite:p}`nobody1900nothing`", "no paper 'nobody1900nothing'"),
        ("{ref}`nowhere`", "no label 'nowhere' in the book"),
        ("{doc}`03-three`", "no page 'notebooks/03-three' in _toc.yml"),
        ("{numref}`part`", "{numref}`part`: a section without number; write {ref}`title <part>`"),
        ("{numref}`Picture <fig-map>`", "{numref}`fig-map`: a title"),
        ("{ref}`loose`", "{ref}`loose`: no heading"),
        ("{{ substitution }}", "`{{ substitution }}` has no plain form"),
        ("% a comment", "`% a comment` has no plain form"),
        ("+++", "`+++` has no plain form"),
        ("text[^1]", "`[^1]` has no plain form"),
        ("$$a = b$$ (eq-x)", "write the formula (eq-x) as {math}"),
        ("[here](#part)", "`[here](#part)` has no plain form"),
        ("- a\n\n  ```{note}\n  b\n  ```", "````{note}`: a directive begins at the start of its"),
        ("> :::{note}\n> b\n> :::", "`> :::{note}`: a directive begins at the start of its line"),
        ("::: note\nb\n:::", "`::: note`: write a directive as `:::{name} argument`"),
        (":::{note}\nnever closed", "`:::{note}` is never closed: end it with `:::`"),
        ("::::{note}\ntoo short\n:::", "`::::{note}` is never closed: end it with `::::`"),
        ("```python\nx = 1", "```python` is never closed"),
        ("::::{note}\n:::{prf:proof}\nnever closed\n::::", "`:::{prf:proof}` is never closed"),
        ("```{math}\n:label eq-x\na\n```", "{math}: Invalid options format"),
        (":::{exercise} No label\nx\n:::", "{exercise} No label: give it a `:label:`"),
        (":::{figure} x.svg\n:name: fig-x\nx\n:::", "{figure} x.svg: give it a `:alt:`"),
        ("![](https://example.org/x.png)", "write what it shows between the brackets"),
    ],
)
def test_what_has_no_plain_form_is_an_error(book: Book, markdown: str, message: str) -> None:
    with pytest.raises(MystError, match=re.escape(message)):
        flat(book, markdown)


def test_a_label_used_twice_is_an_error(tmp_path: Path) -> None:
    book = Book(write_tiny_book(tmp_path, two="# Two\n\n(one)=\n## Again\n"))
    with pytest.raises(MystError, match=r"02-two\.md: label 'one' is in notebooks/01-one\.md too"):
        _ = book.labels


def test_generation_is_deterministic_and_has_ids_by_position(book: Book) -> None:
    first, second = (colab_notebook(book, "notebooks/01-one") for _ in range(2))
    assert nbformat.writes(first) == nbformat.writes(second)
    assert [cell.id for cell in first.cells] == [f"cell-{n:02d}" for n in range(1, 7)]
    # nbval compares no output of a cell without a count.
    code = [cell for cell in first.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    nbformat.validate(first)


def test_both_notebooks_hold_the_same_code(book: Book) -> None:
    page, colab = (make(book, "notebooks/01-one") for make in (page_notebook, colab_notebook))
    code = [[c.source for c in nb.cells if c.cell_type == "code"] for nb in (page, colab)]
    _, *code[1] = code[1]  # the installation
    form = next(source for source in code[1] if "# @param" in source)
    assert code[0][0] in form.splitlines()
    assert code[0][1:] == [c for c in code[1] if c not in (form, "# Your answer")]
    assert "{math}" in page.cells[2].source
    assert page.cells[1].metadata.tags == ["parameters"]


@pytest.mark.parametrize(
    ("before", "after", "outputs"),
    [
        ("How much", "What", ["3\n"]),
        # nbval will say that this is no longer right.
        ("b = 2", "b = 3", ["3\n"]),
        (f"{CELL}import", f"{CELL}0\n```\n\n{CELL}import", ["3\n"]),
        ("a + b\n```\n", f"a + b\n```\n\n{CELL}a - b\n```\n", []),
    ],
)
def test_stored_outputs_follow_their_code(
    tmp_path: Path, before: str, after: str, outputs: list[str]
) -> None:
    stored = colab_notebook(Book(write_tiny_book(tmp_path / "a")), "notebooks/01-one")
    stored.cells[-1].outputs = [nbformat.v4.new_output("stream", text="3\n")]
    changed = ONE.replace(before, after)
    assert changed != ONE
    notebook = colab_notebook(
        Book(write_tiny_book(tmp_path / "b", changed)), "notebooks/01-one", stored
    )
    assert [output.text for output in notebook.cells[-1].outputs] == outputs
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_pictures_and_traces_are_not_stored() -> None:
    data = {"image/png": "…", "image/svg+xml": "<svg/>", "text/plain": "<Figure>"}
    outputs = [
        nbformat.v4.new_output("display_data", data=data, metadata={"image/png": {"width": 9}}),
        nbformat.v4.new_output("error", ename="E", evalue="e", traceback=["/home/someone"]),
    ]
    kept = json.dumps(keep_text(outputs, "one.md"))
    assert "<Figure>" in kept
    assert not any(text in kept for text in ("image/", "width", "/home"))


def test_a_warning_is_not_stored() -> None:
    with pytest.raises(ExecutionError, match=r"one\.md:3 writes to stderr, [^\n]*\n\nDeprecated"):
        keep_text([nbformat.v4.new_output("stream", name="stderr", text="Deprecated")], "one.md:3")


def install_cell(notebook: nbformat.NotebookNode) -> str:
    return next(cell.source for cell in notebook.cells if cell.source.startswith(INSTALLS))


def test_the_picture_that_a_chapter_opens_with_stands_above_all_code() -> None:
    """GitHub shows the code of a folded cell, and what a cell has drawn stands below it."""
    picture = {"image/png": "YSBtYXA=\n"}
    drawn = nbformat.v4.new_output(
        "display_data", picture, metadata={"image/png": {"alt": "Bars."}}
    )
    cells = [
        nbformat.v4.new_markdown_cell("# One\n\nHow much?"),
        nbformat.v4.new_code_cell(INSTALLS),
        nbformat.v4.new_code_cell("draw()", metadata={"tags": ["varies"]}, outputs=[drawn]),
        nbformat.v4.new_markdown_cell("**Figure 1.1.** Much."),
        nbformat.v4.new_markdown_cell("## Two"),
    ]
    before = [cell.copy() for cell in cells]
    raise_picture(cells)
    assert [cell.source for cell in cells] == [
        "# One\n\nHow much?",
        "![Bars.](data:image/png;base64,YSBtYXA=)\n\n**Figure 1.1.** Much.",
        *(INSTALLS, "draw()", "## Two"),
    ]
    assert cells[3].outputs == []
    # CI's nbval, too, has nothing there to compare with.
    assert "nbval-ignore-output" in cells[3].metadata["tags"]
    lower_picture(cells)
    kept = [(cell.source, cell.get("outputs")) for cell in cells]
    assert kept == [(cell.source, cell.get("outputs")) for cell in before]
    # One further down stays where it is.
    later = [cells[0], cells[-1], *cells[1:-1]]
    raise_picture(later)
    assert later == [cells[0], cells[-1], *cells[1:-1]]


def installed(install: str, monkeypatch: pytest.MonkeyPatch, *missing: str) -> tuple[str, str]:
    """What the cell says as it ends, and what it asks of pip, where some modules are missing."""
    there, asked = importlib.util.find_spec, []
    shell = InteractiveShell()
    shell.register_magic_function(asked.append, "line", "pip")
    with monkeypatch.context() as patched:
        patched.setattr(
            importlib.util, "find_spec", lambda name: None if name in missing else there(name)
        )
        ended = shell.run_cell(install)
    return str(ended.error_in_exec or ""), " ".join(asked)


DRAWS = "import numpy as np\nfrom calib_utils.plots import reliability_diagram"
READS = "from calib_utils.records import load_record"


@pytest.mark.parametrize(
    ("code", "named", "typed"),
    [
        ("from calib_utils.metrics import accuracy", ["calib_utils"], "."),
        (DRAWS, ["calib_utils", "matplotlib"], "'.[plots]'"),
        (READS, ["calib_records", "calib_utils"], ". ./calib_records"),
        ("import calib_audit\nimport pyarrow", ["calib_audit", "calib_utils"], ". ./calib_audit"),
        # The digits of scikit-learn need no PyTorch.
        ("import sklearn.datasets", ["calib_utils", "sklearn"], ". scikit-learn"),
        (
            "from calib_utils.training import train\nimport sklearn.datasets",
            ["calib_utils", "safetensors", "sklearn", "torch", "torchvision"],
            "'.[training]'",
        ),
        ("import torch", Needs(["import calib_utils.training"]).names, "'.[training]'"),
        ("import os\nif in_colab:\n    from google.colab import drive", ["calib_utils"], "."),
    ],
)
def test_a_notebook_asks_for_what_it_imports(code: str, named: list[str], typed: str) -> None:
    needs = Needs([code])
    assert needs.names == named
    assert needs.in_a_copy() == typed


def test_in_a_copy_of_the_repository_a_notebook_says_what_to_type(
    book: Book, published: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY / "notebooks")
    for one in (book, published):
        install = install_code(one, [DRAWS, READS])
        assert installed(install, monkeypatch) == ("", "")
        said, asked = installed(install, monkeypatch, "matplotlib", "calib_utils")
        assert said.startswith("calib_utils, matplotlib: not installed.")
        assert said.endswith("\n\n    pip install '.[plots]' ./calib_records")
        assert asked == ""


def test_elsewhere_a_notebook_installs_the_release_of_its_own_version(
    book: Book, published: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install = install_code(published, [DRAWS, READS])
    assert installed(install, monkeypatch) == ("", "")
    said, asked = installed(install, monkeypatch, "calib_records")
    release = f"{URL}/releases/download/v{__version__}"
    assert MODULE == PROJECT
    names = MODULE, f"{MODULE}-records"
    wheels = [f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl" for name in names]
    assert (said, asked) == (
        "",
        f'install -q "{names[0]}[plots] @ {release}/{wheels[0]}" '
        f'"{names[1]} @ {release}/{wheels[1]}"',
    )
    # Without an address there is nothing to install from.
    said, asked = installed(install_code(book, [DRAWS]), monkeypatch, "matplotlib")
    assert (said[:26], asked) == ("matplotlib: not installed.", "")


def test_the_profiles_are_a_choice_in_colab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = 'a = 1\ncheckpoint_folder = ""'
    root = write_tiny_book(tmp_path, ONE.replace("a = 1", parameters))
    for name, values in (("cpu", '{a: 1, checkpoint_folder: ""}'), ("gpu", "{a: 7}")):
        (root / f"notebooks/parameters/{name}.yml").write_text(f"01-one: {values}\n", "utf-8")
    form = next(
        cell.source
        for cell in colab_notebook(Book(root), "notebooks/01-one").cells
        if "parameters" in cell.metadata.get("tags", [])
    )
    assert form.splitlines()[:3] == [
        "# @title Parameters",
        'profile = "cpu"  # @param ["cpu", "gpu"]',
        'keep_on_drive = False  # @param {type:"boolean"}',
    ]
    mounted: list[str] = []
    colab = types.ModuleType("google.colab")
    colab.drive = types.SimpleNamespace(mount=mounted.append)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    for profile, a in (("cpu", 1), ("gpu", 7)):
        for keeps, folder in ((False, ""), (True, "/content/drive/MyDrive/calibration")):
            names: dict[str, object] = {}
            chosen = form.replace('profile = "cpu"', f'profile = "{profile}"')
            exec(chosen.replace("drive = False", f"drive = {keeps}"), names)
            assert (names["a"], names["checkpoint_folder"]) == (a, folder)
    assert mounted == ["/content/drive"] * 2


@pytest.mark.parametrize(
    "cell",
    [
        ":tags: [nbval-ignore-output]\n\nx = 1",
        ":tags: [hide_input]\n\nx = 1",
        "# NBVAL_SKIP\nx = 1",
        "---\nmystnb: {figure: {name: fig-x, caption: No alt text.}}\n---\nx = 1",
        ":tags: [hide-input]\n\nx = 1  # a fold without a name",
        "---\nmystnb: {table: {name: tab-x}}\n---\nx = 1  # a table without a caption",
        "---\nmystnb: {table: {name: tab-x, caption: The $x$.}}\n---\nx = 1",
    ],
)
def test_cells_that_would_escape_a_check_are_errors(tmp_path: Path, cell: str) -> None:
    source = f"# One\n\n```{{code-cell}} python\n{cell}\n```\n"
    book = Book(write_tiny_book(tmp_path, source, LABELS))
    lines = book.source("notebooks/01-one").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.endswith(cell.splitlines()[-1]))
    with pytest.raises(MystError, match=rf"^line ({line}|{line - 1}): cell `"):
        page_notebook(book, "notebooks/01-one")


def test_each_exercise_is_followed_by_a_place_for_the_answer(tmp_path: Path) -> None:
    exercise = ":::{{exercise}} Number {0}\n:label: ex-{0}\n\nCount to {0}.\n:::\n"
    nested = "::::{exercise} Three\n:label: ex-three\n\n:::{note}\nCount.\n:::\nMore.\n::::\n"
    source = f"# One\n\n{exercise.format('one')}\n{exercise.format('two')}\n{nested}\nThe end.\n"
    solutions = f"{exercise.format('four')}\n{CELL}1\n```\n"
    root = write_tiny_book(tmp_path, source, LABELS)
    (root / "notebooks/solutions/01-one.md").write_text(f"{HEAD}\n# Four\n\n{solutions}", "utf-8")
    book = Book(root)
    # Behind the first exercise comes what the first code needs.
    cells = colab_notebook(book, "notebooks/01-one").cells
    assert cells.pop(1).source.startswith(INSTALLS)
    assert [cell.source.splitlines()[-1] for cell in cells] == [
        *("> Count to one.", "# Your answer", "> Count to two.", "# Your answer"),
        *("> More.", "# Your answer", "The end."),
    ]
    assert {cell.cell_type for cell in cells[1::2]} == {"code"}
    for notebook in (
        page_notebook(book, "notebooks/01-one"),
        colab_notebook(book, "notebooks/solutions/01-one"),
    ):
        assert "Your answer" not in nbformat.writes(notebook)


def test_folded_code_has_a_title_in_colab_and_checks_come_last(tmp_path: Path) -> None:
    named = "---\ntags: [hide-input]\nmystnb: {code_prompt_show: Why so}\n---\na = 1"
    drawn = (
        "---\ntags: [hide-input]\nmystnb: {code_prompt_show: 'Draw: A line', figure: {name: fig-x, "
        "caption: 'A line. It rises.'}, image: {alt: A line.}}\n---\nb = 1"
    )
    # On the page it is open, because who copies only the open cells needs its axes.
    needed = drawn.replace("tags: [hide-input]\n", "").replace("b = 1", "_, ax = plt.subplots()")
    needed = needed.replace("fig-x", "fig-y").replace("A line", "Axes")
    check = ':tags: [remove-cell]\n\nclaim(d, about="A")\nclaim(a, about="B")'
    cells = [named, drawn, needed, check, ":tags: [remove-cell]\n\nc = 1", "d = ax"]
    source = "# One\n\n" + "\n\n".join(f"{CELL}{cell}\n```" for cell in cells)
    book = Book(write_tiny_book(tmp_path, source, LABELS))
    notebook = colab_notebook(book, "notebooks/01-one")
    folded = {
        cell.source: cell.metadata.get("cellView") == "form"
        and cell.metadata.get("jupyter") == {"source_hidden": True}
        for cell in notebook.cells
        if cell.cell_type == "code" and not cell.source.startswith(INSTALLS)
    }
    assert folded == {
        "# @title Why so\na = 1": True,
        "# @title Draw: A line\nb = 1": True,
        "# @title Draw: Axes\n_, ax = plt.subplots()": True,
        "d = ax": False,
        '# @title “A”, and 1 more\nclaim(d, about="A")\nclaim(a, about="B")': True,
        "# @title Does the text still hold?\nc = 1": True,
    }
    captions = [cell.source for cell in notebook.cells if cell.source.startswith("**Figure")]
    assert captions == ["**Figure 1.1.** A line. It rises.", "**Figure 1.2.** Axes. It rises."]
    *_, last, head, _, _ = notebook.cells
    assert last.source == "d = ax"
    assert head.source.startswith("## Does the text still hold?\n")


def test_a_solution_is_open_in_colab(book: Book) -> None:
    head, _, code, _ = colab_notebook(book, "notebooks/solutions/01-one").cells
    assert "\n**Solution to Exercise 1.1 (Add)**\n" in head.source
    assert (code.source, code.metadata) == ("1 + 2", {})


@pytest.mark.parametrize("gate", ["solution", "solution-start"])
def test_a_chapter_that_solves_its_exercises_is_an_error(tmp_path: Path, gate: str) -> None:
    source = f"# One\n\nAsk.\n\n```{{{gate}}} ex-count\nTwo.\n```\n"
    book = Book(write_tiny_book(tmp_path, source, LABELS))
    with pytest.raises(MystError, match=r"solutions stand in notebooks/solutions/01-one\.md"):
        page_notebook(book, "notebooks/01-one")


def test_an_edited_line_with_a_number_or_a_word_of_its_own_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_tiny_book(tmp_path))
    page = "notebooks/01-one"
    write_if_changed(colab_notebook(Book(), page), committed(page))
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "All"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"]
        subprocess.run(["git", *name, *command], check=True)
    assert list(doubtful(page)) == []
    path = Path(f"{page}.md")
    path.write_text(path.read_text("utf-8") + "\nThe first is 0.75, and calibraetd.\n", "utf-8")
    line = len(path.read_text("utf-8").splitlines())
    assert list(doubtful(page)) == [
        f"{page}.md:{line}: no cell has 0.75",
        f"{page}.md:{line}: nowhere else: calibraetd",
    ]
