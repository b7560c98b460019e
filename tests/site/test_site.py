"""The built pages in a browser: what is seen, reached by keyboard, and printed."""

from __future__ import annotations

import gzip
import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.site.test_html import BOOK, PAGES, SITE
from tests.thorough import mostly_thorough
from tools.finishing.browser import PHONE

# What axe-core finds in the theme itself, on every page of every book made with it; a fourth of its
# time goes into this rule.
KNOWN_OF_THE_THEME = {"region": {"enabled": False}}
SCREEN = {"width": 1280, "height": 800}
# The page at the root goes on to the first one (test_html).
WALKED = [name for name in PAGES if name != "index.html"]
# A page for addresses that do not exist needs a server.
FILES = [name for name in WALKED if name != "404.html"]
# One page of each kind.
KINDS = [
    *(next(name for name in PAGES if kind in name) for kind in ("/intro", "/solutions/", "/api/")),
    *(f"book/{name}.html" for name in ("calibrate-yourself", "playground", "recalibrators")),
    *("notebooks/language-models.html", "search.html", "404.html"),
]
# In bytes, packed as a server sends them, and in requests: what comes before a reader scrolls.
BUDGET = {"without figures": 200_000, "with figures": 350_000, "requests": 20}
# With all that it can find.
SEARCH = BUDGET | {"without figures": 350_000}


def beyond(name: str, answers: list[Any]) -> dict[str, int]:
    """What a page takes beyond its budget, of what a server sent for it."""
    sizes = {
        answer.url: len(body if answer.url.endswith("woff2") else gzip.compress(body))
        for answer in answers
        for body in [answer.body()]
    }
    figures = sum(size for url, size in sizes.items() if url.endswith(".svg"))
    found = {
        "without figures": sum(sizes.values()) - figures,
        "with figures": sum(sizes.values()),
        "requests": len(answers),
    }
    budget = SEARCH if name == "search.html" else BUDGET
    return {what: n for what, n in found.items() if n > budget[what]}


def test_a_search_leads_to_a_section_by_keyboard(browser: Any) -> None:
    """From a folder, too, and from an address with the question."""
    start = f"{SITE.as_uri()}/"
    watched = Watched(browser)
    tab = watched.tab
    tab.goto(f"{start}search.html?q={quote('ísotonic regression')}", wait_until="load")
    tab.locator("#search-field").focus()
    tab.keyboard.press("Tab")  # the button
    tab.keyboard.press("Tab")
    link = tab.evaluate("document.activeElement.getAttribute('href')")
    assert "isotonic" in tab.evaluate("document.activeElement.innerText").lower()
    hits = tab.locator("#search-results mark").all_inner_texts()
    assert {hit.lower().removesuffix("s") for hit in hits} == {"isotonic", "regression"}
    tab.keyboard.press("Enter")
    tab.wait_for_url(f"{start}{link}")
    assert tab.evaluate("document.getElementById(location.hash.slice(1)) !== null")
    tab.close()
    assert watched.errors == []
    assert watched.outside(start) == []


def test_on_a_phone_a_finger_finds_each_button_and_no_hint_stays(
    browser: Any, address: str
) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    tab = context.new_page()
    tab.clock.install()
    tab.goto(f"{address}{BOOK.chapters[1]}.html", wait_until="load")
    sizes = tab.evaluate(
        """() => [...document.querySelectorAll(".bd-main button")]
            .map(one => one.getBoundingClientRect())
            .filter(box => box.width).map(box => Math.min(box.width, box.height))"""
    )
    assert len(sizes) > 10
    assert min(sizes) >= 24
    tab.locator("button.theme-switch-button").tap()
    tab.clock.run_for(500)
    assert tab.locator(".tooltip:visible").count() == 0
    context.close()


