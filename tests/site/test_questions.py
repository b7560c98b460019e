"""Every question of the built book, answered by keyboard, and compared with its source."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.site.test_site import BOOK, PHONE, SITE
from tests.thorough import mostly_thorough
from tools.sources.flatten import Flattener
from tools.sources.prose import asked
from tools.sources.questions import COMPARE

CHAPTERS = [page for page, number in BOOK.pages.items() if number]
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
        reasons: [...question.querySelectorAll("details p")].map(words),
        shown: [...question.querySelectorAll("details p")].map(p => p.checkVisibility()),
        heights: folds.map(fold => fold.querySelector("summary").offsetHeight),
    };
})"""

# Nothing but the questions: a slow machine need not draw the whole page anew for each key.
ALONE = """groups => {
    const article = document.querySelector(".bd-article");
    if (groups) article.innerHTML = groups.join("");
    article.replaceChildren(...article.querySelectorAll(".question"));
    document.body.replaceChildren(article);
}"""


def letters(text: str) -> str:
    """Without formulas, and without signs that a page sets in its own way."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r"\$[^$]+\$", "", text).lower())


@pytest.mark.parametrize("page", mostly_thorough(CHAPTERS, CHAPTERS[1:2]))
def test_every_question_is_answered_by_keyboard(page: str, browser: Any, address: str) -> None:
    """Each answer in turn, on a phone; on paper the reasons are at the end of the chapter."""
    tab = browser.new_page(viewport=PHONE)
    tab.goto(f"{address}{page}.html", wait_until="load")
    at_end = tab.locator(".printed-answers > ol > li").evaluate_all(
        "all => all.map(one => one.querySelectorAll('ol > li > p').length)"
    )
    assert not tab.locator(".printed-answers").is_visible()
    tab.emulate_media(media="print")
    assert tab.locator(".printed-answers").is_visible()
    tab.emulate_media(media="screen")
    tab.evaluate(ALONE)
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    names = tab.get_by_role("group", name="Check yourself").count()
    tab.emulate_media(media="print")
    printed = tab.evaluate(STATE)
    tab.emulate_media(media="screen")
    closed = tab.evaluate(STATE)
    for question in tab.locator(".question").all():
        answers = question.locator("summary")
        answers.first.focus()
        for nth in range(answers.count()):
            if nth:
                tab.keyboard.press("Tab")
            tab.keyboard.press(["Enter", "Space"][nth % 2])
    focused = tab.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    opened = tab.evaluate(STATE)
    tab.close()

    plain = Flattener(BOOK, page)
    assert names == len(asked(BOOK.source(page)))
    assert at_end == [len(question.answers) for question in asked(BOOK.source(page))]
    assert focused == "solid"
    assert [url for url in requests if not url.endswith("favicon.svg")] == []
    for paper, before, after, question in zip(
        printed, closed, opened, asked(BOOK.source(page)), strict=True
    ):
        assert letters(after["asked"]) == letters(plain.flatten(question.text))
        assert not any(before["shown"])
        assert all(after["shown"])
        assert not any(paper["shown"])
        assert min(after["heights"]) >= 24
        options = [COMPARE] if question.is_number else [one.text for one in question.answers]
        for answer, option in zip(after["answers"], options, strict=True):
            assert letters(answer) == letters(plain.flatten(option))
        for reason, expected in zip(after["reasons"], question.answers, strict=True):
            verdict = question.verdict(expected)
            assert letters(reason) == letters(plain.flatten(f"{verdict} {expected.reason}"))


def test_every_question_is_answered_without_scripts(browser: Any, address: str) -> None:
    """Those of all pages, on one of them: the right answers, by keyboard."""
    groups = [
        group
        for page in CHAPTERS
        for group in re.findall(
            "<fieldset .*?</fieldset>", (SITE / f"{page}.html").read_text("utf-8"), re.DOTALL
        )
    ]
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(f"{address}{CHAPTERS[0]}.html", wait_until="load")
    tab.evaluate(ALONE, groups)
    for answer in tab.locator(".is-right > summary, .for-number summary").all():
        answer.focus()
        tab.keyboard.press("Enter")
    found = tab.evaluate(STATE)
    context.close()
    questions = [question for page in CHAPTERS for question in asked(BOOK.source(page))]
    for state, question in zip(found, questions, strict=True):
        assert state["shown"] == [one.is_right or question.is_number for one in question.answers]
