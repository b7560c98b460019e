"""Words: in prose the British spelling, by a list of codespell's."""

from __future__ import annotations

from tools.sources.spelling import docstrings, foreign, prose


def test_an_american_word_is_found_in_prose_but_not_in_code() -> None:
    page = "---\nx: 1\n---\n# A\n\nIts color. `color`, $color$\n\n```python\nbehavior\n```\n"
    assert foreign(prose(page)) == {"color": "colour"}
    code = 'def f():\n    """Its behavior.\n\n    >>> color\n    """\n    center = 1\n'
    assert foreign(docstrings(code)) == {"behavior": "behaviour"}
