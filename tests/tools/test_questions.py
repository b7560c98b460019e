"""Questions: what a source may say, and what Colab shows of it (tests/site has the pages)."""

from __future__ import annotations

import pytest

from tools.sources.directives import row_of
from tools.sources.myst import Directive, MystError, parse
from tools.sources.questions import (
    Answer,
    Question,
    as_form,
    read_question,
)

BODY = """\
Of 100 answers that say $p = 0.9$,
80 are right. What now?

- [ ] It is calibrated,
  mostly.
  - "Mostly" is not
    enough.
- [x] It is overconfident.
  - 80 is below 90."""
READ = Question(
    "Of 100 answers that say $p = 0.9$, 80 are right. What now?",
    [
        Answer("It is calibrated, mostly.", '"Mostly" is not enough.', False),
        Answer("It is overconfident.", "80 is below 90.", True),
    ],
)

NUMBER = """\
How many of 100 predictions with a confidence of 0.8 should be wrong?

- [ ] 80
  - That is how many are right.
- [=] 20 ± 1
  - One in five."""
READ_NUMBER = Question(
    "How many of 100 predictions with a confidence of 0.8 should be wrong?",
    [
        Answer("80", "That is how many are right.", False),
        Answer("20 ± 1", "One in five.", True),
    ],
    is_number=True,
)


def test_read_question_reads_text_answers_and_reasons() -> None:
    assert read_question(BODY) == READ
    assert read_question(BODY.replace("\n\n- [ ]", "\n- [ ]")) == READ
    assert read_question(NUMBER) == READ_NUMBER


def test_read_question_keeps_a_no_break_space() -> None:
    assert (
        read_question(BODY.replace("$p", "90\N{NO-BREAK SPACE}$p")).text.split(" ")[5][:2] == "90"
    )


def test_read_question_tells_of_several_right_answers() -> None:
    both = read_question(BODY.replace("[ ]", "[x]"))
    assert both.text == f"{READ.text} More than one answer is right."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BODY[: BODY.index("- [ ]")], "", "ask something"),
        ("[x]", "[ ]", "no answer is right"),
        ("[x]", "[X]", r"answer `\[X\] It is overconfident.`: write `- \[ \] answer`"),
        ("[x] It", "It", "answer `It is overconfident.`"),
        ("\n  - 80 is below 90.", "", r"answer `\[x\] It is overconfident.`"),
        ("It is overconfident.", "{numref}`it`", "no link"),
        ("80 is below 90.", "80 is\n  - below 90.", "one reason"),
        (BODY[BODY.index("- [ ]") : BODY.index("- [x]")], "", "two answers or more"),
        ("It is overconfident.", "It is calibrated, mostly.", "two answers or more"),
    ],
)
def test_read_question_refuses_what_is_none(old: str, new: str, message: str) -> None:
    with pytest.raises(MystError, match=message):
        read_question(BODY.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("80\n", "80 %\n", None),
        ("80\n", "2,000.5 ± 0.1\n", None),
        ("80\n", "four fifths\n", "it asks for a number: write numbers"),
        ("[ ] 80", "[=] 80", "of which one is right"),
        ("[ ] 80", "[x] 80", "of which one is right"),
        ("80\n", "21\n", "answer `21`: it is close enough to be right"),
        ("20 ± 1", "80", "each another one"),
    ],
)
def test_read_question_wants_one_right_number_and_no_other_close(
    old: str, new: str, message: str | None
) -> None:
    changed = NUMBER.replace(old, new)
    assert changed != NUMBER
    if message is None:
        assert read_question(changed).is_number
    else:
        with pytest.raises(MystError, match=message):
            read_question(changed)


def test_row_of_a_question_names_the_line_of_an_error() -> None:
    source = f"# A\n\n:::{{question}}\n{BODY}\n:::\n\n:::{{question}}\n{BODY[:70]}\n:::\n"
    first, second = [block for block in parse(source) if isinstance(block, Directive)]
    assert row_of(first) is not None
    with pytest.raises(MystError, match=r"^line 15: \{question\}: "):
        row_of(second)
    with pytest.raises(MystError, match="no title"):
        row_of(next(parse(f":::{{question}} Title\n{BODY}\n:::")))  # type: ignore[arg-type]


def test_as_form_shows_a_list_and_folds_the_reasons() -> None:
    shown, _, folded = as_form(READ).partition("<details>")
    assert "> 1. It is calibrated, mostly.\n> 2. It is overconfident.\n" in shown
    assert "enough" not in shown
    assert '\n1. **Wrong.** "Mostly" is not enough.\n2. **Right.** 80 is below 90.\n' in folded


def test_as_form_shows_no_number_before_the_fold() -> None:
    shown, _, folded = as_form(READ_NUMBER).partition("<details>")
    assert READ_NUMBER.text in shown
    assert "20" not in shown
    assert "1. **80 is wrong.** That is" in folded
    assert "2. **20 ± 1 is right.** One in five." in folded
