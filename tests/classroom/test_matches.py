"""Who handed in the same code: names, comments and layout hide nothing, other code is other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from classroom import collect
from classroom.goals import assignment_names
from classroom.matches import PUBLIC, matches, trees_of
from classroom.notebooks import reference_of, stubs
from classroom.secret import make_secret
from classroom.solution import with_answers
from classroom.variants import PUBLISHED, variant_of

LONG = """
def error(probs, labels, n_bins):
    # A comment.
    confidences = probs.max(axis=1)
    correct = probs.argmax(axis=1) == labels
    total = 0.0
    for m in range(n_bins):
        inside = (confidences > m / n_bins) & (confidences <= (m + 1) / n_bins)
        if inside.any():
            total += inside.mean() * abs(confidences[inside].mean() - correct[inside].mean())
    return helper(total)
"""
RENAMED = re.sub(r"\b(confidences|correct|total|inside|helper|m)\b", r"my_\1", LONG)
DISGUISED = (
    RENAMED.replace("    # A comment.\n", '    """My own words."""\n\n')
    .replace("probs, labels, n_bins):", "p: list, y: list, n: int) -> float:")
    .replace("probs", "p")
    .replace("labels", "y")
    .replace("n_bins", "n")
)
OTHER = LONG.replace("abs(", "np.abs(")
FUNCTIONS = frozenset({"error", "small"})


def test_names_comments_and_layout_hide_nothing() -> None:
    assert DISGUISED != LONG
    handed_in = {
        PUBLIC: [LONG],
        "ada": ["%matplotlib inline", DISGUISED],
        "bo": [OTHER],
        "cy": ["def error(", "x = 1", RENAMED],
    }
    assert matches(handed_in, FUNCTIONS) == [("error", f"ada, cy, {PUBLIC}")]


def test_small_functions_are_the_same_by_chance() -> None:
    small = "def small(a, b):\n    return a.mean() - b.mean()"
    assert matches({"ada": [small], "bo": [small]}, FUNCTIONS) == []
    assert matches({"ada": ["def other(): ..."], "bo": []}, FUNCTIONS) == []


def test_each_function_of_a_name_counts_once() -> None:
    both = trees_of(["error"], [OTHER, LONG, OTHER])
    assert both == sorted(trees_of(["error"], [OTHER]) + trees_of(["error"], [LONG]))


@pytest.mark.parametrize(
    "bomb",
    [
        *("(" * 50_000, "x = " + "-" * 50_000 + "1", "x" + ".a" * 40_000, "a\0b", "[" * 90_000),
        # Parsed anew for each of its lines: it would take minutes.
        pytest.param("!x\n" * 33_000, marks=pytest.mark.thorough),
    ],
)
def test_code_that_upsets_a_parser_costs_nobody_else(bomb: str) -> None:
    handed_in = {"ada": [LONG], "bo": [bomb], "cy": [DISGUISED]}
    assert matches(handed_in, FUNCTIONS) == [("error", "ada, cy")]


@pytest.mark.parametrize("sheet", [PUBLISHED, "3"])
@pytest.mark.parametrize("name", assignment_names())
def test_the_public_solution_is_recognised(name: str, sheet: str, tmp_path: Path) -> None:
    """Pasted, with other names for its variables: at least half of the functions are found."""
    secret = make_secret(tmp_path, "of the tests")
    cells = [with_answers(name, variant_of(name, secret, sheet), stub) for stub in stubs(name)]
    words = re.findall(r"^ +(\w+) = ", "\n".join(cells), re.MULTILINE)
    pasted = ["\n".join(cells)]
    for word in set(words):
        pasted = [re.sub(rf"\b{word}\b(?!=)", f"{word}_2", text) for text in pasted]
    hand_in(tmp_path, name, "ada", pasted[0])
    [(same, people)] = collect.matches_of(tmp_path, name)
    assert people == f"ada, {PUBLIC}"
    assert len(same.split(", ")) >= len(collect.functions_of(name)) / 2
    assert same in (tmp_path / "collected" / name / "matches.csv").read_text("utf-8-sig")


@pytest.mark.parametrize("name", assignment_names())
def test_the_reference_is_recognised(name: str, tmp_path: Path) -> None:
    """It answers every sheet, and who pastes it is told of."""
    make_secret(tmp_path, "of the tests")
    hand_in(tmp_path, name, "ada", reference_of(name))
    [(same, people)] = collect.matches_of(tmp_path, name)
    assert people == f"ada, {collect.REFERENCE}"
    assert len(same.split(", ")) >= 2


def test_fourteen_who_hand_in_the_same_are_named(tmp_path: Path) -> None:
    make_secret(tmp_path, "of the tests")
    names = [f"student-{number:02d}" for number in range(14)]
    for name in names:
        hand_in(tmp_path, "measuring", name, LONG.replace("def error", "def classwise_error"))
    assert collect.matches_of(tmp_path, "measuring") == [("classwise_error", ", ".join(names))]


def hand_in(folder: Path, name: str, student: str, source: str) -> None:
    """Put a notebook with one cell where `collect` puts it."""
    place = folder / "collected" / name / student
    place.mkdir(parents=True)
    code = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    (place / "submission.ipynb").write_text(json.dumps({"cells": [code]}), "utf-8")
