"""What differs between the students of a class: the sheets, and the variant that each one asks.

An assignment's ``variants.toml`` has its choices, each a question that may be asked in several
ways. The published solution answers the first way of every choice, and no sheet ever asks it: the
class's secret deals the other ways out to the sheets, each to as many sheets as the next, or one
more. Of `DEALS` deals the one is taken in which a sheet helps least with any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from classroom import goals
from classroom.checks import Judge
from classroom.secret import generator

SHEETS = tuple("0123456789")  # a student takes that of the last digit of their number
PUBLISHED = "published"  # the sheet that the published solution answers, and that nobody gets
NEAR = 0.5  # the share of an answer that misreads one of several choices
DEALS = 300
COARSE = "If this is the loss that you lower, look more closely around the best temperature."
PLACE = re.compile(r"\{\{\s+(\w+)\s+\}\}")  # of a value, in a text

Variant = dict[str, Any]


class Code(str):
    """A value that is written into a cell as it stands."""


def secret_of(secret: bytes, sheet: str) -> bytes:
    """The secret of one sheet, from that of the class."""
    return generator(secret, "sheet", sheet).bytes(32)


def choices(name: str) -> dict[str, dict[str, str]]:
    """The choices of an assignment, each with its ways and their words."""
    path = goals.ASSIGNMENTS / name / "variants.toml"
    return goals.parsed(path.read_text("utf-8"))


def variant_of(name: str, secret: bytes, sheet: str) -> Variant:
    """What a sheet asks: its values, and its way of each choice."""
    own = secret_of(secret, sheet)
    found: Variant = dict(goals.load(name).values(own))
    for choice, (published, *others) in choices(name).items():
        if sheet == PUBLISHED:
            found[choice] = published
        else:
            found[choice] = others[deal(name, secret)[choice][SHEETS.index(sheet)]]
    return found


@cache
def deal(name: str, secret: bytes) -> dict[str, np.ndarray]:
    """The way that each sheet has of each choice, as its place among those that are dealt."""
    rng = generator(secret, name, "deal")
    counts = {choice: len(ways) - 1 for choice, ways in choices(name).items()}
    asked = [(q.points, q.asks) for q in goals.read_goals(name).questions.values() if q.asks]
    checked = {
        choice: count for choice, count in counts.items() if any(choice in by for _, by in asked)
    }
    deals = [
        {choice: rng.permutation(len(SHEETS)) % count for choice, count in checked.items()}
        for _ in range(DEALS)
    ]

    def helps(found: dict[str, np.ndarray]) -> tuple[float, float]:
        """What the best classmate's answers are worth on a sheet: on average, and at most."""
        best = classmates(found, asked).max(axis=1)
        return float(best.mean()), float(best.max())

    # What a teacher reads is dealt by itself.
    read = {
        choice: generator(secret, name, choice).permutation(len(SHEETS)) % count
        for choice, count in counts.items()
        if choice not in checked
    }
    return min(deals, key=helps) | read


def classmates(
    found: dict[str, np.ndarray], asked: list[tuple[float, tuple[str, ...]]]
) -> np.ndarray:
    """The points that the answers to each sheet are about worth on each other one.

    Args:
        found: The way of each sheet, by choice.
        asked: The points of each question, and the choices that its answer depends on.
    """
    worth = np.zeros((len(SHEETS), len(SHEETS)))
    for points, by in asked:
        others = sum((found[choice][:, None] != found[choice]).astype(int) for choice in by)
        worth += points * ((others == 0) + NEAR * (others == 1) * (len(by) > 1))
    np.fill_diagonal(worth, 0)
    return worth


def words(name: str, variant: Variant) -> dict[str, str]:
    """How the text of a sheet says its way of each choice; its values may be in the words."""
    return {
        choice: ways[variant[choice]].format_map(variant) for choice, ways in choices(name).items()
    }


Reading = Callable[[Any], tuple[float, str]]


def reading(
    name: str, variant: Variant, asked: tuple[str, ...], judge_of: Callable[[Variant], Judge]
) -> Reading:
    """Read a wrong answer as the answer to a different variant.

    Args:
        name: of the assignment.
        variant: of the sheet.
        asked: the choices that the answer depends on.
        judge_of: makes the judge of any variant.

    Returns:
        A function that gives the share of an answer and the hint, which says what the sheet asks:
        `NEAR` for one misread choice of several, else 0; and 0 and no hint for any other answer.
    """

    @cache
    def others() -> list[tuple[dict[str, str], Judge]]:
        """What else the choices may be, with the judges; those nearest to the sheet first."""
        ways = [choices(name)[choice] for choice in asked]
        found = [dict(zip(asked, chosen, strict=True)) for chosen in product(*ways)]
        found = [{c: way for c, way in other.items() if way != variant[c]} for other in found]
        near = sorted(filter(None, found), key=len)
        with np.errstate(all="ignore"):  # what one sheet gives need not make sense on another
            return [(other, judge_of({**variant, **other})) for other in near]

    def read(answer: Any) -> tuple[float, str]:
        for other, judge in others():
            if judge(answer):
                own = words(name, variant)
                says = " ".join(own[choice] for choice in other)
                share = NEAR if len(other) == 1 < len(asked) else 0.0
                return share, f"This would be right on a different sheet. Yours says: {says}"
        return 0.0, ""

    return read


def or_coarse(read: Reading, says: dict[str, str]) -> Reading:
    """The same of a temperature, which a coarse search by the right loss can also give.

    Args:
        read: what a temperature by another loss is read by.
        says: the words of the sheet.
    """

    def both(answer: Any) -> tuple[float, str]:
        share, hint = read(answer)
        return share, f"{hint} {COARSE}" if says["loss"] in hint else hint

    return both
