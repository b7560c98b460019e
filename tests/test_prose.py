"""How the book reads: words, sentences and terms of each chapter. A guard, and no aim.

PYTHONPATH=. python tests/test_prose.py     print the words and sentences of each chapter
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tools.sources.book import Book
from tools.sources.locations import code_of
from tools.sources.myst import Directive, Text, parse
from tools.sources.needs import needs, said_needs
from tools.sources.reading_time import exercise_times

BOOK = Book()
# Planned words, questions and exercises included. A guard, not a cap: a new sentence must not fail.
WORDS = {
    "what-calibration-means": 2_600,
    "ece-and-mce": 2_600,
    "why-networks-are-overconfident": 3_000,
    "methods-for-two-classes": 2_100,
    "methods-for-many-classes": 2_500,
    "resnet34-lab": 2_800,
    "can-you-trust-an-ece": 2_800,
    "deciding-with-probabilities": 2_500,
    "language-models": 2_300,
    "since-2017": 2_500,
    "your-own-model": 2_000,
}
CHAPTERS = [page for page, number in BOOK.pages.items() if number]
PAGES = [page for page in BOOK.chapters if "solutions/" not in page]
# Ours, where the field has another word.
HOME_MADE = re.compile(
    r"\b(photographs?|repair(s|ed|ing)?|floors?|promise[sd]?|promising|by heart|mend(s|ed|ing)?"
    r"|on Monday)\b",
    re.IGNORECASE,
)
# Behind a line that is neither part of a list nor an option.
CHANCE = re.compile(r"(?m)^(?![-+*] |\d+[.)] |[ :]).*\S.*\n(?:[-+*]|\d+[.)]) .*")
ANSWERS = re.compile(r"\banswer(s|ed)?\b", re.IGNORECASE)
STATISTICS = re.compile(
    r"\b(Welch|Holm|McNemar|p-values?|adjusted p|t-test|degrees of freedom|null hypothesis)\b"
)


def plain(markdown: str) -> str:
    """Text as a reader sees it, a letter for each formula."""
    text = re.sub(r"(?s)\$\$.*?\$\$", " ", re.sub(r"<!--.*?-->", " ", markdown))
    text = re.sub(r"(?m)^(\|.*|#+ .*|\([a-z0-9-]+\)=\s*)$", " ", text)
    text = re.sub(r"\{[a-z:]+\}`([^`<]*)(?:<[^`]*>)?`", r"\1", text)
    return re.sub(r"[*_`\[\]]", "", re.sub(r"\$[^$]*\$", "x", text))


@cache
def parts(page: str) -> tuple[str, str, str]:
    """What runs on from paragraph to paragraph, then boxes and exercises, then captions."""
    text, boxes, captions = [], [], []
    for block in parse(BOOK.source(page)):
        if isinstance(block, Text):
            text.append(re.sub(r"(?s)\A---.*?\n---\n", "", block.text))
        elif isinstance(block, Directive) and block.name == "code-cell":
            shown = block.options.get("mystnb", {})
            captions += [shown[kind]["caption"] for kind in ("figure", "table") if kind in shown]
        elif isinstance(block, Directive) and block.name not in ("math", "raw"):
            boxes.append(block.body)
    return plain("\n\n".join(text)), plain("\n\n".join(boxes)), plain("\n\n".join(captions))


def words(page: str) -> int:
    return len(re.findall(r"[A-Za-z][\w'-]*", " ".join(parts(page)[:2])))


def sentence_lengths(text: str) -> list[int]:
    """Words of each sentence, also in lists; an option is a sentence if it ends as one."""
    items = re.sub(r"(?m)^ *(-( x)?|\d+\.) +", "\n\n", text)
    sentences = [
        s for p in re.split(r"\n\s*\n", items) for s in re.split(r"(?<=[.!?])\s+", p.strip())
    ]
    return [len(s.split()) for s in sentences if s.rstrip()[-1:] in tuple(".!?") and " " in s]


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_is_as_long_as_a_reader_has_time(page: str) -> None:
    assert words(page) <= 1.15 * WORDS[page.removeprefix("notebooks/")]


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_joined_and_not_chopped(page: str) -> None:
    text, *others = parts(page)
    for read in (text, "\n\n".join([text, *others])):
        lengths = sentence_lengths(read)
        assert 15 <= sum(lengths) / len(lengths) <= 21
        assert sum(n < 9 for n in lengths) / len(lengths) <= 0.15


@pytest.mark.parametrize("page", BOOK.chapters)
def test_the_words_are_those_of_the_field(page: str) -> None:
    text = " ".join(parts(page))
    assert HOME_MADE.findall(text) == []
    if "language-models" not in page:
        assert len(ANSWERS.findall(text)) <= 12


@pytest.mark.parametrize("page", BOOK.chapters)
def test_no_line_of_a_paragraph_begins_a_list_by_chance(page: str) -> None:
    """As the "- 10" of a formula would that is wrapped before it; a list follows an empty line."""
    for block in parse(BOOK.source(page)):
        if isinstance(block, Text | Directive):
            text = block.text if isinstance(block, Text) else block.body
            assert CHANCE.findall(text) == []


def claims(code: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim"
    ]


@pytest.mark.parametrize("page", BOOK.chapters)
def test_what_a_claim_is_about_stands_in_the_text(page: str) -> None:
    """The note that a reader sees after an edit quotes it; a check has nothing else to show."""
    text = " ".join(" ".join(parts(page)).split())
    calls = [call for _, code in code_of(BOOK.source(page)) for call in claims(code)]
    quoted = [k.value.value for call in calls for k in call.keywords if k.arg == "about"]
    assert [words for words in quoted if words not in text] == []
    silent = [
        ast.unparse(call)
        for block in parse(BOOK.source(page))
        if isinstance(block, Directive) and "remove-cell" in block.options.get("tags", [])
        for call in claims(block.body)
        if "about" not in [keyword.arg for keyword in call.keywords]
    ]
    assert silent == [], 'a check needs about="words of the sentence that it checks"'


@pytest.mark.parametrize("page", CHAPTERS[:6])
def test_the_course_needs_no_test_statistic(page: str) -> None:
    assert STATISTICS.findall(" ".join(parts(page))) == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_names_what_it_needs(page: str) -> None:
    """In "You need", the chapters that it refers back to; part II needs nothing of part II."""
    said = said_needs(BOOK, page)
    assert set(needs(BOOK, page)) <= said
    assert said <= set(CHAPTERS[:6])


@pytest.mark.parametrize("page", CHAPTERS)
def test_exercises_say_how_hard_and_how_long(page: str) -> None:
    source = BOOK.source(page)
    titles = re.findall(r":::\{exercise\} (●+) ", source)
    assert len(exercise_times(source)) == source.count("{exercise}") == len(titles)
    assert titles == sorted(titles), "warm-ups first"


def test_the_course_is_short_enough_to_be_read() -> None:
    assert sum(map(words, CHAPTERS)) <= 1.15 * sum(WORDS.values())


if __name__ == "__main__":
    print(f"{'chapter':32}{'planned':>8}{'words':>8}{'a sentence':>12}{'below nine':>12}")
    for page in CHAPTERS:
        name, lengths = page.removeprefix("notebooks/"), sentence_lengths("\n\n".join(parts(page)))
        mean, short = sum(lengths) / len(lengths), sum(n < 9 for n in lengths) / len(lengths)
        print(f"{name:32}{WORDS[name]:8,}{words(page):8,}{mean:12.1f}{short:12.0%}")
    print(f"{'all':32}{sum(WORDS.values()):8,}{sum(map(words, CHAPTERS)):8,}")
