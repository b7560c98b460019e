"""One style sheet out of many, with only what the pages use.

The theme brings 500 kB of rules for pages of every kind. A rule stays if all classes, ids and
elements that its selector asks for are in the pages, or may come to be there by a script.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import tinycss2
from tinycss2.ast import QualifiedRule

# What the theme's scripts, the dialogs and tooltips of Bootstrap, and our scripts make.
FROM_SCRIPTS = re.compile(
    r"show|showing|hiding|fade|collaps(e|ing)|modal.*|tooltip.*|bs-tooltip.*|active|scrolled|disabled"
    r"|copybtn.*|copy.*|success|o-tooltip.*|highlight.*|search.*|kind-.*|context"
    r"|no-results|docutils|pst-.*|dialog|dark|light|auto|translated|svg|play|play-.*"
    r"|playground-.*|story-.*|yourself-.*|mark|textarea|h3"
)
NAMES = re.compile(r'<([a-z][\w-]*)|\s(?:class|id)="([^"]*)"')
LIGHT = re.compile(r'html\[data-theme="?light"?\]')
# The icons are drawings in the pages.
ICONS = re.compile(r"@font-face[^}]*Font\\? Awesome")
URL = re.compile(r"url\((?P<quote>[\"']?)(?!data:|#)(?P<path>[^)\"']+)(?P=quote)\)")


def one_sheet(sheets: dict[str, str], folder: str, pages: Iterable[str]) -> str:
    """Join style sheets, by path, into one for `folder`, with the rules that the pages use.

    Without scripts nothing turns `data-theme="auto"` into light or dark: then a page is light.
    """
    text = "".join(pages)
    names = {name for found in NAMES.findall(text) for words in found for name in words.split()}
    parsed = (
        tinycss2.parse_stylesheet(_relocated(sheet, path, folder), True, True)
        for path, sheet in sheets.items()
    )
    return "".join(rule for rules in parsed for rule in _used(rules, names))


def _relocated(text: str, sheet: str, folder: str) -> str:
    """The sheet with its addresses as they are seen from another folder."""

    def moved(found: re.Match[str]) -> str:
        path, mark, rest = found["path"].partition("?")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(sheet), path))
        return f'url("{posixpath.relpath(there, folder)}{mark}{rest}")'

    return LIGHT.sub('html:not([data-theme="dark"])', URL.sub(moved, text))


def _used(rules: list[Any], names: set[str]) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            if selectors := [s for s in _split(rule.prelude) if _may_match(s, names)]:
                yield f"{','.join(map(_text, selectors))}{{{_text(rule.content)}}}"
        elif rule.content and rule.lower_at_keyword in ("media", "supports", "layer", "container"):
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            if kept := "".join(_used(inner, names)):
                yield f"@{rule.at_keyword} {_text(rule.prelude)}{{{kept}}}"
        elif rule.lower_at_keyword != "charset" and not ICONS.search(rule.serialize()):
            yield rule.serialize()


def _split(prelude: list[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in prelude:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _may_match(selector: list[Any], names: set[str]) -> bool:
    """Whether something may; what stands in `:not()` or `:is()` is not asked."""
    asked = (
        token.value
        for before, token in pairwise([None, *selector])
        if token.type == "hash" or (token.type == "ident" and before != ":")
    )
    return all(name in names or FROM_SCRIPTS.fullmatch(name) for name in asked)


def _text(tokens: list[Any]) -> str:
    return tinycss2.serialize(tokens).strip()
