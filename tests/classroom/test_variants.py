"""The variants: right for every sheet, and the published solution is right for none.

The reference is held against hand-worked numbers and against the solution, which shares nothing
with it. Then the published solution is pasted into ten classes, as a student would.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from classroom.goals import load, read_goals
from classroom.notebooks import notebook
from classroom.release import all_text
from classroom.variants import NEAR, PUBLISHED, SHEETS, choices, secret_of, variant_of, words
from tests.classroom.answering import (
    NAMES,
    answers,
    marked,
    most,
    points,
    run,
    sheet_checks,
    variants,
)
from tests.classroom.classmates import (
    CLASSES,
    STORED,
    STUDENTS,
    copied,
    desk,
    measured,
    share,
    who_pastes,
)
from tests.thorough import mostly_thorough

nan = math.nan


def test_variant_of_draws_from_the_secret_and_never_the_published_way() -> None:
    for name in NAMES:
        ways = choices(name)
        students = list(itertools.product(CLASSES, SHEETS))
        drawn = {student: variant_of(name, *student) for student in students}
        for choice, found in ways.items():
            published, *others = found
            assert {variant[choice] for variant in drawn.values()} == set(others)
            assert variant_of(name, CLASSES[0], PUBLISHED)[choice] == published
            for secret in CLASSES:  # each way on as many sheets as the next, or on one more
                asked = Counter(drawn[secret, sheet][choice] for sheet in SHEETS)
                assert max(asked.values()) - min(asked[way] for way in others) <= 1
        assert drawn[students[0]] == variant_of(name, *students[0])
        # Students beside each other seldom have the same sheet of questions.
        all_asked = [tuple(variant[choice] for choice in ways) for variant in drawn.values()]
        same = [one == other for one, other in itertools.combinations(all_asked, 2)]
        assert np.mean(same) < 0.1
        assert len({*all_asked}) >= 8


@pytest.mark.parametrize("name", NAMES)
def test_the_text_says_what_the_sheet_asks(name: str) -> None:
    for sheet in SHEETS:
        text = " ".join(all_text(notebook(name, CLASSES[0], sheet)).split())
        variant = variant_of(name, CLASSES[0], sheet)
        assert f"This is sheet {sheet}." in text
        for choice, said in words(name, variant).items():
            others = {
                words(name, {**variant, choice: way})[choice] for way in choices(name)[choice]
            }
            assert [other for other in others if other in text] == [said]


# ---- hand-worked: what the examples of the notebooks give, in each way

FORMS = ("logits", "bits", "odds", "weights", "distances", "nats", "favour", "decibels", "rarity")
FORMS += ("doublings", "amplitudes")
EXAMPLES: dict[str, list[tuple[dict[str, str], str, Any]]] = {
    "measuring": [
        # Confidences 1/2, 3/4, 1, 3/4, of which the middle two are correct: 3/4 against 1/2.
        ({"gap": "excess"}, "expected_gap", 0.25),
        ({"gap": "shortfall"}, "expected_gap", -0.25),
        ({"gap": "ratio"}, "expected_gap", 2 / 3),
        ({"gap": "standardised"}, "expected_gap", -1 / math.sqrt(0.625)),
        ({"gap": "relative"}, "expected_gap", -1 / 3),
        # Weights 0, 3, 1, 0: confidence 13/16, accuracy 1.
        ({"gap": "excess"}, "expected_weighted", -3 / 16),
        ({"gap": "shortfall"}, "expected_weighted", 3 / 16),
        ({"gap": "ratio"}, "expected_weighted", 16 / 13),
        ({"gap": "relative"}, "expected_weighted", 3 / 13),
        ({"gap": "standardised"}, "expected_weighted", 0.75 / math.sqrt(27 / 16)),
        ({"gap": "shortfall", "camera": "alone"}, "expected_gaps", [-1 / 8, nan, -3 / 8]),
        ({"gap": "shortfall", "camera": "without"}, "expected_gaps", [-3 / 8, -1 / 4, -1 / 8]),
        ({"gap": "shortfall", "camera": "against"}, "expected_gaps", [1 / 4, nan, -1 / 4]),
        ({"gap": "shortfall", "camera": "beyond"}, "expected_gaps", [1 / 8, nan, -1 / 8]),
        # For either class, three rows in three bins, with gaps of 1/2, 0 and 3/4.
        *(
            ({"bins": bins, "norm": norm, "classes": classes}, "expected_error", error)
            for bins in ("width", "mass", "edges")
            for classes in ("equal", "labels", "largest", "two")
            for norm, error in {
                "mean": 5 / 12,
                "squares": math.sqrt(13 / 48),
                "cubes": (35 / 192) ** (1 / 3),
                "largest": 3 / 4,
            }.items()
        ),
        ({"norm": "mean"}, "expected_heavy", 1 / 2),  # the last row counts twice
        ({"norm": "squares"}, "expected_heavy", math.sqrt(11 / 32)),
        ({"norm": "cubes"}, "expected_heavy", (31 / 128) ** (1 / 3)),
        ({"answer": "worst"}, "expected_cameras", 1),
        ({"answer": "ranking"}, "expected_cameras", [1, 2, 0]),
        ({"answer": "extremes"}, "expected_cameras", [0, 1]),
        ({"answer": "spread"}, "expected_cameras", 1 / 2),
        ({"answer": "worst"}, "expected_none", None),
        ({"answer": "ranking"}, "expected_none", []),
        ({"answer": "extremes"}, "expected_none", None),
        ({"answer": "spread"}, "expected_none", None),
    ],
    "diagnosing": [
        *(
            ({"form": form, "error": error}, "expected_summary", number)
            for form in FORMS
            # Confidences 0.51 and 0.93, correct, and 0.77, wrong: gaps of 0.49, 0.07 and 0.77.
            for error, number in {
                "ece": 1.33 / 3,
                "mass": 1.33 / 3,
                "largest": 0.77,
                "squares": math.sqrt((0.49**2 + 0.07**2 + 0.77**2) / 3),
            }.items()
        ),
        # Expected 1, 1/2, 1/2 of the classes, observed 1, 1, 0.
        ({"gap": "excess"}, "expected_gaps", [0, -0.5 / 0.375**0.5, 0.5 / 0.375**0.5]),
        ({"gap": "shortfall"}, "expected_gaps", [0, 0.5 / 0.375**0.5, -0.5 / 0.375**0.5]),
        ({"gap": "pearson"}, "expected_gaps", [0, 0.5**0.5, -(0.5**0.5)]),
        ({"gap": "roots"}, "expected_gaps", [0, 2 - 2**0.5, -(2**0.5)]),
    ],
    "recalibrating": [
        # Rows 0.6, 0.3, 0.1 and 0.2, 0.7, 0.1; both times the first class is true.
        ({"loss": "nll"}, "expected_loss", -math.log(0.6 * 0.2) / 2),
        ({"loss": "brier"}, "expected_loss", (0.16 + 0.09 + 0.01 + 0.64 + 0.49 + 0.01) / 2),
        ({"loss": "binary"}, "expected_loss", -math.log(0.6 * 0.3) / 2),
        # The lengths of the rows are the roots of 0.46 and 0.54.
        ({"loss": "spherical"}, "expected_loss", 1 - 0.3 / math.sqrt(0.46) - 0.1 / math.sqrt(0.54)),
        # The confidences are 0.6, correct, and 0.7, wrong.
        ({"loss": "yesno"}, "expected_loss", (0.16 + 0.49) / 2),
        ({"loss": "yesno"}, "expected_large", 1),
        ({"loss": "nll"}, "expected_large", 5000),
        ({"loss": "brier"}, "expected_large", 2),
        ({"loss": "spherical"}, "expected_large", 1),
        ({"loss": "binary"}, "expected_large", 5000 - math.log(2)),
        *(
            ({"loss": loss, "parameter": parameter}, "expected_parameter", number)
            for loss in ("nll", "brier", "binary", "spherical", "yesno")
            for parameter, number in {
                **{"temperature": 2.0, "slope": 0.5, "log": 0.7},
                **{"halvings": 1.0, "change": -0.5},
            }.items()
        ),
        ({"wanted": "all"}, "expected_shape", [2000, 8]),
        ({"wanted": "confidence"}, "expected_shape", [2000]),
        ({"wanted": "risk"}, "expected_shape", [2000]),
        ({"wanted": "two"}, "expected_shape", [2000, 2]),
        ({"wanted": "three"}, "expected_shape", [2000, 3]),
        # Two of three are correct, and of the first group one of two; labels 0, 2, 2.
        *(
            ({"constant": constant, "rest": rest}, "expected_constant", rows)
            for constant, (a, b) in {
                "accuracy": (2 / 3, 2 / 3),
                "group": (1 / 2, 1),
                "laplace": (3 / 5, 3 / 5),
            }.items()
            for rest, rows in {
                "equal": [[a, (1 - a) / 2, (1 - a) / 2], [(1 - b) / 2, b, (1 - b) / 2]],
                "labels": [[a, 0, 1 - a], [(1 - b) / 3, b, (1 - b) * 2 / 3]],
                # Each class is predicted once.
                "predictions": [[a, (1 - a) / 2, (1 - a) / 2], [(1 - b) / 2, b, (1 - b) / 2]],
                "second": [[a, 0, 1 - a], [0, b, 1 - b]],
            }.items()
        ),
    ],
    "lab": [
        # Of a hundred images of one class, by twenty writers of five each.
        ({"split": "random"}, "expected_sizes", [50, 25, 25]),
        ({"split": "class"}, "expected_sizes", [50, 25, 25]),
        ({"split": "writer"}, "expected_sizes", [50, 25, 25]),
        ({"split": "within"}, "expected_sizes", [40, 20, 40]),
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_give_what_was_worked_by_hand(name: str) -> None:
    given = {"n_bins": 12, "min_size": 30, "night": 30, "first": 50, "sheet": "0"}
    first = {choice: next(iter(ways)) for choice, ways in choices(name).items()}
    told: dict[str, set[str]] = {}
    for ways, key, expected in EXAMPLES[name]:
        found = load(name).examples({**given, **first, **ways})[key]
        if key == "expected_summary":
            assert found["accuracy"] == pytest.approx(2 / 3)
            assert found["confidence"] == pytest.approx(2.21 / 3, abs=1e-6)
            found = found["error"]
        if expected is None:
            assert found is None
        else:
            np.testing.assert_allclose(np.asarray(found, float), expected, atol=1e-5)
        for choice, way in ways.items():
            told.setdefault(choice, set()).add(way)
    if name != "lab":  # whose split, training and report have no such numbers
        ways = {choice: set(ways) for choice, ways in choices(name).items() if choice != "own"}
        assert told == ways


# ---- independent: every variant of every assignment, row by row


# The choices that a question depends on.
ASKED = {
    ("measuring", "q1"): ("gap",),
    ("measuring", "q2"): ("gap", "camera"),
    ("measuring", "q3"): ("bins", "norm", "classes"),
    ("measuring", "q4"): ("answer", "norm"),
    ("diagnosing", "q1"): ("form", "error"),
    ("diagnosing", "q2"): ("form", "gap"),
    ("recalibrating", "q1"): ("loss",),
    ("recalibrating", "q2"): ("loss", "parameter"),
    ("recalibrating", "q3"): ("loss", "wanted"),
    ("recalibrating", "q4"): ("constant", "rest"),
    ("lab", "q1"): ("split",),
    ("lab", "q2"): ("annotation", "output"),
    ("lab", "q4"): ("loss", "error"),
}


SLOWEST = [*(("recalibrating", q) for q in ("q1", "q2", "q3")), ("lab", "q2"), ("lab", "q4")]


@pytest.mark.parametrize(
    ("name", "question"),
    [pytest.param(*asked, marks=[pytest.mark.thorough] * (asked in SLOWEST)) for asked in ASKED],
)
def test_the_solution_of_any_variant_earns_full_points(name: str, question: str) -> None:
    """In each way of each choice, the published ways too."""
    secret = secret_of(b"apart", PUBLISHED)
    for variant in variants(name, variant_of(name, b"apart", PUBLISHED), ASKED[name, question]):
        checks = load(name).checks(secret, variant)
        checks = [check for check in checks if check.question == question]
        [found] = marked(name, checks, answers(name, variant)).values()
        assert [row for row in found["checks"] if row["share"] != 1] == [], variant


def test_every_choice_takes_part() -> None:
    for name in NAMES:
        asked = {choice for (of, _), chosen in ASKED.items() for choice in chosen if of == name}
        assert asked | {"own"} == {*choices(name)}
        own = [q for q in read_goals(name).to_read if q.title == "your own numbers"]
        assert [question.points for question in own] == [2]
        questions = read_goals(name).questions.values()
        assert {choice for question in questions for choice in question.asks} == asked


# ---- the published solution, pasted


def stored(name: str, key: str) -> int:
    """The share in per cent that the guide's table has."""
    found = json.loads(STORED.read_text("utf-8"))[name]
    if key not in found:
        pytest.skip(f"NOT MEASURED: python tests/classroom/classmates.py {name}")
    return round(100 * found[key])


