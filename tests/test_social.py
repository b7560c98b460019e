"""What a page says of itself to who links to it."""

from __future__ import annotations

import html
import re
import struct
import subprocess
import sys
from pathlib import Path

from docutils.core import publish_doctree

from tools.finishing.social import SIZE, description, tags

PAGE = """
Title
=====

How far is it?

.. figure:: none.svg
   :alt: A drawing.

   A caption of some length, which is no sentence of the page.

.. note:: Not this, either.

It is *two* miles. That is a long way for anyone on foot. The rest is left out of it.
"""


def test_a_description_is_the_first_sentences_of_the_prose() -> None:
    assert description(publish_doctree(PAGE)) == (
        "How far is it? It is two miles. That is a long way for anyone on foot."
    )
    assert description(publish_doctree("Nothing\n=======\n")) == ""


def test_a_sentence_is_never_cut() -> None:
    sentence = f"It is {'very ' * 60}long."
    assert description(publish_doctree(sentence + " More.")) == sentence
    assert description(publish_doctree(f"Short. {sentence}")) == "Short."


def found(text: str) -> dict[str, str]:
    pairs = re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', text)
    return {key: html.unescape(value) for key, value in pairs}


def test_what_is_absolute_needs_an_address() -> None:
    here = found(tags("The book", 'A "title"', "It is so.", "a/b.html", ""))
    assert here == {
        "og:type": "website",
        "og:site_name": "The book",
        "og:title": 'A "title"',
        "og:description": "It is so.",
        "description": "It is so.",
        "twitter:card": "summary",
    }
    there = found(tags("The book", "T", "", "a/b.html", "https://x.org/c/"))
    assert there["og:url"] == "https://x.org/c/a/b.html"
    assert there["og:image"] == "https://x.org/c/_static/card.png"
    assert there["twitter:card"] == "summary_large_image"
    assert "description" not in there


def test_the_picture_has_the_size_that_the_tags_say(tmp_path: Path) -> None:
    picture = tmp_path / "card.png"
    subprocess.run([sys.executable, "-m", "book.pictures.card", picture], check=True)
    assert struct.unpack(">II", picture.read_bytes()[16:24]) == SIZE
