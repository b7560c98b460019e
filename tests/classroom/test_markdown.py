"""What students wrote in Markdown, as HTML that runs nothing."""

from __future__ import annotations

import pytest

from classroom.markdown import html_of


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b onclick=x>hi</b>", "&lt;b onclick=x&gt;hi&lt;/b&gt;"),
        ("[a](javascript:x)", "[a](javascript:x)"),
        ("from $5 to $6", "from $5 to $6"),
        ("$\\begin{x}$", "<code>\\begin{x}</code>"),
        ("$" + "x" * 301 + "$", "<code>xxx"),
        ("$\\text{<script>}$", "&lt;script&gt;"),
        ("| a |\n|---|\n| 1 |", "<td>1</td>"),
        ("> " * 10_000, "<blockquote>"),
        ("<img alt=x width=9 src='data:image/png;base64,iVBORw=='>", '<img src="data:image/png'),
        ("![mine](https://a.org/b.png)", "<code>mine (https://a.org/b.png)</code>"),
        ("$x$ " * 51, "<code>x</code>"),
        (" ".join(f"${'x' * 200}_{n}$" for n in range(9)), "<code>xxx"),
        ("|a" * 300 + "|\n" + "|-" * 300 + "|\n" + "a\n" * 300, "<p>|a|a"),
        ("[1]: https://a.org\n\nSee [1].", "<p>[1]: https://a.org</p>\n<p>See [1].</p>"),
    ],
)
def test_html_of_shows_what_was_typed_and_runs_nothing(source: str, expected: str) -> None:
    found = html_of(source)
    assert expected in found
    assert "<script" not in found
