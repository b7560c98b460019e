"""A report on prose, which `make lint` prints. Nothing in it is an error, nor stops a build.

Words against a plan, the mean length of a sentence and the share below nine words, home-made words
where the field has one, statistics in part I, the number of questions, and what a guesser who looks
only at the form of the options would earn. Then terms in bold without an entry in the glossary, and
terms before the chapter that introduces them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

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
Marked = list[bool]  # for each option of a question, whether it carries a mark
# What a reader might look for, as patterns of whole words.
MARKING = {
    "a reason": r"because|since|so|as|therefore|after all|which means",
    "yes": r"^yes",
    "no": r"^no",
    "a number": r"[0-9]|half|one|two|twice|quarter",
    "a hedge": r"may|might|could|can|need not|often|usually|mostly|probably|about(?= [0-9])"
    r"|nearly|hardly|little|some|unless|if|depends",
    "no exception": r"always|never|every|each|all|any|only|must|exactly|whatever|nothing|none",
    "a negation": r"not|no|none|nothing|never|cannot|neither|nor|un\w+",
    "a refusal": r"cannot|(?:do|does) not (?:tell|say|show)|nobody|nothing|little|depends",
    "a comma": r"\w+,",
    "a comparison": r"more|less|fewer|\w\w\w+er|than",
}


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


def having(pattern: str) -> Callable[[Question], Marked]:
    found = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)
    return lambda question: [bool(found.search(one.text)) for one in question.answers]


def place(nth: int) -> Callable[[Question], Marked]:
    """First, second, or last."""
    return lambda question: [n == nth % len(question.answers) for n in range(len(question.answers))]


def longest(sign: int) -> Callable[[Question], Marked]:
    def marked(question: Question) -> Marked:
        lengths = [sign * len(one.text) for one in question.answers]
        return [length == max(lengths) for length in lengths]

    return marked


def familiar(question: Question) -> Marked:
    """The option with the largest share of words that are in the question as well."""
    has = set(re.findall(r"\w{4,}", question.text.lower()))
    shares: list[float] = [
        float(np.mean([word in has for word in re.findall(r"\w{4,}", one.text.lower())] or [False]))
        for one in question.answers
    ]
    return [share == max(shares) for share in shares]


MARKS: dict[str, Callable[[Question], Marked]] = {
    **{name: having(pattern) for name, pattern in MARKING.items()},
    "the first place": place(0),
    "the second place": place(1),
    "the last place": place(-1),
    "the greatest length": longest(1),
    "the smallest length": longest(-1),
    "words of the question": familiar,
}
RULES = [(wanted, name) for name in MARKS for wanted in (True, False)]


def earned(questions: list[Question], wanted: bool, name: str) -> float:
    """The share that a guesser gets right who takes, or avoids, the options with a mark."""
    hits = []
    for question in questions:
        left = [mark == wanted for mark in MARKS[name](question)]
        left = left if any(left) else [True] * len(left)
        right = (one.is_right for one in question.answers)
        hits.append(sum(a for a, kept in zip(right, left, strict=True) if kept) / sum(left))
    return float(np.mean(hits))


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
    notes, with_one_right = [], []
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
        with_one_right += [
            question
            for question in questions
            if not question.is_number and sum(one.is_right for one in question.answers) == 1
        ]
    print("\n".join([*notes, *unexplained(), *too_early()]))
    chance = np.mean([1 / len(question.answers) for question in with_one_right])
    wanted, name = max(RULES, key=lambda rule: earned(with_one_right, *rule))
    more, does = earned(with_one_right, wanted, name) - chance, "take" if wanted else "avoid"
    print(f"The best rule for guessing earns {more:+.0%} beyond chance: {does} {name}")


if __name__ == "__main__":
    report(Book())
