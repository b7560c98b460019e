"""Calibrate yourself: the questions, what the page's script computes, and how often it errs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom

from book.tables.yourself import QUESTIONS, ROUND, questions
from calib_utils.metrics import baseline_calibration_error, brier_score
from calib_utils.recalibration import TemperatureScaling
from tests.book.script_page import ASSETS, script_page
from tools.finishing.browser import PHONE

LEVELS = np.array([50, 60, 70, 80, 90, 99])
LETTERS = "ABCDEFabcdef"
MINUS = "\N{MINUS SIGN}"
MOST = len(QUESTIONS)
LOOKS = range(ROUND, MOST + 1, ROUND)
ADDRESS = "http://book.test/book/calibrate-yourself.html"
GAP = f"confidence {MINUS} accuracy"


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    found = re.search(r'id="yourself-questions">(.*?)</script>', questions())
    assert found
    return json.loads(found[1])


def test_questions_come_in_rounds_with_facts_and_sources(data: dict[str, Any]) -> None:
    pool = data["pool"]
    assert len(pool) == MOST >= 60
    assert len({(one["question"], *sorted(one["options"])) for one in pool}) == MOST
    for one in pool:
        assert one["source"]
        assert one["fact"]
        assert len(set(one["options"])) == 2
        assert one["question"][-1] in "?…."
    truths = {(one.question, one.true) for one in QUESTIONS}
    assert {(one["question"], one["options"][one["correct"]]) for one in pool} == truths
    # Nobody gets far with always the first option, or always the second.
    for start in range(0, MOST, ROUND):
        assert 3 <= sum(one["correct"] for one in pool[start : start + ROUND]) <= 7


def test_what_can_be_computed_is_true() -> None:
    by_true = {(one.question, one.true): one for one in QUESTIONS}
    one_day = 24 * 60 * 60
    primes = [n for n in range(2, 1000) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    for question, true, holds in [
        ("Which is larger?", "7! = 1 · 2 · … · 7", math.factorial(7) > 2**10),
        ("Which is larger?", "2 to the power of 100", 2**100 > 10**30),
        ("Which is larger?", "√2 + √3", math.sqrt(2) + math.sqrt(3) > math.pi),
        ("Which is a prime?", "97", 97 in primes and 91 not in primes),
        ("How many primes are below 1,000?", "Fewer than 200", len(primes) == 168),
        ("A million seconds are …", "Less than two weeks", 14 * one_day > 10**6),
        (
            "The orders of 52 cards are …",
            "More than the atoms of the Earth",
            math.factorial(52) > 1e51,
        ),
        (
            "A fair coin is tossed 100 times. How likely are exactly 50 heads?",
            "About 8 %",
            abs(binom.pmf(50, 100, 0.5) - 0.08) < 0.005,
        ),
        (
            "A die is thrown four times. At least one six is …",
            "More likely than not",
            1 - (5 / 6) ** 4 > 0.5,
        ),
        (
            "23 people are in a room. That two of them share a birthday is …",
            "More likely than not",
            math.prod((365 - k) / 365 for k in range(23)) < 0.5,
        ),
    ]:
        assert by_true.pop((question, true))
        assert holds
    assert not [one for one in by_true.values() if one.source == "arithmetic"]


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    body = questions().replace("```{raw} html", "").replace("```", "")
    body = re.sub("<script defer[^>]*></script>", "", body)
    with script_page(browser, body, "yourself.js", viewport=PHONE) as tab:
        yield tab


def numbers(tab: Any, stage: str) -> dict[str, str]:
    found = tab.locator(f"{stage} dl div").all_text_contents()
    names = tab.locator(f"{stage} dt").all_text_contents()
    return {name: text[len(name) :] for name, text in zip(names, found, strict=True)}


def percent(text: str) -> float:
    return float(text.replace(MINUS, "-").removesuffix(" %").removesuffix(" points")) / 100


def wilson(k: Any, n: int, z: float) -> tuple[Any, Any]:
    """Wilson 1927, as the roots of the quadratic inequality."""
    share = k / n
    a, b, c = 1 + z**2 / n, -(2 * share + z**2 / n), share**2
    root = np.sqrt(b**2 - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def width(n: int) -> float:
    return 2.06 * math.sqrt(MOST / n)


def temperatures(counts: np.ndarray, hits: np.ndarray, z: float) -> tuple[float, float]:
    """Those whose likelihood-ratio statistic is at most z squared, by a different search."""
    x = logit(LEVELS / 100)

    def log_likelihood(s: float) -> float:
        return float((hits * s * x - counts * np.logaddexp(0, s * x)).sum())

    grid = np.linspace(0.1, 5, 2_000)
    all_s = np.array([log_likelihood(s) for s in grid])
    best = grid[all_s.argmax()]
    lowest = max(all_s) - z**2 / 2
    ends = [
        end
        if log_likelihood(end) >= lowest
        else brentq(lambda s: log_likelihood(s) - lowest, *sorted((end, best)))
        for end in (5.0, 0.1)
    ]
    return 1 / ends[0], 1 / ends[1]


def test_the_numbers_are_those_of_the_module(tab: Any) -> None:
    """In sixty results of links, drawn by lot; the edges of a temperature's range too."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        counts = rng.multinomial(rng.choice(LOOKS), rng.dirichlet(np.full(6, 0.7)))
        hits = rng.binomial(counts, np.clip(LEVELS / 100 + rng.normal(0, 0.2), 0, 1))
        link = "-".join(f"{k}.{n}" for k, n in zip(hits, counts, strict=True))
        tab.evaluate("link => (location.hash = link)", f"#result={link}")
        tab.wait_for_function(f"document.querySelector('.yourself-luck') && '#result={link}'")
        found = numbers(tab, ".yourself")
        confidence = np.repeat(LEVELS / 100, counts)
        correct = np.concatenate(
            [np.arange(n) < k for k, n in zip(hits, counts, strict=True)]
        ).astype(int)
        n, accuracy = len(correct), correct.mean()
        assert percent(found["mean confidence"]) == pytest.approx(confidence.mean(), abs=0.0051)
        assert percent(found["accuracy"]) == pytest.approx(accuracy, abs=0.0051)
        assert float(found["Brier score"]) == pytest.approx(
            brier_score(confidence, correct), abs=0.0051
        )
        # No two levels share one of fifteen bins.
        ece = sum(
            abs(correct[confidence == c].sum() - (confidence == c).sum() * c) for c in LEVELS / 100
        )
        assert percent(found["ECE"]) == pytest.approx(ece / n, abs=0.00051)
        low, high = (confidence.mean() - end for end in wilson(accuracy * n, n, width(n))[::-1])
        shown = [percent(end) for end in found[GAP].split(" to ")]
        assert shown == pytest.approx([low, high], abs=0.0051)
        sentence = tab.locator(".yourself .yourself-luck").text_content()
        side = "overconfident," if low > 0 else "underconfident," if high < 0 else "Luck"
        assert side in sentence
        baseline = baseline_calibration_error(confidence, draws=4_000).mean
        assert percent(found["baseline ECE"]) == pytest.approx(baseline, rel=0.06, abs=0.001)
        if (confidence == 0.5).all():
            continue
        for text, end in zip(
            found["temperature"].split(" to "), temperatures(counts, hits, width(n)), strict=True
        ):
            assert float(text.strip("≤≥ ")) == pytest.approx(end, rel=0.01, abs=0.006)
        if (text := found["best temperature"])[0].isdigit():
            logits = np.stack([np.zeros(n), logit(confidence)], axis=1)
            fitted = TemperatureScaling().fit(logits, correct).temperature_
            assert float(text) == pytest.approx(fitted, rel=0.01, abs=0.006)


