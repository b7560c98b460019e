"""Sentences that are shown only if the numbers support them."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from numbers import Real
from types import FrameType

from calib_utils.comparing.tables import Markdown

_STRICT = "CALIB_CLAIMS"
_NOTE = "was written for the original values, and with yours it no longer holds"
_READABLE = 40  # letters of code; a longer expression tells a reader nothing


class ClaimError(AssertionError):
    """A claim does not hold, in a run that this must stop.

    Example:
        >>> import os
        >>> from unittest.mock import patch
        >>> with patch.dict(os.environ, CALIB_CLAIMS="strict"):
        ...     claim(0.7 > 0.8, "The network is overconfident.")
        Traceback (most recent call last):
            ...
        calib_utils.comparing.claims.ClaimError: The network is overconfident.
    """


def claim(condition: bool, sentence: str = "", *, about: str = "") -> Markdown | None:
    """Show a sentence if its condition holds, and otherwise a note that it does not.

    A text about numbers is true of the numbers that it was written for. When someone changes a
    value and runs it again, a claim notices and tells them what the numbers are now, and it does
    not stop them. Where the environment variable ``CALIB_CLAIMS`` is "strict", as it is while a
    report is built, it raises an error instead.

    Args:
        condition: whether the numbers support the sentence.
        sentence: in Markdown; without one, the claim is about the text around it.
        about: words of that text, which the note quotes.

    Returns:
        The sentence; None if there is none and the condition holds; or the note.

    Raises:
        ClaimError: if the condition does not hold and ``CALIB_CLAIMS`` is "strict".

    Example:
        >>> claim(0.85 > 0.8, "The network is overconfident.")
        The network is overconfident.
    """
    if condition:
        return Markdown(sentence) if sentence else None
    if os.environ.get(_STRICT) == "strict":
        raise ClaimError(sentence or about or "the text around this line does not hold")
    try:
        now = "; ".join(_values_now(sys._getframe(1)))
    except Exception:  # a note may be incomplete, but it must not stop a reader
        now = ""
    note = f'"{about}" {_NOTE}.' if about else f"The text {_NOTE}."
    note += f" With your values: {now}." if now else ""
    return Markdown(f"*{note}*" + (f" It said: {sentence}" if sentence else ""))


def _values_now(frame: FrameType) -> Iterator[str]:
    """The numbers that the failing parts of a condition compare, by their code."""
    source = "".join(linecache.getlines(frame.f_code.co_filename))
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == claim.__name__
        and node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno)
    ]

    def value(node: ast.expr) -> object:
        code = compile(ast.Expression(node), "<claim>", "eval")
        return eval(code, frame.f_globals, frame.f_locals)

    seen = set()
    for part in _parts(calls[-1].args[0]):
        if value(part):
            continue
        sides: list[ast.expr] = []
        if isinstance(part, ast.Compare):
            sides = [part.left, *part.comparators]
        elif isinstance(part, ast.Call):  # such as np.isclose(ece, 0.07)
            sides = part.args
        for side in sides:
            text = ast.unparse(side)
            named = any(isinstance(node, ast.Name) for node in ast.walk(side))
            told = named and text not in seen and len(text) <= _READABLE
            if told and isinstance(now := value(side), Real):
                seen.add(text)
                yield f"`{text}` is {float(now):.3g}"


def _parts(condition: ast.expr) -> Iterator[ast.expr]:
    """What a condition joins by "and"."""
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        for part in condition.values:
            yield from _parts(part)
    else:
        yield condition