# Pasted answers take longer than all other tests of the sheets together.
SLOW_APART = mostly_thorough(NAMES, {"measuring"})


@pytest.mark.parametrize("name", SLOW_APART)
def test_the_published_solution_earns_at_most_a_third(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pasted into ten classes by three students each: on average, and nobody earns half."""
    earned = []
    for secret, sheet in who_pastes(name):
        result = copied(name, secret, sheet)
        earned.append(points(result))
        hints = [row["hint"] for question in result.values() for row in question["checks"]]
        own = words(name, variant_of(name, secret, sheet)).values()
        assert any(f"Yours says: {said}" in hint for hint in hints for said in own)
    share = np.array(earned) / most(name)
    with capsys.disabled():
        print(f"\n{name}: pasted, {np.mean(earned):.2f} of {most(name):g} on average, ", end="")
        print(f"at most {max(earned):g} ({len(earned)} students)")
    assert share.mean() <= 1 / 3
    assert share.max() <= 1 / 2
    assert stored(name, "published") == round(100 * share.mean())


@pytest.mark.parametrize("name", mostly_thorough(NAMES, {"measuring", "diagnosing"}))
def test_the_published_solution_answers_the_published_sheet(name: str) -> None:
    """The proof above can fail: on its own sheet, the same code earns all points."""
    sheet = (name, CLASSES[0], PUBLISHED)
    with desk(*sheet) as said:
        names = run(notebook(*sheet, solved=True))
        assert points(marked(name, sheet_checks(*sheet), names)) == most(name)
    assert ": as expected" in said.getvalue()
    assert "your function gives" not in said.getvalue()


@pytest.mark.parametrize("name", SLOW_APART)
def test_the_best_of_nine_classmates_earns_at_most_half(name: str) -> None:
    """As the guide's table has it, and for two sheets again."""
    found = {key: stored(name, key) for key in ("classmate", "best", "most")}
    assert found["classmate"] <= found["best"] <= min(found["most"], 50)
    for own in STUDENTS[:2]:
        earned = [share(name, CLASSES[0], own, of) for of in SHEETS if of != own]
        assert round(100 * max(earned)) <= found["most"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_the_table_of_copied_answers_is_measured(name: str) -> None:
    stored(name, "best")
    assert measured(name) == pytest.approx(json.loads(STORED.read_text("utf-8"))[name], abs=0.005)


# ---- hints


def test_the_answer_to_another_variant_gets_a_hint_that_says_what_was_asked() -> None:
    name, secret, sheet = "measuring", CLASSES[0], SHEETS[0]
    variant = variant_of(name, secret, sheet)
    checks = sheet_checks(name, secret, sheet)
    own = words(name, variant)
    for choice, question in {"gap": "q1", "camera": "q2", "norm": "q3", "answer": "q4"}.items():
        for way in choices(name)[choice]:
            if way == variant[choice]:
                continue
            functions = answers("measuring", {**variant, choice: way})
            result = marked(name, checks, functions)[question]
            hints = {row["hint"] for row in result["checks"] if row["failure"]}
            assert any(own[choice] in hint for hint in hints) or "sign" in str(hints)
            lost = [row["share"] for row in result["checks"] if row["failure"]]
            assert set(lost) <= ({0, NEAR} if question in {"q1", "q2", "q3"} else {0})


@pytest.mark.parametrize(("name", "choice"), [("diagnosing", "form"), ("recalibrating", "loss")])
def test_who_reads_the_first_question_wrongly_has_half_of_the_second(
    name: str, choice: str
) -> None:
    variant = variant_of(name, CLASSES[0], SHEETS[0])
    checks = [c for c in sheet_checks(name, CLASSES[0], SHEETS[0]) if c.question == "q2"]
    without = []
    for way in choices(name)[choice]:
        functions = answers(name, {**variant, choice: way})
        result = marked(name, checks, functions)["q2"]["checks"]
        if not any(row["share"] for row in result):
            without.append(way)
        else:
            least = 1 if way == variant[choice] else NEAR
            assert min(row["share"] for row in result) >= least
    # Odds in favour, read as one in how many, are "probabilities" above 1: they have no spread.
    assert without == (["rarity"] if variant.get("form") == "favour" else [])


def test_a_row_of_nan_is_the_answer_to_no_sheet() -> None:
    """A different form may give "probabilities" above 1, whose gaps are nan for each class."""
    for sheet in SHEETS:
        checks = [c for c in sheet_checks("diagnosing", CLASSES[0], sheet) if c.question == "q2"]
        result = marked("diagnosing", checks, {"class_gaps": lambda *_: np.full(6, np.nan)})
        assert result["q2"]["points"] == 0, sheet
