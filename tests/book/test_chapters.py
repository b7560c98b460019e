"""What holds of every chapter's source: lists, claims and exercises."""

from __future__ import annotations

import ast
import re

import pytest

from tools.sources.book import Book
from tools.sources.locations import code_of
from tools.sources.myst import Directive, Text, parse
from tools.sources.reading_time import exercise_times

BOOK = Book()
CHAPTERS = [page for page, number in BOOK.pages.items() if number]
# Behind a line that is neither part of a list nor an option.
CHANCE = re.compile(r"(?m)^(?![-+*] |\d+[.)] |[ :]).*\S.*\n(?:[-+*]|\d+[.)]) .*")


def plain(markdown: str) -> str:
    """Text as a reader sees it, a letter for each formula."""
    text = re.sub(r"(?s)\$\$.*?\$\$", " ", re.sub(r"<!--.*?-->", " ", markdown))
    text = re.sub(r"(?m)^(\|.*|#+ .*|\([a-z0-9-]+\)=\s*)$", " ", text)
    text = re.sub(r"\{[a-z:]+\}`([^`<]*)(?:<[^`]*>)?`", r"\1", text)
    return re.sub(r"[*_`\[\]]", "", re.sub(r"\$[^$]*\$", "x", text))


def parts(markdown: str) -> tuple[str, str, str]:
    """What runs on from paragraph to paragraph, then boxes and exercises, then captions."""
    text, boxes, captions = [], [], []
    for block in parse(markdown):
        if isinstance(block, Text):
            text.append(re.sub(r"(?s)\A---.*?\n---\n", "", block.text))
        elif isinstance(block, Directive) and block.name == "code-cell":
            shown = block.options.get("mystnb", {})
            captions += [shown[kind]["caption"] for kind in ("figure", "table") if kind in shown]
        elif isinstance(block, Directive) and block.name not in ("math", "raw"):
            boxes.append(block.body)
    return plain("\n\n".join(text)), plain("\n\n".join(boxes)), plain("\n\n".join(captions))


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
    text = " ".join(" ".join(parts(BOOK.source(page))).split())
    calls = [call for _, code in code_of(BOOK.source(page)) for call in claims(code)]
    quoted = [
        ast.literal_eval(k.value) for call in calls for k in call.keywords if k.arg == "about"
    ]
    assert [words for words in quoted if words.replace("*", "") not in text] == []
    silent = [
        ast.unparse(call)
        for block in parse(BOOK.source(page))
        if isinstance(block, Directive) and "remove-cell" in block.options.get("tags", [])
        for call in claims(block.body)
        if "about" not in [keyword.arg for keyword in call.keywords]
    ]
    assert silent == [], 'a check needs about="words of the sentence that it checks"'


@pytest.mark.parametrize("page", CHAPTERS)
def test_exercises_say_how_long(page: str) -> None:
    source = BOOK.source(page)
    assert len(exercise_times(source)) == source.count("{exercise}")
