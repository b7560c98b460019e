"""One style sheet out of many, with only what the pages use.

The theme brings 500 kB of rules for pages of every kind. A rule stays if each class, id and element
that its selector asks for is in some page, or may come to be there by a script.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import Any

import tinycss2
from tinycss2.ast import AtRule, Declaration, QualifiedRule

# What the theme's scripts, and the dialogs and tooltips of Bootstrap, put on elements.
FROM_SCRIPTS = re.compile(
    r"show|showing|hiding|fade|collaps(e|ing)|modal.*|tooltip.*|bs-tooltip.*|active|scrolled|disabled"
    r"|copybtn.*|copy.*|success|o-tooltip.*|highlight.*|search.*|kind-.*|context"
    r"|no-results|docutils|pst-.*|dialog|dark|light|auto|translated|svg|play|play-.*"
    r"|playground-.*|story-.*|yourself-.*"
)
SCHEME = re.compile(r'html\[data-theme="?(?P<scheme>light|dark)"?\]')
# Of a declaration; the semicolon of an address in it does not end it.
VALUE = r"""(?:url\([^"')]*\)|"[^"]*"|'[^']*'|[^;{}"'])*"""
READ = re.compile(r"var\(\s*(--[\w-]+)")
URL = re.compile(r"url\((?P<quote>[\"']?)(?!data:|#)(?P<path>[^)\"']+)(?P=quote)\)")


class Words(HTMLParser):
    """The elements, classes and ids of pages, and the variables that their attributes read."""

    def __init__(self, pages: Iterable[str]) -> None:
        super().__init__()
        # Which the scripts of the search and of the questions make.
        self.elements = {"mark", "textarea", "h3"}
        self.names: set[str] = set()
        self.read: set[str] = set()
        for page in pages:
            self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        for key, value in attrs:
            if key in ("class", "id"):
                self.names |= set((value or "").split())
            elif value and "var(" in value:
                self.read |= set(READ.findall(value))

    def reach(self, selector: list[Any]) -> bool:
        """Whether something may match; what stands in `:not()` or `:is()` is not asked."""
        before = ""
        for token in selector:
            if token.type == "ident":
                is_name = before == "."
                if is_name and not (
                    token.value in self.names or FROM_SCRIPTS.fullmatch(token.value)
                ):
                    return False
                if not is_name and before != ":" and token.value.lower() not in self.elements:
                    return False
            elif token.type == "hash" and not (
                token.value in self.names or FROM_SCRIPTS.fullmatch(token.value)
            ):
                return False
            before = token.value if token.type == "literal" else ""
        return True


def one_sheet(sheets: dict[str, str], folder: str, pages: Iterable[str]) -> str:
    """Join style sheets, by path, into one for `folder`, with the rules that the pages use.

    Without scripts nothing turns `data-theme="auto"` into light or dark: then the reader's system
    decides.
    """
    words = Words(pages)
    rules: list[str] = []
    for path, text in sheets.items():
        parsed = tinycss2.parse_stylesheet(_relocated(text, path, folder), True, True)
        rules += _used(parsed, words)
    return _without_unused(rules, words.read)


def _relocated(text: str, sheet: str, folder: str) -> str:
    """The sheet with its addresses as they are seen from another folder."""

    def moved(found: re.Match[str]) -> str:
        path, mark, rest = found["path"].partition("?")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(sheet), path))
        return f'url("{posixpath.relpath(there, folder)}{mark}{rest}")'

    return URL.sub(moved, text)


def _used(rules: list[Any], words: Words) -> Iterator[str]:
    for rule in rules:
        if isinstance(rule, QualifiedRule):
            selectors = [s for s in _split(rule.prelude) if words.reach(s)]
            if selectors:
                yield from _rule([_text(s) for s in selectors], _text(rule.content))
        elif isinstance(rule, AtRule) and rule.content is None:
            if rule.lower_at_keyword != "charset":
                yield f"@{rule.at_keyword} {_text(rule.prelude)};"
        elif isinstance(rule, AtRule) and rule.lower_at_keyword in (
            "media",
            "supports",
            "layer",
            "container",
        ):
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            if kept := "".join(_used(inner, words)):
                yield f"@{rule.at_keyword} {_text(rule.prelude)}{{{kept}}}"
        elif isinstance(rule, AtRule):
            yield f"@{rule.at_keyword} {_text(rule.prelude)}{{{_squeezed(_text(rule.content))}}}"


def _rule(selectors: list[str], content: str) -> Iterator[str]:
    """The rule; for one on a scheme, once more for a page whose scheme no script has set.

    Paper is white: what is dark is for screens, and prints are light whatever the page was.
    """
    content = _squeezed(content)
    of_scheme = {
        scheme: [s for s in selectors if (m := SCHEME.search(s)) and m["scheme"] == scheme]
        for scheme in ("light", "dark")
    }
    if always := [s for s in selectors if s not in of_scheme["dark"]]:
        yield f"{','.join(always)}{{{content}}}"
    if dark := of_scheme["dark"]:
        unset = ",".join(SCHEME.sub('html[data-theme="auto"]', s) for s in dark)
        yield (
            f"@media screen{{{','.join(dark)}{{{content}}}"
            f"@media (prefers-color-scheme:dark){{{unset}{{{content}}}}}}}"
        )
    if light := of_scheme["light"]:
        unset = ",".join(SCHEME.sub('html[data-theme="auto"]', s) for s in light)
        printed = ",".join(SCHEME.sub("html[data-theme]", s) for s in light)
        yield (
            f"@media (prefers-color-scheme:light){{{unset}{{{content}}}}}"
            f"@media print{{{printed}{{{content}}}}}"
        )


def _split(prelude: list[Any]) -> list[list[Any]]:
    parts: list[list[Any]] = [[]]
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _text(tokens: list[Any]) -> str:
    return tinycss2.serialize(tokens).strip()


def _squeezed(declarations: str) -> str:
    kept = []
    for one in tinycss2.parse_blocks_contents(declarations, True, True):
        if isinstance(one, Declaration):
            important = "!important" if one.important else ""
            kept.append(f"{one.name}:{_text(one.value)}{important}")
        else:
            kept.append(one.serialize())
    return ";".join(kept)


def _without_unused(rules: list[str], read: set[str]) -> str:
    """Without variables that no rule reads, movements that none names, fonts that none asks for."""
    text = "".join(rules)
    shorter = ""
    while shorter != text:
        shorter, text = text, _without_unread(text, read)
    for name in set(re.findall(r"@(?:-webkit-)?keyframes ([\w-]+)", text)):
        if not re.search(rf"animation[^;}}]*[:\s,]{re.escape(name)}\b", text):
            text = re.sub(
                rf"@(?:-webkit-)?keyframes {re.escape(name)}\{{(?:[^{{}}]*\{{[^{{}}]*\}})*\}}",
                "",
                text,
            )
    return re.sub(
        r"@font-face ?\{[^{}]*?font-family:\s*[\"']?(Font ?Awesome[^;\"'}]*)[^{}]*\}", "", text
    )


def _without_unread(text: str, read: set[str]) -> str:
    """Without variables that nothing reads, and rules that are then empty."""
    read = read | set(READ.findall(text))
    text = re.sub(
        rf"(?<=[{{;])(--[\w-]+):{VALUE}(?:;|(?=\}}))",
        lambda found: found[0] if found[1] in read else "",
        text,
    )
    text = re.sub(r"(?:(?<=[{}])|^)[^{}@]+\{;*\}", "", text)
    return re.sub(r"@(?:media|supports|container)[^{}]*\{\}", "", text)
