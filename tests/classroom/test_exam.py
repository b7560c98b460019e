"""The mid-term: its numbers are the class's own, and its keys are right."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from classroom.assignments.midterm import questions
from classroom.assignments.midterm.questions import QUESTIONS
from classroom.exam import write_exam
from classroom.secret import make_secret

FORMULAS = 8  # draws of each question


def numbers(text: str) -> list[float]:
    """The numbers of a text, per cents as shares."""
    found = re.findall(r"([+-]?\d+(?:\.\d+)?)(\N{NO-BREAK SPACE}%)?", text)
    return [float(n) / (100 if share else 1) for n, share in found]


@pytest.mark.parametrize("seed", range(FORMULAS))
def test_the_keys_are_right(seed: int) -> None:
    """Worked again from the numbers in the questions alone."""

    def drawn(name: str) -> tuple[list[float], list[float], str]:
        question, key = getattr(questions, name)(np.random.default_rng(seed))
        return numbers(question), numbers(key), key

    (n, c), key, _ = drawn("errors_to_expect")
    assert key[0] == pytest.approx(n - n * c)
    assert key[1] == pytest.approx((n * c * (1 - c)) ** 0.5, abs=0.05)
    given, key, _ = drawn("bins_by_hand")
    rows = np.reshape(given, (3, 3))
    gaps = abs(rows[:, 2] - rows[:, 0] * rows[:, 1])
    assert key[-2] == pytest.approx(gaps.sum() / rows[:, 0].sum(), abs=6e-4)
    assert key[-1] == pytest.approx((gaps / rows[:, 0]).max(), abs=6e-4)
    (c1, a1, c2, a2), key, _ = drawn("gaps_that_cancel")
    assert c1 - a1 == pytest.approx(a2 - c2) == pytest.approx(key[1])
    (a, b), key, _ = drawn("merged_bins")
    assert key[:2] == pytest.approx([(a - b) / 2, abs(a + b) / 2])
    (a, zero, t), key, _ = drawn("two_logits")
    for power, said in zip((a, a / t), key, strict=False):
        assert said == pytest.approx(np.exp(power) / (np.exp(power) + np.exp(zero)), abs=6e-4)
    (a, p), key, _ = drawn("temperature_to_fit")
    assert 1 / (1 + np.exp(-a / key[-1])) == pytest.approx(p, abs=3e-3)
    given, key, _ = drawn("pooled_neighbours")
    fit, labels = np.array(key[:6]), np.array(given[:6])
    assert (np.diff(fit) >= 0).all()
    for value in np.unique(fit):  # each step is the mean of its labels
        assert labels[fit == value].mean() == pytest.approx(value, abs=6e-3)
    (s1, r1, s2, r2), key, _ = drawn("parts_of_the_brier_score")
    score = np.mean([r * (1 - s) ** 2 + (1 - r) * s**2 for s, r in ((s1, r1), (s2, r2))])
    assert max(s1, s2) < 1
    assert key[3] == pytest.approx(score, abs=6e-5)
    assert key[0] == pytest.approx((s1 - r1) ** 2, abs=6e-5)
    assert key[0] - key[1] + key[2] == pytest.approx(score, abs=2e-4)
    (rate, said), key, _ = drawn("always_the_base_rate")
    days = np.arange(100) < 100 * rate
    assert key[1] == pytest.approx(((said - days) ** 2).mean(), abs=6e-3)
    (k, share), key, _ = drawn("smoothed_labels")
    target = (1 - share) * np.eye(int(k))[0] + share / k
    assert key[:3] == pytest.approx([*target[:2], target.max()], abs=6e-4)


def test_a_calibrated_model_has_the_ece_of_the_key() -> None:
    rng = np.random.default_rng(0)
    for seed in range(4):
        question, key = questions.ece_of_a_calibrated_model(np.random.default_rng(seed))
        m, c = numbers(question)[:2]
        drawn = np.abs(rng.binomial(int(m), c, 50_000) / m - c).mean()
        said = next(n for n in numbers(key) if 0.02 < n < 0.2)
        assert said == pytest.approx(drawn, rel=0.04)


def test_write_exam_gives_each_class_its_own_numbers(tmp_path: Path) -> None:
    texts = []
    for key in ("the first secret", "the second secret"):
        folder = tmp_path / key
        make_secret(folder, key)
        for version in "AB":
            asked, keys = write_exam(folder, version)
            text = asked.read_text("utf-8")
            assert text.count("<li") == keys.read_text("utf-8").count("<li") == 15
            assert "class=good" not in text
            texts.append(text)
    assert len(set(texts)) == 4
    assert len({question.__name__ for question in QUESTIONS}) == 15
