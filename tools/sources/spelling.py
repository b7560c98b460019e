"""American spellings in prose, by codespell's list, for the report of `make lint`.

What codespell or this takes for wrong, and is not, is in `tools/sources/words.txt`.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from tools.sources.myst import Code, Directive, parse

ROOT = Path(__file__).parents[2]
WORDS = ROOT / "tools/sources/words.txt"
PROSE = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "docs/reference")),
    *sorted((ROOT / "book").rglob("*.md")),
    *sorted((ROOT / "notebooks").rglob("*.md")),
    *sorted((ROOT / "classroom/assignments").glob("*/*.md")),
]
PYTHON = [
    path
    for folder in ("calib_utils", "tools", "benchmarks", "book")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
# Code, formulas, roles, addresses: what is not prose in a line of text.
NO_PROSE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|``.*?``|(?::math:)?`[^`]*`|\w+://\S+|\(#?[\w./-]+\)=?", re.DOTALL
)
# The settings of a notebook; in a docstring examples, names of arguments, and titles of papers.
HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
NO_DOC = re.compile(r'^ *(?:>>>|\.\.\.|\.\. math::).*$|^ *\w+:|"[^"]*"', re.MULTILINE)
WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def allowed() -> set[str]:
    lines = (line.partition("#")[0].strip() for line in WORDS.read_text("utf-8").splitlines())
    return {line for line in lines if line}


@functools.cache
def american() -> dict[str, str]:
    """American spellings, each with the British one."""
    data = resources.files("codespell_lib") / "data/dictionary_en-GB_to_en-US.txt"
    pairs = [line.split("->") for line in data.read_text("utf-8").splitlines() if "->" in line]
    british = {one for one, _ in pairs}
    found = {us.strip(" ,"): one for one, all_of_it in pairs for us in all_of_it.split(",")}
    return {us: one for us, one in found.items() if us and us not in british | allowed()}


def prose(markdown: str) -> str:
    """The text of a page without its code."""
    said = []
    for block in parse(HEAD.sub("", markdown)):
        if isinstance(block, Directive):
            if block.name in ("code-cell", "math", "eval-rst", "raw"):
                options = block.options.get("mystnb", {})
                said += [str(options.get("figure", "")), str(options.get("image", ""))]
                said += [str(options.get("table", ""))]
            else:
                said += [block.argument, str(block.options.get("alt", "")), prose(block.body)]
        elif not isinstance(block, Code):
            said.append(block.text)
    return NO_PROSE.sub(" ", "\n".join(said))


def docstrings(code: str) -> str:
    """What the docstrings of a module say, without their examples."""
    named = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    said = (
        ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(code))
        if isinstance(node, named)
    )
    return NO_PROSE.sub(" ", NO_DOC.sub(" ", "\n".join(said)))


def foreign(text: str) -> dict[str, str]:
    spelled = american()
    return {word: spelled[word.lower()] for word in WORD.findall(text) if word.lower() in spelled}


def american_words() -> Iterator[str]:
    """A line for each file with some, with the British spellings."""
    for path in (*PROSE, *PYTHON):
        text = path.read_text("utf-8")
        if found := foreign(docstrings(text) if path.suffix == ".py" else prose(text)):
            said = ", ".join(f"{us}: {british}" for us, british in sorted(found.items()))
            yield f"{path.relative_to(ROOT)}: {said}"
