"""What the search finds: the sections of built pages, the words of the glossary, names of code."""

from __future__ import annotations

from tools.finishing.search import sections

PAGE = """<html><body><h1>Not in the article</h1><article class="bd-article">
<section id="bins"><h1><span class="section-number">2. </span>Bins<a class="headerlink">#</a></h1>
<p>A bin holds <em>answers</em>.<script>x = 1</script></p>
<section id="many"><h2>How many?</h2><p>Of <span class="katex"><span class="katex-mathml"><math>
<mi>M</mi></math></span><span class="katex-html">M</span></span> bins <b>one</b>.</p>
<div class="highlight"><pre>n_bins = 15</pre></div><p>No more.</p></section>
<p>The end.</p></section></article><p>After it.</p></body></html>"""
TERMS = """<article class="bd-article"><section id="g"><h1>Glossary</h1><dl class="glossary">
<dt id="term-bin">bin<a class="headerlink">#</a></dt><dt id="term-0" lang="ko">구간</dt>
<dd><p>A range.</p></dd><dt id="term-ECE">ECE</dt><dt id="term-1">기대 보정 오차</dt>
<dd><p>A mean.</p></dd></dl></section></article>"""
NAMES = """<article class="bd-article"><section id="m"><h1>calib_utils.m</h1><dl class="py class">
<dt class="sig sig-object py" id="calib_utils.m.Bins"><span>class</span> <span>Bins</span></dt>
<dd><p>All of them.</p><dl class="py method"><dt class="sig" id="calib_utils.m.Bins.fit">fit()</dt>
<dd><p>Learn.</p></dd></dl></dd></dl></section></article>"""


def test_a_section_is_what_stands_below_its_heading() -> None:
    assert sections(PAGE) == [
        ["bins", "2. Bins", "A bin holds answers. The end."],
        # Of a formula what is drawn; code comes last.
        ["many", "How many?", "Of M bins one. No more. n_bins = 15"],
    ]


def test_a_line_that_is_broken_ends_no_section() -> None:
    page = PAGE.replace("<p>No more.</p>", "<p>No<br />\nmore.</p>")
    assert sections(page) == sections(PAGE)


def test_a_term_is_found_in_both_languages() -> None:
    assert sections(TERMS)[1:] == [
        ["term-bin", "bin · 구간", "A range."],
        ["term-ECE", "ECE · 기대 보정 오차", "A mean."],
    ]


def test_a_name_of_the_module_is_a_section() -> None:
    found = sections(NAMES)
    assert [entry[:2] for entry in found[1:]] == [
        ["calib_utils.m.Bins", "Bins"],
        ["calib_utils.m.Bins.fit", "fit"],
    ]
    assert found[2][2] == "fit() Learn."


def test_a_page_without_article_says_nothing() -> None:
    assert sections("<html><body><p>Nothing.</p></body></html>") == []
