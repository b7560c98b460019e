"""The prose of a chapter, and the questions it asks."""

from __future__ import annotations

import re

from tools.sources.myst import Directive, Text, parse
from tools.sources.questions import Question, read_question


def plain(markdown: str) -> str:
    """Text as a reader sees it, a letter for each formula."""
    text = re.sub(r"(?s)\$\$.*?\$\$", " ", re.sub(r"<!--.*?-->", " ", markdown))
    text = re.sub(r"(?m)^(\|.*|#+ .*|\([a-z0-9-]+\)=\s*)$", " ", text)
    text = re.sub(r"\{[a-z:]+\}`([^`<]*)(?:<[^`]*>)?`", r"\1", text)
    return re.sub(r"[*_`\[\]]", "", re.sub(r"\$[^$]*\$", "x", text))


def parts(markdown: str) -> tuple[str, str, str]:
    """What runs on from paragraph to paragraph, then boxes and exercises, then captions."""
    text, boxes, captions = [], [], []
    for block in parse(markdown):
        if isinstance(block, Text):
            text.append(re.sub(r"(?s)\A---.*?\n---\n", "", block.text))
        elif isinstance(block, Directive) and block.name == "code-cell":
            shown = block.options.get("mystnb", {})
            captions += [shown[kind]["caption"] for kind in ("figure", "table") if kind in shown]
        elif isinstance(block, Directive) and block.name not in ("math", "raw"):
            boxes.append(block.body)
    return plain("\n\n".join(text)), plain("\n\n".join(boxes)), plain("\n\n".join(captions))


def asked(markdown: str) -> list[Question]:
    """The questions of a page, in order."""
    return [
        read_question(block.body)
        for block in parse(markdown)
        if isinstance(block, Directive) and block.name == "question"
    ]
