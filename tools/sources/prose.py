"""A report on prose, which `make lint` prints. Nothing in it is an error, nor stops a build.

Words against a plan, the mean length of a sentence and the share below nine words, the number of
questions, home-made words where the field has one, and statistics in part I. Then terms in bold
without an entry in the glossary, and terms before the chapter that introduces them.
"""

from __future__ import annotations

import re

import numpy as np

from tools.sources.book import Book
from tools.sources.glossary import too_early, unexplained
from tools.sources.myst import Directive, Text, parse
from tools.sources.questions import Question, read_question

# Planned words, questions and exercises included.
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
# Ours, where the field has another word.
HOME_MADE = re.compile(
    r"\b(photographs?|repair(s|ed|ing)?|floors?|promise[sd]?|promising|by heart|mend(s|ed|ing)?"
    r"|on Monday)\b",
    re.IGNORECASE,
)
STATISTICS = re.compile(
    r"\b(Welch|Holm|McNemar|p-values?|adjusted p|t-test|degrees of freedom|null hypothesis)\b"
)
PART_ONE = 6


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


def sentence_lengths(text: str) -> list[int]:
    """Words of each sentence, also in lists; an option is a sentence if it ends as one."""
    items = re.sub(r"(?m)^ *(-( x)?|\d+\.) +", "\n\n", text)
    sentences = [
        s for p in re.split(r"\n\s*\n", items) for s in re.split(r"(?<=[.!?])\s+", p.strip())
    ]
    return [len(s.split()) for s in sentences if s.rstrip()[-1:] in tuple(".!?") and " " in s]


def asked(markdown: str) -> list[Question]:
    """The questions of a page, in order."""
    return [
        read_question(block.body)
        for block in parse(markdown)
        if isinstance(block, Directive) and block.name == "question"
    ]


def report(book: Book) -> None:
    """Print it."""
    chapters = [page for page, number in book.pages.items() if number]
    print(f"{'chapter':32}{'planned':>8}{'words':>8}{'a sentence':>12}{'short':>7}{'asked':>7}")
    notes = []
    for place, page in enumerate(chapters):
        name, source = page.removeprefix("notebooks/"), book.source(page)
        text, boxes, captions = parts(source)
        words = len(re.findall(r"[A-Za-z][\w'-]*", f"{text} {boxes}"))
        lengths, questions = sentence_lengths(f"{text}\n\n{boxes}"), asked(source)
        mean, short = np.mean(lengths), np.mean([n < 9 for n in lengths])
        planned = WORDS.get(name, 0)
        print(f"{name:32}{planned:8,}{words:8,}{mean:12.1f}{short:7.0%}{len(questions):7}")
        said = {found[0] for found in HOME_MADE.finditer(f"{text} {boxes} {captions}")}
        if place < PART_ONE:
            said |= {found[0] for found in STATISTICS.finditer(f"{text} {boxes}")}
        notes += [f"{name}: {', '.join(sorted(said))}"] * bool(said)
    print("\n".join([*notes, *unexplained(), *too_early()]))


if __name__ == "__main__":
    report(Book())
