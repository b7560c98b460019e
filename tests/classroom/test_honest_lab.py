"""Two hundred honest trainings, each in its own way: none of them loses a point of the lab.

And what is not honest does: logits made from the labels, of another network, or of no seed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from answering import marked, remembering, sheet_checks
from honest_lab import Way, answers
from thorough import mostly_thorough

from classroom.checks import Check
from classroom.goals import load, read_goals
from classroom.variants import SHEETS, Variant, secret_of, variant_of

# The first run with the tests, the others in a thorough one.
NUMBERS = mostly_thorough(range(200), range(2))
CHECKED = {q.name: q.points for q in read_goals("lab").questions.values() if q.kind == "checked"}


@cache
def sheet_of(number: int) -> tuple[list[Check], Variant, dict[str, np.ndarray]]:
    """The checks, the variant and the data of one of twenty classes' sheets."""
    secret, sheet = f"honest {number // 10}".encode(), SHEETS[number % 10]
    variant = variant_of("lab", secret, sheet)
    stored = load("lab").data(secret_of(secret, sheet), variant)["digits"]
    return sheet_checks("lab", secret, sheet), variant, stored


def earned(number: int, names: dict[str, Any], apart: dict[str, Any]) -> dict[str, float]:
    """The points of some functions; other ones answer the calls that a process of its own makes."""
    both = [{name: remembering(f) for name, f in found.items()} for found in (names, apart)]
    result = marked("lab", sheet_of(number)[0], *both)
    return {question: row["points"] for question, row in result.items()}


@pytest.mark.parametrize("number", NUMBERS)
def test_an_honest_training_loses_no_point(number: int) -> None:
    """Its repetition differs in what no student decides: precision, and the order of products."""
    way = Way.drawn(np.random.default_rng(number))
    given = sheet_of(number)[1:]
    found = earned(number, answers(way, *given, 2 * number), answers(way, *given, 2 * number + 1))
    assert found == CHECKED, way


LABELS = "of the labels"
OTHER = "of another network"
NO_SEED = "of no seed"
ONE_SEED = "of one seed for all"


@pytest.mark.parametrize("number", mostly_thorough(range(3), [0]))
@pytest.mark.parametrize("kind", [LABELS, OTHER, NO_SEED, ONE_SEED])
def test_what_is_no_record_of_its_training_loses_points(number: int, kind: str) -> None:
    way = Way(False, False, False, 45, 0.2, 40, False, False, 15)
    variant, stored = sheet_of(number)[1:]
    honest = answers(way, variant, stored, 0)
    record, trains = honest["record"](), honest["train_and_predict"]
    rows = dict(zip(("validation_logits", "test_logits"), record["split"][1:], strict=True))
    if kind == LABELS:  # as sure as the network is
        made = {key: 5 * np.eye(10)[stored["labels"][rows[key]]] for key in rows}
    elif kind == OTHER:
        short = Way(False, False, False, 45, 0.05, 3, False, False, 15)
        made = answers(short, variant, stored, 0)["record"]()
    changed = {**honest, "record": lambda: {**record, **{key: made[key] for key in rows}}}
    drawn = np.random.default_rng(number)
    seeds = {NO_SEED: lambda: int(drawn.integers(99)), ONE_SEED: lambda: record["seed"]}
    if kind in seeds:
        changed = {
            **honest,
            "train_and_predict": lambda x, y, new, seed: trains(x, y, new, seeds[kind]()),
        }
    found = earned(number, changed, changed)
    assert found["q2"] == pytest.approx(CHECKED["q2"] * (8 / 9 if kind in seeds else 1), abs=0.01)
    assert found["q3"] <= CHECKED["q3"] / 3 or kind in seeds
