"""Where no line may break: between a number and its unit, or what it is the number of."""

from __future__ import annotations

import re

UNITS = "ms|s|min|kB|MB|GB"
BEFORE_UNIT = re.compile(rf"(?<=\d) ?(?=%(?!\w))|(?<=\d) (?=(?:{UNITS})\b)")

# ResNet-34, but not 1e-9; T = 1.2; at T; 2 + 6; Chapter 2; part II.
NAME_AND_NUMBER = re.compile(r"(?<=[A-Za-z]-)(?<!\de-)(?=\d)")
SIGN_AND_VALUE = re.compile(r"(?<=\b[A-Za-z]) = (?=[\d\N{MINUS SIGN}])")
AT_VALUE = re.compile(r"\b([Aa]t) (?=T\b)")
SUM = re.compile("(?<=\\d)\\s([+\N{MINUS SIGN}\N{MULTIPLICATION SIGN}\N{MIDDLE DOT}])\\s(?=\\d)")
KIND_AND_NUMBER = re.compile(
    r"\b(Chapter|Definition|Exercise|Figure|Proposition|Table) (?=\d)|\b([Pp]art) (?=I+\b)"
)


def with_units_kept(text: str) -> str:
    """The text with a no-break space between each number and per cent, or another unit."""
    return BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)


def with_numbers_kept(text: str) -> str:
    """So, too, with a name and its number, a letter and its value, and a sum: each in one line."""
    kept = NAME_AND_NUMBER.sub("\N{WORD JOINER}", with_units_kept(text))
    kept = SUM.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", kept)
    kept = SIGN_AND_VALUE.sub("\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}", kept)
    kept = AT_VALUE.sub("\\1\N{NO-BREAK SPACE}", kept)
    return KIND_AND_NUMBER.sub("\\1\\2\N{NO-BREAK SPACE}", kept)
