"""The policy of each built page: it refuses what it should, and stands in no reader's way."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.site.test_site import BOOK, KINDS, PAGES, Watched, page

DECKS = [f"slides/{Path(name).name}.html" for name, number in BOOK.pages.items() if number]
# What a policy refuses is told to the page, whether or not the console says so.
REFUSED = """() => {
    window.refused = [];
    addEventListener("securitypolicyviolation", (event) => refused.push(
        `${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
}"""


@pytest.mark.parametrize("name", [*PAGES, *DECKS])
def test_a_page_has_its_policy_before_all_that_it_loads(name: str) -> None:
    head, policy, rest = page(name).text.partition('<meta http-equiv="Content-Security-Policy"')
    assert policy
    assert re.findall(r"<(?:script|style|link|body)\b", head) == []
    allowed = rest.partition(">")[0]
    assert "'unsafe-eval'" not in allowed
    assert "'unsafe-inline'" not in allowed.partition("script-src")[2].partition(";")[0]
    assert re.findall(r"https?:", allowed) == []
    assert re.findall(r"<[a-z][^>]*\son[a-z]+=", rest) == []


def test_a_policy_refuses_what_the_build_has_not_seen(browser: Any, address: str) -> None:
    context = browser.new_context()
    context.add_init_script(f"({REFUSED})()")
    tab = context.new_page()
    tab.goto(address + PAGES[0], wait_until="load")
    tab.evaluate(
        """async () => {
            const add = (name, set) =>
                document.body.append(Object.assign(document.createElement(name), set));
            add("script", { textContent: "window.ran = true" });
            add("script", { src: "https://example.org/a.js" });
            add("img", { src: "https://example.org/a.png" });
            add("link", { rel: "stylesheet", href: "https://example.org/a.css" });
            await fetch("https://example.org/").catch(() => null);
            await new Promise(done => setTimeout(done, 100));
        }"""
    )
    found = {one.split()[0] for one in tab.evaluate("refused")}
    assert found == {"script-src-elem", "img-src", "style-src-elem", "connect-src"}
    assert tab.evaluate("window.ran") is None
    context.close()


def use(tab: Any) -> None:
    """Do on a page what a reader can do there."""
    for query, act in {
        "button.theme-switch-button": lambda one: one.click(),
        ".play-stage input": lambda one: one.press("End"),
        ".play-stage select": lambda one: one.press("ArrowDown"),
        ".play-link": lambda one: one.click(),
        ".question summary": lambda one: one.click(),
        "details.hide > summary": lambda one: one.click(),
        "button.copybtn": lambda one: one.click(force=True),
        ".yourself button": lambda one: one.click(),
        ".playground-bars svg": lambda one: one.click(),
        "#search-field": lambda one: one.fill("ece"),
        ".slide": lambda one: one.press("ArrowRight"),
    }.items():
        if tab.locator(query).count():
            act(tab.locator(query).first)


@pytest.mark.parametrize("name", [*KINDS, DECKS[1]])
def test_no_policy_stands_in_the_way_of_a_reader(name: str, browser: Any, address: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.add_init_script(f"({REFUSED})()")
    watched = Watched(context)
    watched.tab.goto(address + name, wait_until="load")
    before = watched.tab.content()
    use(watched.tab)
    assert watched.tab.evaluate("refused") == []
    assert watched.tab.content() != before or name in DECKS  # which only scroll
    context.close()
    assert watched.errors == []
