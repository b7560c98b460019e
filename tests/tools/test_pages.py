"""What is put into built pages finds its place there, or the build stops."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.finishing.pages import pages_of, replaced
from tools.sources.errors import MystError


def test_replaced_refuses_what_is_not_there() -> None:
    assert replaced("a b a", "a", r"\1", "x.html") == r"\1 b \1"
    assert replaced("a1", re.compile(r"a(\d)"), lambda found: found[1], "x.html") == "1"
    with pytest.raises(MystError, match=r"^x\.html does not contain a\.b:"):
        replaced("a b", "a.b", "", "x.html")
    with pytest.raises(MystError, match=r"^x\.html does not contain a\\d:"):
        replaced("a b", re.compile(r"a\d"), "", "x.html")


def test_pages_of_are_those_that_a_reader_opens(tmp_path: Path) -> None:
    for name in ("index.html", "a/index.html", "_static/t.html", "b.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in pages_of(tmp_path)] == [
        "a/index.html",
        "b.html",
    ]
