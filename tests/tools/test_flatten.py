"""From MyST to plain Markdown: every directive and role, and what must not pass."""

from __future__ import annotations

import re

import pytest

from tests.tiny_book import LABELS
from tools.sources.book import Book
from tools.sources.colab_notebook import colab_notebook
from tools.sources.flatten import Flattener
from tools.sources.myst import MystError

SITE = "https://someone.github.io/course/"


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
def test_flatten_has_a_plain_form_for_each_directive(book: Book, markdown: str, plain: str) -> None:
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
def test_flatten_makes_links_of_roles_once_the_book_has_an_address(
    book: Book, published: Book, role: str, plain: str, link: str
) -> None:
    page, _, _ = link.removeprefix("notebooks/").partition(".html")
    beside = link.startswith("notebooks/") and page != "02-two"
    there = f"[{plain}]({page}.ipynb)" if beside else plain
    # What is no notebook has no address, so its place is named.
    there += " (a page of the course: “The book”)" * (page == "book/intro")
    assert flat(book, role) == there
    assert flat(published, role) == f"[{plain}]({SITE}{link})"


def test_flatten_links_citations_to_the_papers(book: Book) -> None:
    paper = "https://arxiv.org/abs/1706.04599"
    assert flat(book, "{cite:t}`guo2017calibration`") == f"[Guo et al. (2017)]({paper})"
    assert flat(book, "{cite:p}`guo2017calibration`") == f"([Guo et al., 2017]({paper}))"


def test_flatten_names_authors_in_plain_text(book: Book) -> None:
    bibliography = book.root / "book" / "references.bib"
    with bibliography.open("a") as file:
        file.write('@misc{ue, author={M{\\"u}ller, R and {Silva Filho}, T}, year=2019, url={u}}')
    assert flat(Book(book.root), "{cite:t}`ue`") == "[Müller and Silva Filho (2019)](u)"


def test_flatten_makes_a_picture_part_of_the_notebook(book: Book, published: Book) -> None:
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


def test_flatten_finds_other_pages_from_a_sub_folder(book: Book, published: Book) -> None:
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
        ("![x](https://a.org/x.png)", "`![x](https://a.org/x.png)` has no plain form"),
    ],
)
def test_flatten_refuses_what_has_no_plain_form(book: Book, markdown: str, message: str) -> None:
    with pytest.raises(MystError, match=re.escape(message)):
        flat(book, markdown)
