"""Calibrate yourself: the questions, and what the page's script computes, against the module."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.special import logit
from script_page import script_page

from book.tables.yourself import GENERAL, ROUND, of_the_course, questions
from calib_utils.metrics import baseline_calibration_error, expected_calibration_error
from calib_utils.recalibration import TemperatureScaling
from tools.finishing.browser import PHONE

LEVELS = np.array([50, 60, 70, 80, 90, 99])
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def pool() -> list[dict[str, Any]]:
    found = re.search(r'id="yourself-questions">(.*?)</script>', questions())
    assert found
    return json.loads(found[1])


def test_questions_come_in_rounds_with_their_sources(pool: list[dict[str, Any]]) -> None:
    assert len(pool) == 3 * ROUND
    assert len({(one["question"], *sorted(one["options"])) for one in pool}) == len(pool)
    for one in pool:
        assert one["source"]
        assert len(set(one["options"])) == 2
        assert one["question"][-1] in "?…."
    truths = {(one.question, one.true) for one in [*of_the_course(), *GENERAL]}
    assert {(one["question"], one["options"][one["correct"]]) for one in pool} == truths
    # Nobody gets far with always the first option, or always the second.
    for start in range(0, len(pool), ROUND):
        assert 5 <= sum(one["correct"] for one in pool[start : start + ROUND]) <= 15


@pytest.fixture(scope="module")
def tab(browser: Any) -> Iterator[Any]:
    body = questions().replace("```{raw} html", "").replace("```", "")
    body += '<div class="yourself-class"></div>'
    with script_page(browser, body, "yourself.js", viewport=PHONE) as tab:
        yield tab


def numbers(tab: Any, stage: str) -> dict[str, str]:
    found = tab.locator(f"{stage} dl div").all_text_contents()
    names = tab.locator(f"{stage} dt").all_text_contents()
    return {name: text[len(name) :] for name, text in zip(names, found, strict=True)}


def percent(text: str) -> float:
    return float(text.replace(MINUS, "-").removesuffix(" %")) / 100


def wilson(k: np.ndarray | float, n: int) -> tuple[Any, Any]:
    """Wilson 1927, as the roots of the quadratic inequality."""
    z2, share = 1.96**2, k / n
    a, b, c = 1 + z2 / n, -(2 * share + z2 / n), share**2
    root = np.sqrt(b**2 - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def test_the_numbers_are_those_of_the_module(tab: Any) -> None:
    """In a hundred results of a class, drawn by lot; the edges of a temperature's range too."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        counts = rng.multinomial(rng.choice([5, 20, 400]), rng.dirichlet(np.full(6, 0.7)))
        accurate = np.clip(LEVELS / 100 + rng.normal(0, 0.2), 0, 1)
        hits = rng.binomial(counts, accurate)
        lines = ", ".join(
            f"{level} {k}/{n}" for level, k, n in zip(LEVELS, hits, counts, strict=True)
        )
        tab.locator("#yourself-lines").fill(lines)
        found = numbers(tab, ".yourself-class")
        confidence = np.repeat(LEVELS / 100, counts)
        correct = np.concatenate(
            [np.arange(n) < k for k, n in zip(hits, counts, strict=True)]
        ).astype(int)
        n, accuracy = len(correct), correct.mean()
        assert percent(found["mean confidence"]) == pytest.approx(confidence.mean(), abs=0.0051)
        assert percent(found["accuracy"]) == pytest.approx(accuracy, abs=0.0051)
        # No two levels share one of fifteen bins.
        ece = sum(
            abs(correct[confidence == c].sum() - (confidence == c).sum() * c) for c in LEVELS / 100
        )
        assert percent(found["ECE"]) == pytest.approx(ece / n, abs=0.00051)
        low, high = (confidence.mean() - end for end in wilson(accuracy * n, n)[::-1])
        shown = [percent(end) for end in found[f"confidence {MINUS} accuracy"].split(" to ")]
        assert shown == pytest.approx([low, high], abs=0.0051)
        sentence = tab.locator(".yourself-class .yourself-verdict").text_content()
        side = "overconfident." if low > 0 else "underconfident." if high < 0 else "cannot tell"
        assert side in sentence
        baseline = baseline_calibration_error(confidence, draws=4_000).mean
        assert percent(found["baseline ECE"]) == pytest.approx(baseline, rel=0.06, abs=0.001)
        text = found["temperature"]
        if text[-1].isdigit() and (confidence != 0.5).any():
            logits = np.stack([np.zeros(n), logit(confidence)], axis=1)
            fitted = TemperatureScaling().fit(logits, correct).temperature_
            assert float(text) == pytest.approx(fitted, rel=0.01, abs=0.006)
    assert expected_calibration_error(np.array([0.8] * 5), np.array([1, 1, 1, 1, 0])) < 1e-9


def test_calibrated_people_are_rarely_called_overconfident() -> None:
    """As the page says: at least 92 %, exactly, for 4,000 ways to use the confidences."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(4_000):
        counts = rng.multinomial(ROUND, rng.dirichlet(np.full(6, rng.choice([0.2, 1, 5]))))
        chances = np.repeat(LEVELS / 100, counts)
        of_k = np.ones(1)
        for chance in chances:
            of_k = np.convolve(of_k, [1 - chance, chance])
        low, high = wilson(np.arange(ROUND + 1.0), ROUND)
        covered.append(of_k[(low <= chances.mean()) & (chances.mean() <= high)].sum())
    assert min(covered) > 0.92
    assert 0.96 < np.median(covered) < 0.975


def test_a_round_by_keyboard(tab: Any, pool: list[dict[str, Any]]) -> None:
    """All answers correct but two, with 80 % each; Back takes one back."""
    tab.get_by_role("button", name="Begin").press("Enter")
    for q, one in enumerate(pool[:ROUND]):
        assert tab.locator("h3").text_content() == f"Question {q + 1} of {ROUND}"
        level = tab.get_by_role("button", name="80 %", exact=True)
        assert level.is_disabled()
        option = one["options"][one["correct"] if q > 1 else 1 - one["correct"]]
        tab.locator(".yourself-picks button", has_text=option).first.press("Space")
        level.press("Enter")
        if q == 5:
            tab.get_by_role("button", name="Back").press("Enter")
            tab.locator(".yourself-picks button", has_text=option).first.press("Space")
            tab.get_by_role("button", name="80 %", exact=True).press("Enter")
    found = numbers(tab, ".yourself")
    assert found["accuracy"] == "90 %"
    assert found["ECE"] == "10.0 %"
    line = tab.locator(".yourself code").text_content()
    assert "80 18/20" in line
    rows = tab.locator(".yourself tbody tr")
    assert rows.count() == ROUND
    assert rows.first.text_content().count("wrong, 80 %") == 1
    tab.locator("#yourself-lines").fill(f"{line}\n{line}")
    assert numbers(tab, ".yourself-class")["accuracy"] == "90 %"
    tab.get_by_role("button", name="Twenty other questions").press("Enter")
    assert tab.locator(".yourself p").first.text_content() == pool[ROUND]["question"]


def test_lines_that_nobody_can_have_are_left_out(tab: Any) -> None:
    tab.locator("#yourself-lines").fill("80 5/4, 75 1/1, hello\n90 1/2")
    assert numbers(tab, ".yourself-class")["accuracy"] == "50 %"
    tab.locator("#yourself-lines").fill("hello")
    assert tab.locator(".yourself-class dl").count() == 0
