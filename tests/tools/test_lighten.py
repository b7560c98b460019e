"""A built page asks for one style sheet and one script, and holds its icons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.finishing.lighten import (
    icon_paths,
    lighten,
    tidy,
    with_icons,
    with_one_sheet_and_script,
)
from tools.sources.errors import MystError

# As no theme of ours makes it.
OTHER = "<html><head><title>T</title></head><body><h1>One</h1></body></html>"
OURS = (
    "<html><head></head><body>"
    '<button class="btn search-button-field" title="Search" aria-label="Search"></button>'
    '<p aria-level="2" class="caption" role="heading"><span class="caption-text">Solutions</span>'
    '</p>\n<ul class="nav bd-sidenav">\n<li>A</li>\n</ul>\n'
    "<h1>One</h1></body></html>"
)
SCRIPTS = """<html><head>
    <meta charset="utf-8" />
<script data-a="b">document.title = "é";</script><script type="application/json">{}</script>
<script defer src="a.js"></script><script>let hint = 'Click';</script>
<link rel="stylesheet" href="a.css"/></head></html>"""


def test_tidy_and_one_sheet_refuse_a_page_of_another_theme() -> None:
    with pytest.raises(MystError, match=r"one\.html does not contain .*search-button"):
        tidy(OTHER, "one.html")
    with pytest.raises(MystError, match=r"one\.html .*stylesheet"):
        with_one_sheet_and_script(OTHER, "one.html")


def test_tidy_folds_solutions_in_the_menu_but_on_their_own_pages() -> None:
    part = (
        '<details class="menu-part"><summary class="caption">Solutions</summary>\n'
        '<ul class="nav bd-sidenav">\n<li>A</li>\n</ul></details>'
    )
    assert part in tidy(OURS, "one.html")
    here = tidy(OURS.replace("nav bd", "current nav bd"), "one.html")
    assert '<details class="menu-part" open>' in here


def test_one_script_leaves_out_the_settings_of_those_left_out() -> None:
    page = SCRIPTS.replace("</head>", '<script src="_static/b.js"></script></head>')
    page = with_one_sheet_and_script(page.replace("a.css", "_static/a.css"), "one.html")
    assert "hint" not in page
    assert 'data-a="b"' in page
    assert page.count("src=") == 1


def test_with_icons_draws_an_icon_in_the_page() -> None:
    icons = icon_paths('x={sun:[512,512,[],"f185","M1 2z"],"arrow-up":[384,512,[1],"f062","M3z"]}')
    assert icons == {"sun": ("512", "512", "M1 2z"), "arrow-up": ("384", "512", "M3z")}
    drawn = with_icons('<i class="mine fa-solid fa-arrow-up fa-lg" title="Up"></i>', icons)
    assert drawn == (
        '<svg class="mine svg-inline--fa fa-arrow-up fa-lg" aria-hidden="true" '
        'role="img" viewBox="0 0 384 512"><path fill="currentColor" d="M3z"/></svg>'
    )


def test_lighten_lets_a_site_ask_for_one_sheet_and_one_script(tmp_path: Path) -> None:
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