# Folds are opened first; then each stop of the Tab key must look different from how it looks idle.
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
UNSEEN = """() => {
    const look = one => {
        const style = getComputedStyle(one);
        return [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor,
                style.textDecoration, style.backgroundColor].join();
    };
    const stops = [...document.querySelectorAll(
        "a[href], button, input, select, summary, [tabindex]:not([tabindex='-1'])"
    )].filter(one => one.checkVisibility({ visibilityProperty: true }));
    const unseen = stops.filter(one => {
        one.blur();
        const before = look(one);
        one.focus({ preventScroll: true });
        return document.activeElement === one && look(one) === before;
    });
    document.activeElement.blur();
    return unseen.map(one => one.outerHTML.slice(0, 160));
}"""
# Contrast takes axe-core a minute a page. Text in elements of the same kind, at the same kind of
# place, has the same colours on all pages: the first of each stays.
LOOKED_AT: set[int] = set()
THIN = """known => {
    const kinds = new Map([[document.body, 0]]), seen = new Set(known);
    const number = (words) => [...words].reduce((n, c) => (31 * n + c.codePointAt()) | 0, 0);
    const all = [...document.querySelectorAll("body *")];
    for (const one of all) {
        const own = [one.localName, one.getAttribute("class")];
        const kind = number([kinds.get(one.parentElement), ...own].join());
        kinds.set(one, kind);
        const said = [...one.childNodes].some(inside => inside.nodeType == 3 && inside.data.trim());
        if (said) one.style.visibility = seen.has(kind) ? "hidden" : "visible";
        if (said) seen.add(kind);
    }
    for (const one of all.reverse())
        if (one.style.visibility == "hidden" && !one.children.length) one.remove();
    return [...seen];
}"""
WIDTH = "Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)"
# A formula in a line may break; one that cannot must not be cut.
CUT = """() => [...document.querySelectorAll(".bd-article .katex-html")].filter(one => {
    const box = one.closest("div.math > .katex-display, .pst-scrollable-table-container");
    return !box && one.getBoundingClientRect().right > innerWidth;
}).map(one => one.textContent)"""
# The words of a drawing are 9 px high or more on a phone, none is cut, and none stands on another.
POOR_WORDS = """phone => {
    const poor = [], svg = document.documentElement, seen = [];
    const all = svg.getBoundingClientRect(), scale = Math.min(1, phone / all.width);
    const say = (...what) => poor.push(what.join(" "));
    if (!svg.querySelector("text")) say("no words that are text");
    for (const text of svg.querySelectorAll("text")) {
        const words = text.textContent.trim(), box = text.getBoundingClientRect();
        if (!words) continue;
        const size = parseFloat(getComputedStyle(text).fontSize) * scale
            * all.width / svg.viewBox.baseVal.width;
        if (size < 9) say(words, `is ${size.toFixed(1)} px high`);
        const away = Math.max(all.left - box.left, box.right - all.right,
            all.top - box.top - 1, box.bottom - all.bottom - 1);
        if (away > 1) say(words, "is cut");
        for (const [others, { left, right, top, bottom }] of seen) {
            const wide = Math.min(box.right, right) - Math.max(box.left, left);
            const high = Math.min(box.bottom, bottom) - Math.max(box.top, top);
            if (wide > 1 && high > 3) say(words, "stands on", others);
        }
        seen.push([words, box]);
    }
    return poor;
}"""
# The links to the pages before and after.
BESIDE = """() => [...document.querySelectorAll(".prev-next-area *")].filter(
    one => one.getBoundingClientRect().right > innerWidth).map(one => one.outerHTML)"""
# What is too wide for a phone, a table, code or a formula, shows by a shadow that it scrolls.
SILENT_EDGES = """() => [...document.querySelectorAll(".bd-article *")].filter(one => {
    const style = getComputedStyle(one);
    return ["auto", "scroll", "hidden"].includes(style.overflowX)
        && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 40
        && !style.backgroundImage.includes("gradient");
}).map(one => one.outerHTML.slice(0, 120))"""
# How far the first column of a table moves when the others are scrolled.
MOVED = """() => [...document.querySelectorAll(".pst-scrollable-table-container")].map(box => {
    const cell = box.querySelector("tbody tr > :first-child");
    const before = cell.getBoundingClientRect().left;
    box.scrollLeft = 1000;
    return Math.abs(cell.getBoundingClientRect().left - before);
})"""
# What has to say what it does.
NAMED = {
    "button",
    "checkbox",
    "combobox",
    "image",
    "link",
    "radio",
    "searchbox",
    "slider",
    "textbox",
}
# Signs of a font that is not here.
SIGNS = """() => [...document.querySelectorAll(
    ".bd-article :not(.katex *):not(svg *):not(pre *)")].flatMap(one =>
    ["::before", "::after"].map(part => getComputedStyle(one, part)).filter(
        style => /[\\uE000-\\uF8FF]/.test(style.content)).map(() => one.outerHTML.slice(0, 120)))"""
PRINTED = """() => {
    const style = getComputedStyle(document.body);
    const seen = [...document.querySelectorAll("button, .start-here")]
        .filter(one => one.checkVisibility());
    return [style.backgroundColor, style.color, seen.length];
}"""


