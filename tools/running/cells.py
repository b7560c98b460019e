"""Run the cells of a page of text: `python -m tools.running.cells book/NAME.md TARGET`.

Such a page reads files of the repository, so it is no notebook for Colab. Its cells run one after
another, and the page shows what the last line of each gives, a table or a sentence, and no code. A
claim that does not hold stops the build, as in a chapter.
"""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

from calib_utils._files import write_text
from tools.sources.myst import Directive, MystError, naming, parse


def shown(page: Path) -> str:
    """The page's Markdown, with the result of each cell in its place.

    Raises:
        MystError: a cell ends with something else than a table or a sentence, or it makes a table
            and has no name and caption for it.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    return "\n".join(
        _result(block, page, names)
        if isinstance(block, Directive) and block.name == "code-cell"
        else block.text
        for block in parse(page.read_text("utf-8"))
    )


def _result(cell: Directive, page: Path, names: dict[str, Any]) -> str:
    """What a cell shows: nothing where its last line is no expression, or gives None."""
    body = ast.parse(cell.body, str(page)).body
    # An error names the line of the page.
    first = cell.line + cell.text.count("\n") - cell.body.rstrip("\n").count("\n") - 1
    for line in body:
        ast.increment_lineno(line, first - 1)
    last = body[-1] if body else None
    if not isinstance(last, ast.Expr):
        exec(compile(ast.Module(body, []), page, "exec"), names)
        return ""
    exec(compile(ast.Module(body[:-1], []), page, "exec"), names)
    found = eval(compile(ast.Expression(last.value), page, "eval"), names)
    if found is None:
        return ""
    table = cell.options.get("mystnb", {}).get("table", {})
    if not hasattr(found, "_repr_markdown_"):
        raise MystError(
            f"line {last.lineno}: end a cell with `table` or `claim`, not {found!r:.40}"
        )
    text = found._repr_markdown_()
    if text.startswith("| ") != bool(table.get("name") and table.get("caption")):
        raise MystError(f"line {last.lineno}: a table, and nothing else, has a name and a caption")
    if not table:
        return text
    head = [f":::{{table}} {table['caption']}", f":name: {table['name']}"]
    head += [f":class: {table['class']}"] if "class" in table else []
    return "\n".join([*head, "", text, ":::"])


if __name__ == "__main__":
    os.environ["CALIB_CLAIMS"] = "strict"
    source, target = map(Path, sys.argv[1:])
    with naming(str(source.with_suffix(""))):
        write_text(target, shown(source))
