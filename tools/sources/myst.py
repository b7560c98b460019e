"""The part of MyST Markdown that the course uses: directives, code fences and the text between.

It is read by the libraries that read it for the page: markdown-it-py and myst-parser.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from docutils.parsers.rst.directives.misc import TestDirective
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

from tools.sources.errors import MystError

CONFIG = MdParserConfig(enable_extensions={"colon_fence", "dollarmath"})
MARKDOWN = create_md_parser(CONFIG, RendererHTML)
# Where blocks begin and end is all that is asked.
MARKDOWN.core.ruler.enableOnly(["normalize", "block"])


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
    text: str = field(default="", compare=False)  # all of it, as it is written
    line: int = field(default=0, compare=False)  # where it begins in what was parsed, from 1

    def __str__(self) -> str:
        return f"{{{self.name}}} {self.argument}".strip()

    @property
    def is_dropdown(self) -> bool:
        return "dropdown" in self.options.get("class", "").split()


def parse(markdown: str) -> Iterator[Text | Code | Directive]:
    """Split Markdown into text, code fences and directives, in order.

    Raises:
        MystError: A fence is never closed or stands inside a list or a quote, or options that
            cannot be read.
    """
    lines = markdown.split("\n")
    done = 0
    for token in MARKDOWN.parse(markdown + "\n"):
        if token.type not in ("fence", "colon_fence") or token.map is None:
            continue
        start, end = token.map
        opening = lines[start].strip()
        name, _, argument = token.info.strip().partition(" ")
        is_directive = name.startswith("{") or token.type == "colon_fence"
        if token.level:
            if is_directive:
                raise MystError(f"`{opening}`: a directive begins at the start of its line")
            continue  # code in a list is part of the text
        # At the end of the text, markdown-it closes a fence by itself.
        if end - start != token.content.count("\n") + 2:
            raise MystError(f"`{opening}` is never closed: end it with `{token.markup}`")
        if is_directive and not (name.startswith("{") and name.endswith("}")):
            raise MystError(f"`{opening}`: write a directive as `{token.markup}{{name}} argument`")
        if done < start:
            yield Text("\n".join(lines[done:start]))
        if is_directive:
            block = _directive(name[1:-1], argument.strip(), token)
            block.text, block.line = "\n".join(lines[start:end]), start + 1
            yield block
        else:
            yield Code("\n".join(lines[start:end]))
        done = end
    if done < len(lines):
        yield Text("\n".join(lines[done:]))


def _directive(name: str, argument: str, token: Token) -> Directive:
    # A fence that begins with another one: its colons are no option.
    content = f"\n{token.content}" if token.content.startswith(":::") else token.content
    # TestDirective takes all options, as they are written; myst-nb reads those of a cell as YAML.
    found = parse_directive_text(
        TestDirective, argument, content, validate_options=name != "code-cell"
    )
    block = Directive(name, argument, "\n".join(found.body).strip("\n"), found.options)
    if found.warnings:
        raise MystError(f"{block}: {found.warnings[0].msg}")
    return block
