"""Sentences that say only what the numbers support."""

from __future__ import annotations

import os

from calib_utils.report.tables import Markdown

__all__ = ["ClaimError", "claim"]

_STRICT = "CALIB_CLAIMS"
_NOTE = "Written for the original values; with yours it no longer holds"


class ClaimError(AssertionError):
    """A claim does not hold, where that must stop the run.

    Example:
        >>> import os
        >>> from unittest.mock import patch
        >>> with patch.dict(os.environ, CALIB_CLAIMS="strict"):
        ...     claim(0.7 > 0.8, "The network promises more than it keeps.")
        Traceback (most recent call last):
            ...
        calib_utils.report.claims.ClaimError: The network promises more than it keeps.
    """


def claim(condition: bool, sentence: str = "") -> Markdown | None:
    """Show a sentence if its condition holds, and otherwise say that it does not.

    A text that speaks of numbers is true of the numbers it was written for. When someone changes
    a value and runs it again, a claim takes notice, and does not stop them. Where the environment
    variable ``CALIB_CLAIMS`` is "strict", as while a report is built, it raises instead.

    Args:
        condition: whether the numbers support the sentence.
        sentence: in Markdown; without one, the claim is the text around it.

    Returns:
        The sentence; None if there is none and the condition holds; or the note.

    Raises:
        ClaimError: if the condition does not hold and ``CALIB_CLAIMS`` is "strict".

    Example:
        >>> claim(0.85 > 0.8, "The network promises more than it keeps.")
        The network promises more than it keeps.
    """
    if condition:
        return Markdown(sentence) if sentence else None
    if os.environ.get(_STRICT) == "strict":
        raise ClaimError(sentence or "what the text around this line says does not hold")
    if sentence:
        return Markdown(f"*({_NOTE}:* {sentence} *)*")
    return Markdown(f"*({_NOTE}: the text around this cell.)*")