def test_the_bands_are_where_chance_leaves_95_percent(tab: Any) -> None:
    tab.evaluate("location.hash = '#result=3.10-0.0-7.20-0.0-1.1-30.39'")
    tab.wait_for_selector(".yourself .yourself-band")
    found = tab.locator(".yourself rect.yourself-band").evaluate_all(
        "all => all.map(r => [+r.getAttribute('y') + 1, +r.getAttribute('height') - 2])"
    )
    shown = [((300 - y - h) / 270, (300 - y) / 270) for y, h in found if h != 18]
    for (low, high), (n, p) in zip(
        shown, [(10, 0.5), (20, 0.7), (1, 0.9), (39, 0.99)], strict=True
    ):
        assert low * n == pytest.approx(binom.ppf(0.025, n, p), abs=1e-6)
        assert high * n == pytest.approx(binom.ppf(0.975, n, p), abs=1e-6)


@cache
def readers(overconfident: float) -> tuple[np.ndarray, np.ndarray]:
    """Confidences and answers of 4,000 readers, each with habits of their own."""
    rng = np.random.default_rng(0)
    habits = [rng.dirichlet(np.full(6, rng.choice([0.2, 1, 5]))) for _ in range(4_000)]
    said = np.array([rng.choice(LEVELS / 100, size=MOST, p=habit) for habit in habits])
    return said, rng.random(said.shape) < np.clip(said - overconfident, 0, 1)