class Watched:
    """A tab that notes every error, warning and request."""

    def __init__(self, context: Any) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.answers: list[Any] = []
        self.tab = context.new_page()
        self.tab.on("console", self.note)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.tab.on("response", lambda answer: self.answers.append(answer))
        self.tab.on("requestfailed", self.failed)

    def failed(self, request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # by the next page, which a reader went on to
            self.errors.append(f"failed: {request.url} ({request.failure})")

    def note(self, line: Any) -> None:
        if line.type in ("error", "warning"):
            self.errors.append(f"{line.text} ({line.location['url']})")

    def outside(self, start: str) -> list[str]:
        return [url for url in self.requests if not url.startswith((start, "data:"))]


def violations(tab: Any, inside: str | None = None, **options: Any) -> list[tuple[str, str]]:
    """What axe-core objects to."""
    from axe_playwright_python.sync_playwright import Axe

    # Without preload: axe-core would ask for style sheets itself, and at wrong addresses.
    rules = KNOWN_OF_THE_THEME | options.pop("rules", {})
    options |= {"resultTypes": ["violations"], "preload": False, "rules": rules}
    found = Axe().run(tab, context=inside, options=options)
    return [
        (rule["id"], node["html"][:200])
        for rule in found.response["violations"]
        for node in rule["nodes"]
    ]


def unnamed(tab: Any) -> list[str]:
    """The kinds of controls that a screen reader gets without a name, in Chromium's own tree.

    axe-core takes the words of an output that stands in a label for the name of what it labels.
    """
    nodes = tab.context.new_cdp_session(tab).send("Accessibility.getFullAXTree")["nodes"]
    kinds = [one["role"]["value"] for one in nodes if not one["ignored"]]
    names = [one.get("name", {}).get("value", "") for one in nodes if not one["ignored"]]
    assert "link" in kinds  # or nothing was looked at
    return [kind for kind, name in zip(kinds, names, strict=True) if kind in NAMED and not name]


@pytest.mark.parametrize("name", mostly_thorough(WALKED, KINDS))
def test_a_page_in_the_browser(name: str, browser: Any, address: str) -> None:
    """No error in the console, no request that leaves the site, nothing that axe-core objects to.

    On a phone with a slow line, in light, by keyboard, in dark, and in print from the dark.
    """
    context = browser.new_context(viewport=PHONE, color_scheme="light", reduced_motion="reduce")
    watched = Watched(context)
    tab = watched.tab
    tab.goto(address + name, wait_until="networkidle")
    assert beyond(name, watched.answers) == {}
    tab.wait_for_function("() => document.getAnimations().every(one => one.playState != 'running')")
    assert tab.evaluate(SILENT_EDGES) == []
    assert max(tab.evaluate(MOVED), default=0) < 2
    tab.set_viewport_size(SCREEN)
    tab.evaluate(UNFOLD)
    assert tab.evaluate(SIGNS) == []
    rules = {one: {"enabled": True} for one in ("label-content-name-mismatch", "target-size")}
    assert violations(tab, rules=rules | {"color-contrast": {"enabled": False}}) == []
    assert unnamed(tab) == []
    tab.keyboard.press("Tab")  # from here on the focus is one of the keyboard
    assert tab.evaluate(UNSEEN) == []
    tab.set_viewport_size(PHONE)
    assert tab.evaluate(WIDTH) <= PHONE["width"]
    assert tab.evaluate(CUT) == []
    tab.set_viewport_size({"width": 320, "height": 800})  # as a zoom of 400 % makes of 1280
    assert tab.evaluate(WIDTH) <= 320
    assert tab.evaluate(BESIDE) == []
    tab.set_viewport_size({"width": 640, "height": 800})
    assert tab.evaluate(WIDTH) <= 640
    tab.set_viewport_size(SCREEN)
    LOOKED_AT.update(tab.evaluate(THIN, [*LOOKED_AT]))
    assert violations(tab, runOnly=["color-contrast"]) == []
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(
        "() => document.documentElement.dataset.theme != 'light' && matchMedia("
        "'(prefers-color-scheme: dark)').matches"
    )
    assert violations(tab, runOnly=["color-contrast"]) == []
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print", color_scheme="dark")
    background, colour, buttons = tab.evaluate(PRINTED)
    assert background in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
    assert sum(map(int, re.findall(r"\d+", colour)[:3])) < 200
    assert buttons == 0
    context.close()
    assert watched.errors == []
    assert watched.outside(address) == []


@pytest.mark.parametrize("name", mostly_thorough(FILES, KINDS[:2]))
def test_a_page_in_a_folder_with_and_without_scripts(name: str, browser: Any) -> None:
    """As who has only the files sees it."""
    start = SITE.as_uri()
    for scripts in (True, False):
        context = browser.new_context(
            viewport=PHONE, java_script_enabled=scripts, color_scheme="dark"
        )
        watched = Watched(context)
        watched.tab.goto(f"{start}/{name}", wait_until="load")
        assert watched.tab.evaluate(WIDTH) <= PHONE["width"]
        assert watched.tab.locator("h1:visible").first.inner_text().strip()
        context.close()
        assert watched.errors == []
        assert watched.outside(start) == []


def test_the_words_of_a_drawing_can_be_read(browser: Any, address: str) -> None:
    tab = browser.new_page(viewport={"width": 900, "height": 900})
    # On a screen, a play stands in the place of this one.
    drawings = sorted({*(SITE / "_images").glob("*.svg")} - {SITE / "_images/overview.svg"})
    assert len(drawings) > 50
    poor = {}
    for path in drawings:
        tab.goto(f"{address}_images/{path.name}")
        if found := tab.evaluate(POOR_WORDS, PHONE["width"] - 32):
            poor[path.name] = found
    tab.close()
    assert poor == {}


def test_the_longest_table_shows_all_its_columns(browser: Any, address: str) -> None:
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(f"{address}book/recalibrators.html", wait_until="load")
    box = tab.locator(".pst-scrollable-table-container:has(> table.long)")
    box.scroll_into_view_if_needed()
    tab.wait_for_function(
        "() => document.querySelector('table.long td').checkVisibility({contentVisibilityAuto: 1})"
    )
    assert box.evaluate("one => one.scrollWidth - one.clientWidth") <= 1
    tab.close()
