"""The one style sheet holds what the pages use, and the page asks for nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finishing.lighten import icon_paths, lighten, with_icons
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
def test_a_rule_stays_if_something_may_match(css: str, kept: str) -> None:
    assert sheet(css) == kept


def test_a_page_that_is_not_dark_is_light() -> None:
    for light in ("[data-theme=light]", '[data-theme="light"]'):
        found = sheet(f"html{light} p {{ color: black }}")
        assert found == 'html:not([data-theme="dark"]) p{color: black}'


def test_addresses_follow_the_sheet_to_its_new_place() -> None:
    found = sheet("p { background: url(../x/y.svg?v=1) }", path="_static/deep/a.css")
    assert found == 'p{background: url("x/y.svg?v=1")}'
    data = 'p{background:url("data:image/svg+xml;a")}'
    assert sheet(data) == data


def test_an_icon_is_drawn_in_the_page() -> None:
    icons = icon_paths('x={sun:[512,512,[],"f185","M1 2z"],"arrow-up":[384,512,[1],"f062","M3z"]}')
    assert icons == {"sun": ("512", "512", "M1 2z"), "arrow-up": ("384", "512", "M3z")}
    drawn = with_icons('<i class="mine fa-solid fa-arrow-up fa-lg" title="Up"></i>', icons)
    assert drawn == (
        '<svg class="mine svg-inline--fa fa-arrow-up fa-lg" aria-hidden="true" '
        'role="img" viewBox="0 0 384 512"><path fill="currentColor" d="M3z"/></svg>'
    )


def test_a_site_asks_for_one_sheet_and_one_script(tmp_path: Path) -> None:
    static = tmp_path / "_static"
    (static / "scripts").mkdir(parents=True)
    (static / "a.css").write_text('@import "b.css"; p { top: 0 }', "utf-8")
    (static / "b.css").write_text("b { top: 1px }", "utf-8")
    (static / "scripts/fontawesome.js").write_text('x={sun:[1,1,[],"f1","M0z"]}', "utf-8")
    (static / "one.js").write_text('"use strict";', "utf-8")
    (static / "two.js").write_text("two = 2", "utf-8")
    (static / "documentation_options.js").write_text("const O = {};", "utf-8")
    text = """<html><head>
    <link rel="stylesheet" type="text/css" href="../_static/a.css?v=1" />
    <script src="../_static/documentation_options.js"></script>
    <script src="../_static/one.js?v=2"></script>
    <script>DOCUMENTATION_OPTIONS.x = 1;</script>
    <script defer src="../_static/two.js"></script>
    <script src="../searchindex.js"></script>
    </head><body><button class="search-button-field" title="Search" aria-label="Search"></button>
    <p aria-level="2" class="caption" role="heading"><span class="caption-text">Appendix</span></p>
<ul class="a"><li>A</li></ul><p><b><i class="fa-solid fa-sun"></i></b></p>
    </body></html>"""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/one.html").write_text(text, "utf-8")
    lighten(tmp_path)
    page = (tmp_path / "pages/one.html").read_text("utf-8")
    assert page.count("<link") == 1
    assert page.count(" src=") == 1
    assert "OPTIONS.x" not in page
    assert "searchindex" not in page
    assert (static / "book.css").read_text("utf-8") == "b{top: 1px}p{top: 0}"
    code = ';\nconst O = {};\n;\n"use strict";\n;\ntwo = 2\n'
    assert (static / "book.js").read_text("utf-8") == code


def test_what_scripts_make_keeps_its_rules() -> None:
    """Each class of ours that a rule names stays, though no page has it before it is made."""
    own = (Path(__file__).parents[2] / "book/assets/course.css").read_text("utf-8")
    ours = re.compile(r"\.((?:yourself|playground)-[a-z]+)")
    page = '<div class="yourself"></div><div class="bd-article"></div><p></p><button></button>'
    kept = sheet(own, PAGE.replace("<b>", f"{page}<b>"))
    assert len(set(ours.findall(own))) > 10
    assert set(ours.findall(kept)) == set(ours.findall(own))
