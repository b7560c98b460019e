"""What a guesser earns: neither its words nor its place may give the right option away.

A rule of thumb strikes options out by their look alone, and guesses among those that are left.

    PYTHONPATH=. python tests/test_guessing.py      print what each rule earns, the best first
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.test_questions import PAGES, asked
from tools.sources.questions import Question

Marked = list[bool]  # for each option of a question, whether it carries a mark
MOST = 0.10  # beyond chance
# Short ones look like a mark by chance, so that their pages are learned from and not judged.
WORDS = {
    "a reason": r"because|since|so|as|therefore|after all|which means",
    "yes": r"^yes",
    "no": r"^no",
    "a number": r"[0-9]|half|one|two|twice|quarter",
    "a hedge": r"may|might|could|can|need not|often|usually|mostly|probably|about(?= [0-9])"
    r"|nearly|hardly|little|some|unless|if|depends",
    "no exception": r"always|never|every|each|all|any|only|must|exactly|whatever|nothing|none",
    "a negation": r"not|no|none|nothing|never|cannot|neither|nor|un\w+",
    "a refusal": r"cannot|(?:do|does) not (?:tell|say|show)|nobody|nothing|little|depends",
    "a comma": ",",
    "a comparison": r"more|less|fewer|\w\w\w+er|than",
}


def words(pattern: str) -> Callable[[Question], Marked]:
    found = re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", re.IGNORECASE)
    if pattern == ",":
        found = re.compile(",")
    return lambda question: [bool(found.search(one.text)) for one in question.answers]


def place(nth: int) -> Callable[[Question], Marked]:
    """First, second, or last, of three options or more."""
    return lambda question: [n == nth % len(question.answers) for n in range(len(question.answers))]


def longest(sign: int) -> Callable[[Question], Marked]:
    def marked(question: Question) -> Marked:
        lengths = [sign * len(one.text) for one in question.answers]
        return [length == max(lengths) for length in lengths]

    return marked


def familiar(question: Question) -> Marked:
    """The option with the largest share of words that the question has, too."""
    has = set(re.findall(r"\w{4,}", question.text.lower()))
    shares = [
        np.mean([word in has for word in re.findall(r"\w{4,}", one.text.lower())] or [0])
        for one in question.answers
    ]
    return [share == max(shares) for share in shares]


MARKS: dict[str, Callable[[Question], Marked]] = {
    **{name: words(pattern) for name, pattern in WORDS.items()},
    "the first place": place(0),
    "the second place": place(1),
    "the last place": place(-1),
    "the greatest length": longest(1),
    "the smallest length": longest(-1),
    "words of the question": familiar,
}
RULES = [(wanted, name) for name in MARKS for wanted in (True, False)]


def with_one_right(page: str) -> list[Question]:
    return [
        question
        for question in asked(page)
        if not question.is_number and sum(one.is_right for one in question.answers) == 1
    ]


QUESTIONS = {page: with_one_right(page) for page in PAGES}
EVERY = [question for questions in QUESTIONS.values() for question in questions]


def left_by(question: Question, *rules: tuple[bool, str]) -> Marked:
    """The options that are left by one rule after the other; one that leaves none is dropped."""
    left = [True] * len(question.answers)
    for wanted, name in rules:
        kept = [a and mark == wanted for a, mark in zip(left, MARKS[name](question), strict=True)]
        left = kept if any(kept) else left
    return left


def earned(*rules: tuple[bool, str]) -> float:
    """The share of the questions with one right option that a guesser gets right, on average."""
    hits = [
        sum(a.is_right for a, kept in zip(q.answers, left, strict=True) if kept) / sum(left)
        for q in EVERY
        for left in [left_by(q, *rules)]
    ]
    return float(np.mean(hits))


CHANCE = earned()


def told(rules: tuple[tuple[bool, str], ...]) -> str:
    return ", then ".join(f"{'take' if wanted else 'avoid'} {name}" for wanted, name in rules)


def features(question: Question) -> np.ndarray:
    """For each option its marks, less their mean over the options of the question."""
    marks = np.array([mark(question) for mark in MARKS.values()], float).T
    return marks - marks.mean(axis=0)


def learned(page: str) -> list[bool]:
    """Whether each question is guessed right by what tells right options on all other pages."""
    others = [q for other, questions in QUESTIONS.items() if other != page for q in questions]
    model = LogisticRegression().fit(
        np.concatenate([features(q) for q in others]),
        [answer.is_right for q in others for answer in q.answers],
    )
    return [
        q.answers[int(np.argmax(model.decision_function(features(q))))].is_right
        for q in QUESTIONS[page]
    ]


def all_learned() -> float:
    return float(
        np.mean([hit for page, some in QUESTIONS.items() if some for hit in learned(page)])
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: told((rule,)))
def test_a_rule_of_thumb_hardly_beats_chance(rule: tuple[bool, str]) -> None:
    assert earned(rule) <= CHANCE + MOST


def test_two_rules_hardly_beat_chance() -> None:
    best = max(permutations(RULES, 2), key=lambda rules: earned(*rules))
    assert earned(*best) <= CHANCE + MOST, told(best)


def test_what_other_chapters_teach_about_options_hardly_beats_chance() -> None:
    assert all_learned() <= CHANCE + MOST


if __name__ == "__main__":
    print(f"{len(EVERY)} questions with one right option; chance {CHANCE:.0%}")
    for n in (1, 2):
        found = sorted(permutations(RULES, n), key=lambda rules: -earned(*rules))
        for rules in found[:12]:
            print(f"{earned(*rules) - CHANCE:+4.0%}  {told(rules)}")
    print(f"{all_learned() - CHANCE:+4.0%}  learn from all other pages")
