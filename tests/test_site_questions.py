"""Every question of the built book, answered by keyboard, and compared with its source."""

from __future__ import annotations

import re
from typing import Any

import pytest
from test_questions import CHAPTERS, asked
from test_site import BOOK, PHONE

from tools.flatten import Flattener

STATE = """() => [...document.querySelectorAll(".question")].map(question => {
    const words = one => {
        const copy = one.cloneNode(true);
        copy.querySelectorAll(".katex").forEach(formula => formula.remove());
        return copy.textContent;
    };
    const folds = [...question.querySelectorAll("details")];
    return {
        asked: words(question.querySelector("legend")),
        answers: folds.map(fold => words(fold.querySelector("summary"))),
        reasons: folds.map(fold => words(fold.querySelector("p"))),
        shown: folds.map(fold => fold.querySelector("p").checkVisibility()),
        heights: folds.map(fold => fold.querySelector("summary").offsetHeight),
    };
})"""

# A slow machine need not draw the whole page anew for each key.
ALONE = """() => document.querySelector(".bd-article")
    .replaceChildren(...document.querySelectorAll(".question"))"""


def letters(text: str) -> str:
    """Without formulas, and without signs that a page sets in its own way."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\$[^$]+\$", "", text).lower())


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("page", CHAPTERS)
def test_every_question_is_answered_by_keyboard(
    page: str, scripts: bool, browser: Any, address: str
) -> None:
    context = browser.new_context(java_script_enabled=scripts, viewport=PHONE)
    tab = context.new_page()
    tab.goto(f"{address}{page}.html", wait_until="load")
    tab.evaluate(ALONE)
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    closed = tab.evaluate(STATE)
    for question in tab.locator(".question").all():
        answers = question.locator("summary")
        answers.first.focus()
        for nth in range(answers.count()):
            tab.keyboard.press(["Enter", "Space"][nth % 2])
            tab.keyboard.press("Tab")
    opened = tab.evaluate(STATE)
    context.close()

    plain = Flattener(BOOK, page)
    for before, after, question in zip(closed, opened, asked(page), strict=True):
        assert letters(after["asked"]) == letters(plain.flatten(question.text))
        assert not any(before["shown"])
        assert all(after["shown"])
        assert min(after["heights"]) >= 24
        for answer, reason, expected in zip(
            after["answers"], after["reasons"], question.answers, strict=True
        ):
            assert letters(answer) == letters(plain.flatten(expected.text))
            assert reason.startswith(expected.verdict)
            assert letters(reason) == letters(expected.verdict + plain.flatten(expected.reason))
    assert [url for url in requests if not url.endswith("favicon.svg")] == []


def test_a_question_has_a_name_a_focus_and_is_printed_with_its_reasons(
    browser: Any, address: str
) -> None:
    tab = browser.new_page()
    tab.goto(f"{address}{CHAPTERS[0]}.html", wait_until="load")
    questions = asked(CHAPTERS[0])
    assert tab.get_by_role("group", name="Check yourself").count() == len(questions)
    answer = tab.locator(".question summary").first
    answer.focus()
    tab.keyboard.press("Enter")
    assert "solid" in answer.evaluate("one => getComputedStyle(one).outline")
    tab.keyboard.press("Enter")
    assert not any(tab.evaluate(STATE)[0]["shown"])
    tab.emulate_media(media="print")
    assert all(all(question["shown"]) for question in tab.evaluate(STATE))
    tab.close()
