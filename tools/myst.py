"""The part of MyST Markdown that the course uses: directives, code fences and the text between.

A directive is a fence of backticks or colons with a name in braces. Directives nest; code
fences do not, and nothing inside them is MyST.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import yaml

FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,}|:{3,})(?P<info>.*)$")
DIRECTIVE = re.compile(r"^\{(?P<name>[\w:-]+)\}[ \t]*(?P<argument>.*)$")
OPTION = re.compile(r"^:(?P<key>[\w-]+):[ \t]*(?P<value>.*)$")


class MystError(ValueError):
    """A source says something that the pipeline cannot turn into a notebook or a page."""


@contextmanager
def naming(page: str) -> Iterator[None]:
    """Put the file's name before the message of an error."""
    try:
        yield
    except MystError as error:
        raise MystError(f"{page}.md: {error}") from None


@dataclass
class Text:
    """Lines outside every fence."""

    text: str


@dataclass
class Code:
    """A plain code fence, kept as it is."""

    text: str


@dataclass
class Directive:
    """A fence such as ``:::{note}``, its options taken out of the body."""

    name: str
    argument: str
    body: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def is_dropdown(self) -> bool:
        return "dropdown" in self.options.get("class", "").split()


def parse(markdown: str) -> Iterator[Text | Code | Directive]:
    """Split Markdown into text, code fences and directives, in order.

    Raises:
        MystError: A fence is never closed.
    """
    lines = markdown.split("\n")
    text: list[str] = []
    position = 0
    while position < len(lines):
        opening = FENCE.match(lines[position])
        if opening is None:
            text.append(lines[position])
            position += 1
            continue
        end = _closing_line(lines, position, opening["fence"])
        if text:
            yield Text("\n".join(text))
            text = []
        head = DIRECTIVE.match(opening["info"].strip())
        if head is None:
            yield Code("\n".join(lines[position : end + 1]))
        else:
            options, body = _options_and_body(lines[position + 1 : end])
            yield Directive(head["name"], head["argument"].strip(), body, options)
        position = end + 1
    if text:
        yield Text("\n".join(text))


def _closing_line(lines: list[str], start: int, fence: str) -> int:
    """Find the line that closes a fence: the first one at least as long, of the same sign."""
    closing = re.compile(rf"^{re.escape(fence[0])}{{{len(fence)},}}\s*$")
    for number in range(start + 1, len(lines)):
        if closing.match(lines[number]):
            return number
    raise MystError(f"`{lines[start]}` is never closed: end it with `{fence}`")


def _options_and_body(lines: list[str]) -> tuple[dict[str, Any], str]:
    if lines and lines[0] == "---" and "---" in lines[1:]:
        end = lines.index("---", 1)
        body = "\n".join(lines[end + 1 :]).strip("\n")
        return yaml.safe_load("\n".join(lines[1:end])) or {}, body
    options: dict[str, Any] = {}
    while lines and (option := OPTION.match(lines[0])):
        if option["value"].strip() in (">", ">-", "|", "|-"):
            raise MystError(f"`{lines[0]}`: write options of several lines between `---` lines")
        options[option["key"]] = option["value"].strip()
        lines = lines[1:]
    return options, "\n".join(lines).strip("\n")