def verdicts(said: np.ndarray, correct: np.ndarray, n: int) -> np.ndarray:
    low, high = wilson(correct[:, :n].sum(axis=1), n, width(n))
    mean = said[:, :n].mean(axis=1)
    return (mean > high).astype(int) - (mean < low)


def test_calibrated_readers_who_look_seven_times_hear_few_false_verdicts() -> None:
    said, correct = readers(0)
    ever = np.any([verdicts(said, correct, n) for n in LOOKS], axis=0)
    assert 0.03 < ever.mean() < 0.05


@pytest.mark.parametrize(
    ("points", "after", "low", "high"),
    [(0.1, 30, 0.04, 0.07), (0.1, 70, 0.44, 0.54), (0.15, 70, 0.76, 0.84)],
)
def test_overconfident_readers_hear_it_if_they_go_on(
    points: float, after: int, low: float, high: float
) -> None:
    """As the page says; twenty questions told someone ten points over in 19 % of rounds."""
    assert low < (verdicts(*readers(points), after) > 0).mean() < high


@pytest.mark.parametrize("true", [0.7, 1, 2, 3])
def test_the_range_of_the_temperature_contains_it(true: float) -> None:
    rng = np.random.default_rng(1)
    x = logit(LEVELS / 100)
    scales = np.linspace(0.1, 5, 491)
    for n in LOOKS:
        habits = np.array([rng.dirichlet(np.full(6, rng.choice([0.2, 1, 5]))) for _ in range(500)])
        counts = np.array([rng.multinomial(n, habit) for habit in habits])
        hits = rng.binomial(counts, expit(x / true))
        of = hits @ np.outer(x, scales) - counts @ np.logaddexp(0, np.outer(x, scales))
        at_true = hits @ x / true - counts @ np.logaddexp(0, x / true)
        contained = 2 * (of.max(axis=1) - at_true) <= width(n) ** 2
        assert contained.mean() > 0.93


def answer(tab: Any, data: dict[str, Any], nth: int, right: bool, level: str) -> None:
    one = data["pool"][nth]
    assert tab.locator(".yourself > p").first.text_content() == one["question"]
    button = tab.get_by_role("button", name=level, exact=True)
    assert button.is_disabled()
    option = one["options"][one["correct"] if right else 1 - one["correct"]]
    tab.locator(".yourself-picks").get_by_role("button", name=option, exact=True).press("Space")
    button.press("Enter")


