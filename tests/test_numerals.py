"""Numerals in prose: each comes from the run, or is listed as given."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.sources.atomic import write_text
from tools.sources.book import Book
from tools.sources.numerals import findings, main, read, read_list, sections

# What the run prints, and what a page says.
PRINTED = "ECE 7.0%, baseline 1.2%\n"
PAGE = """
# A page

Its ECE is 7.0 %, of LeNet-5 in {numref}`fig-12` and {cite:t}`guo2017calibration`.

```{code-cell} python
---
mystnb:
  image:
    alt: Bars that reach up to 0.35.
  figure:
    name: fig-1
    caption: Fifteen bins, from 61 photographs.
---
print(f"ECE {ece:.1%}, baseline {baseline:.1%}")
```

:::{table} Ten answers.
:name: tab-1

| answer | sure |
|---|---|
| first | 0.45 |
:::

$$
\\frac{0.35 + 0.85}{10} = 0.185
$$

```{math}
:label: eq-1
\\sum_{m=1}^{M} x_m^2
```

:::{question}
What is the baseline of 2,500 answers?

- [x] 2.4 %
  - A quarter of the answers has twice the baseline of 1.2 %.
:::

## Claimed

A {ref}`share <one-1>` of 12 to 13 %, and 1. It does not know \N{MINUS SIGN}0.5.

1. A point of a list, at https://example.org/2017.

```{code-cell} python
:tags: [remove-cell]

claim(0.12 < share < 0.13 and said == "80%")
```

It says 80 %.

```{solution-start} ex-1
:class: dropdown
```

The gap is 0.156.

```{solution-end}
```

Again 99.
"""
# Of each kind, an edit that a spell checker, nbval and the tests of pages would let pass.
EDITS = {
    "prose": ("is 7.0 %", "is 7.1 %"),
    "caption": ("from 61", "from 62"),
    "alt text": ("to 0.35.", "to 0.36."),
    "table": ("| 0.45 |", "| 0.44 |"),
    "formula": ("= 0.185", "= 0.186"),
    "labelled formula": ("x_m^2", "x_m^3"),
    "option of a question": ("2.4 %", "2.5 %"),
    "reason of an option": ("of 1.2 %", "of 1.1 %"),
    "solution": ("0.156", "0.166"),
    "sign": ("\N{MINUS SIGN}0.5", "0.5"),
}


def read_page(markdown: str, printed: str = PRINTED) -> dict[str, Any]:
    source = re.search(r"print\(.*\)", PAGE)
    cell = {"cell_type": "code", "source": [source[0]], "outputs": [{"text": [printed]}]}
    return sections(markdown, [cell], Path())


def listed(markdown: str) -> dict[str, str]:
    return {title: str(section) for title, section in read_page(markdown).items()}


@pytest.mark.parametrize("page", Book().pages)
def test_each_numeral_comes_from_the_run_or_is_given(page: str) -> None:
    """If it is right: `python -m tools.sources.numerals --accept NAME`, and read the diff."""
    assert findings(read(Book(), page), read_list().get(page, {})) == []


def test_only_pages_of_the_book_are_listed() -> None:
    assert read_list().keys() <= Book().pages.keys()


def test_numerals_are_found_wherever_a_reader_sees_them_and_nowhere_else() -> None:
    assert listed(PAGE) == {
        "A page": "=7.0% 0.35 61 0.45 0.35 0.85 10 0.185 1 2 2500 2.4% =1.2%",
        "Claimed": "=12 =13% 1 -0.5 =80% 99",
        "ex-1": "0.156",
    }


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_of_a_digit_is_found(kind: str) -> None:
    before, after = EDITS[kind]
    assert PAGE.count(before) == 1
    assert len(findings(read_page(PAGE.replace(before, after)), listed(PAGE))) == 1


@pytest.mark.parametrize("page", ["book/glossary", "book/intro", "book/literature", "book/teach"])
def test_an_edit_on_a_page_without_code_is_found(page: str) -> None:
    source = Book().source(page)
    assert findings(sections(source, [], Path("book")), read_list()[page]) == []
    edited = re.sub(r"(?<=[ \d])\d(?=\s)", lambda digit: str(9 - int(digit[0])), source)
    assert findings(sections(edited, [], Path("book")), read_list()[page]) != []


def test_a_number_that_the_run_no_longer_has_is_found() -> None:
    (printed,) = findings(read_page(PAGE, PRINTED.replace("7.0", "6.9")), listed(PAGE))
    assert printed == "'A page': no cell prints or holds 7.0% any more"
    (claimed,) = findings(read_page(PAGE.replace("0.12 <", "0.11 <")), listed(PAGE))
    assert claimed == "'Claimed': no cell prints or holds 12 any more"


def test_a_section_that_is_gone_or_new_is_found() -> None:
    shorter = PAGE.partition("## Claimed")[0]
    assert len(findings(read_page(shorter), listed(PAGE))) == 2
    assert len(findings(read_page(PAGE), listed(shorter))) == 2


def test_the_command_fails_until_an_edit_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("_config", ""), ("_toc", "root: one\n"), ("tests/numerals", "{}\n")):
        write_text(Path(f"{name}.yml"), text)
    Path("one.md").write_text("# One\n\nIts ECE is 7 %.\n", "utf-8")
    monkeypatch.setattr(sys, "argv", ["numerals", "one"])
    with pytest.raises(SystemExit, match="True"):
        main()
    assert "one.md: 'One' has the numerals\n  7%\n" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["numerals", "--accept", "one"])
    main()
    assert read_list() == {"one": {"One": "7%"}}
    monkeypatch.setattr(sys, "argv", ["numerals"])
    with pytest.raises(SystemExit, match="False"):
        main()
