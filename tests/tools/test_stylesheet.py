"""The one style sheet holds what the pages use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finishing.stylesheet import one_sheet

PAGE = '<html data-theme="auto"><body><p class="lead" id="top">A <b>word</b>.</p></body></html>'


def sheet(css: str, page: str = PAGE, path: str = "_static/a.css") -> str:
    return one_sheet({path: css}, "_static", [page])


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".lead { color: red }", ".lead{color: red}"),
        (".other { color: red }", ""),
        ("p.lead > b:hover, p.other { color: red }", "p.lead > b:hover{color: red}"),
        ("#top { margin: 0 } #bottom { margin: 0 }", "#top{margin: 0}"),
        ("table { margin: 0 }", ""),
        ("p:not(.other) { margin: 0 }", "p:not(.other){margin: 0}"),
        # What a script may add stays.
        (".tooltip.show { margin: 0 !important }", ".tooltip.show{margin: 0 !important}"),
        ("@media print { p { margin: 0 } }", "@media print{p{margin: 0}}"),
        ("@media print { table { margin: 0 } }", ""),
        ("@container (width > 9px) { p { margin: 0 } }", "@container (width > 9px){p{margin: 0}}"),
        ("@container (width > 9px) { table { margin: 0 } }", ""),
        ("@keyframes turn { to { top: 0 } }", "@keyframes turn { to { top: 0 } }"),
        # The icons are drawn in the pages.
        ('@font-face { font-family: "Font Awesome 6 Free" } p { margin: 0 }', "p{margin: 0}"),
    ],
)
def test_one_sheet_keeps_a_rule_if_something_may_match(css: str, kept: str) -> None:
    assert sheet(css) == kept


def test_one_sheet_makes_a_page_light_that_is_not_dark() -> None:
    for light in ("[data-theme=light]", '[data-theme="light"]'):
        found = sheet(f"html{light} p {{ color: black }}")
        assert found == 'html:not([data-theme="dark"]) p{color: black}'


def test_one_sheet_keeps_addresses_right() -> None:
    found = sheet("p { background: url(../x/y.svg?v=1) }", path="_static/deep/a.css")
    assert found == 'p{background: url("x/y.svg?v=1")}'
    data = 'p{background:url("data:image/svg+xml;a")}'
    assert sheet(data) == data


def test_one_sheet_keeps_the_rules_of_what_scripts_make() -> None:
    """Each class of ours that a rule names stays, though no page has it before it is made."""
    own = (Path(__file__).parents[2] / "book/assets/course.css").read_text("utf-8")
    ours = re.compile(r"\.((?:yourself|playground)-[a-z]+)")
    page = '<div class="yourself"></div><div class="bd-article"></div><p></p><button></button>'
    kept = sheet(own, PAGE.replace("<b>", f"{page}<b>"))
    assert len(set(ours.findall(own))) > 10
    assert set(ours.findall(kept)) == set(ours.findall(own))