def test_rounds_by_keyboard_add_up_and_survive_a_reload(tab: Any, data: dict[str, Any]) -> None:
    tab.get_by_role("button", name="Begin").press("Enter")
    for q in range(ROUND):
        assert tab.locator("h3").text_content() == f"Question {q + 1} of {ROUND}"
        answer(tab, data, q, right=q > 1, level="80 %")
        if q == 5:
            tab.get_by_role("button", name="Back").press("Enter")
            answer(tab, data, q, right=True, level="80 %")
    assert numbers(tab, ".yourself")["accuracy"] == "80 %"
    assert numbers(tab, ".yourself")["ECE"] == "0.0 %"
    tab.get_by_role("button", name="Ten more").press("Enter")
    for q in range(ROUND, ROUND + 3):
        answer(tab, data, q, right=True, level="99 %")
    tab.reload()
    assert "answers to 13 questions" in tab.locator(".yourself").text_content()
    tab.get_by_role("button", name="Go on").press("Enter")
    for q in range(ROUND + 3, 2 * ROUND):
        answer(tab, data, q, right=True, level="99 %")
    assert tab.locator("h3").text_content() == "You were 89 % sure, and right 18 times out of 20"
    assert (
        tab.locator(".yourself-surest").text_content().startswith("At 90 % and above you got 10 of")
    )
    assert numbers(tab, ".yourself")["accuracy"] == "90 %"
    rows = tab.locator(".yourself tbody tr")
    assert rows.count() == 2 * ROUND
    assert "wrong, 80 %" in rows.last.text_content()
    tab.reload()
    tab.get_by_role("button", name="See my result").press("Enter")
    tab.get_by_text("All numbers").press("Enter")
    tab.get_by_role("button", name="Forget my answers").press("Enter")
    assert tab.evaluate("localStorage.length") == 0
    tab.reload()
    assert tab.get_by_role("button", name="Begin").is_visible()


def test_a_link_carries_the_result_and_nothing_else(tab: Any, data: dict[str, Any]) -> None:
    tab.evaluate(f"localStorage.setItem('calibrate-yourself-{data['key']}', 'ABCDEFabcd')")
    tab.reload()
    tab.get_by_role("button", name="See my result").click()
    for name in ("clipboard", "share"):
        tab.evaluate(f"Object.defineProperty(navigator, '{name}', {{ value: undefined }})")
    mine = numbers(tab, ".yourself")
    tab.get_by_role("button", name="Challenge a friend").click()
    link = tab.locator(".yourself-first").text_content()
    assert link == f"{ADDRESS}#result=1.2-1.2-1.2-1.2-1.1-1.1"
    tab.goto("about:blank")
    tab.goto(link)
    sentence = tab.locator("h3").text_content()
    assert sentence == "Your friend was 71 % sure, and right 6 times out of 10"
    assert numbers(tab, ".yourself") == mine
    tab.get_by_role("button", name="And you? Ten questions").press("Enter")


@pytest.mark.parametrize(
    "link",
    [
        "result=999999999.999999999-0.0-0.0-0.0-0.0-0.0",
        "result=3.2-0.0-0.0-0.0-0.0-0.0",
        "result=<b>",
    ],
)
def test_a_link_that_nobody_was_given_shows_the_beginning(tab: Any, link: str) -> None:
    tab.goto("about:blank")
    tab.goto(f"{ADDRESS}#{link}")
    assert tab.get_by_role("button", name="Begin").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_to_keep_is_a_picture(theme: str, tab: Any, data: dict[str, Any]) -> None:
    tab.evaluate(f"localStorage.setItem('calibrate-yourself-{data['key']}', 'ABCDEFabcd')")
    tab.reload()
    tab.add_style_tag(path=ASSETS / "course.css")
    tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    tab.get_by_role("button", name="See my result").click()
    tab.get_by_text("All numbers").click()
    with tab.expect_download() as waiting:
        tab.get_by_role("button", name="Save a picture").click()
    assert waiting.value.suggested_filename == "my-calibration.png"
    with Image.open(waiting.value.path()) as picture:
        assert (picture.format, picture.size) == ("PNG", (1080, 1620))
        pixels = picture.convert("RGB").getcolors(picture.width * picture.height)
    # On white even from a dark page: lines in orange and in grey, and dots in a pale blue.
    often = {colour for count, colour in pixels if count > 1_000}
    assert {(255, 255, 255), (194, 78, 0), (89, 89, 89), (64, 149, 197)} <= often
    # Three dashed lines are told apart by their names, all of them within the drawing.
    drawn = tab.locator(".yourself svg").first
    names = drawn.locator("text").evaluate_all(
        "all => all.filter(one => one.getBBox().y > 340).map(one => one.textContent)"
    )
    assert "perfectly calibrated" in names
    assert drawn.evaluate("one => one.getBBox().y + one.getBBox().height <= 426")
