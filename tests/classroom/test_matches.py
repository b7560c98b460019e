"""Who handed in the same code: names, comments and layout hide nothing, other code is other."""

from __future__ import annotations

import re

import pytest

from classroom.matches import PUBLIC, matches, trees_of

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


def test_matches_see_through_names_comments_and_layout() -> None:
    assert DISGUISED != LONG
    handed_in = {
        PUBLIC: [LONG],
        "ada": ["%matplotlib inline", DISGUISED],
        "bo": [OTHER],
        "cy": ["def error(", "x = 1", RENAMED],
    }
    assert matches(handed_in, FUNCTIONS) == [("error", f"ada, cy, {PUBLIC}")]


def test_matches_leave_out_small_functions() -> None:
    small = "def small(a, b):\n    return a.mean() - b.mean()"
    assert matches({"ada": [small], "bo": [small]}, FUNCTIONS) == []
    assert matches({"ada": ["def other(): ..."], "bo": []}, FUNCTIONS) == []


def test_trees_of_count_each_function_of_a_name_once() -> None:
    both = trees_of(["error"], [OTHER, LONG, OTHER])
    assert both == sorted(trees_of(["error"], [OTHER]) + trees_of(["error"], [LONG]))


BOMBS = ["(" * 50_000, "x = " + "-" * 50_000 + "1", "x" + ".a" * 40_000, "a\0b", "[" * 90_000]
SLOW = "!x\n" * 33_000  # parsed anew for each of its lines: it would take minutes


@pytest.mark.parametrize("bombs", [BOMBS, pytest.param([SLOW], marks=pytest.mark.thorough)])
def test_matches_go_on_after_code_that_upsets_a_parser(bombs: list[str]) -> None:
    between = {f"b{number}": [bomb] for number, bomb in enumerate(bombs)}
    handed_in = {"ada": [LONG], **between, "cy": [DISGUISED]}
    assert matches(handed_in, FUNCTIONS) == [("error", "ada, cy")]
