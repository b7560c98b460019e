"""How the report writes numbers, with as many digits as are worth reading, and given text."""

from __future__ import annotations

import re

import numpy as np

# Control characters (ESC among them), line ends, and marks that reverse the direction of writing.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_MINUS, _SPACE = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"


def points(value: float) -> str:
    """A share in percentage points, such as 2.3, and with two digits if it is small."""
    return _written(100 * value, 1)


def signed_points(value: float) -> str:
    """A difference in percentage points, with its sign."""
    return ("+" if value > 0 else "") + points(value)


def percent(value: float) -> str:
    """A share in percent."""
    return f"{points(value)}{_SPACE}%"


def number(value: float, digits: int = 2) -> str:
    """A number with ``digits`` digits after the point, and more if it is small."""
    return _written(value, digits)


def distinct(one: float, other: float) -> tuple[str, str]:
    """Two numbers with three digits after the point, or with as many as tell them apart."""
    digits = 3
    while digits < 8 and number(one, digits) == number(other, digits):
        digits += 1
    return number(one, digits), number(other, digits)


def _written(value: float, digits: int) -> str:
    if not np.isfinite(value):
        return "unknown" if np.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"
    if 0 < abs(value) < 1e-12:
        return "0"  # a rounding error
    if 0 < abs(value) < 10.0 ** (1 - digits):  # keep two significant digits
        digits = min(8, 1 - int(np.floor(np.log10(abs(value)))))
    text = f"{value:.{digits}f}"
    if "-" in text and not text.strip("-0."):
        text = text.strip("-")
    return text.replace("-", _MINUS)


def two_digits(n: float) -> int:
    """A number of rows of which no more is known."""
    return int(round(n, min(2 - len(str(int(n))), 0)))


def counted_rows(n: int, one: str = "", many: str = "") -> str:
    """How many rows, and what follows if it is one, and if it is not."""
    return f"1 row{one}" if n == 1 else f"{n:,} rows{many}"


def printable(text: str) -> str:
    """The text without control characters, with a space in place of each that is white space."""
    return _CONTROL.sub(lambda found: " " if found[0].isspace() else "", text)
