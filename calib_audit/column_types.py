"""The contents of a column's cells: texts, numbers, dates, or nothing.

Where few values come up again and again, each is held once, with which row has which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from calib_audit.formatting import printable
from calib_utils.predictions.labels import is_none

WRITE_NUMBERS = (
    "write numbers with a point, such as 0.5, and thousands without a mark, such as 1200"
)
_MISSING = {"", "na", "n/a", "nan", "none", "null", "nat", "<na>"}
_WHOLE = re.compile(r"(-?\d+)\.0*")  # a whole number, written as a float
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d([.,]\d+)?)?)?)?)?)?(Z|[+-]\d\d:?\d\d)?")
_MOMENT = re.compile(  # and a time zone, which is dropped
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?"
)
_SHORTEST = {"Y": "2026", "M": "2026-01"}  # the shortest form of a date, by the unit
_WIDEST = 10_000  # range of whole numbers that are told apart without sorting them


class Coded:
    """A column whose text is looked at once for each value, and not once for each row.

    Attributes:
        values: (m,), of which each occurs.
        codes: intp, (n,), the place of each row's value among them.
    """

    def __init__(self, values: np.ndarray, codes: np.ndarray):
        self.values, self.codes = values, codes

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> Coded:
        return occurring(self.values, self.codes[rows])


def occurring(values: np.ndarray, codes: np.ndarray) -> Coded:
    """A column without the values that no row has."""
    used = np.bincount(codes, minlength=len(values)) > 0
    if used.all():
        return Coded(values, codes)
    return Coded(values[used], (np.cumsum(used) - 1)[codes])


def coded(values: np.ndarray) -> Coded:
    """A column of whole numbers, truth values or times."""
    whole = values.view(np.int64) if values.dtype.kind == "M" else values.astype(np.intp)
    low, high = int(whole.min()), int(whole.max())
    if high - low >= _WIDEST:
        return Coded(*np.unique(values, return_inverse=True))
    between, codes = (low + np.arange(high - low + 1)).astype(values.dtype), whole - low
    return Coded(between, codes) if len(between) < 3 else occurring(between, codes)


def by_value(
    function: Callable[[np.ndarray, np.ndarray], np.ndarray], column: Any, places: np.ndarray
) -> Any:
    """What ``function`` makes of a column: of each row of an array, of each value if it is `Coded`.

    Args:
        function: takes values and the numbers of the rows in which they stand.
        column: (n,).
        places: (n,), the numbers of the rows.
    """
    if not isinstance(column, Coded):
        return function(column, places)
    try:
        return Coded(function(column.values, places[: len(column.values)]), column.codes)
    except ValueError:  # which names the first row that has a value
        first = np.empty(len(column.values), np.intp)
        first[column.codes[::-1]] = np.arange(len(column))[::-1]
        return Coded(function(column.values, places[first]), column.codes)


def as_array(column: Any) -> np.ndarray:
    """A column with a value in each row."""
    return column.values[column.codes] if isinstance(column, Coded) else column


def as_coded(column: Any) -> Coded:
    """A column of which each value is held once."""
    if not isinstance(column, Coded):
        return Coded(*np.unique(column, return_inverse=True))
    values, codes = np.unique(column.values, return_inverse=True)
    return column if len(values) == len(codes) else Coded(values, codes[column.codes])


def crossed(columns: Sequence[Coded]) -> Coded:
    """The cells that the values of several columns make, named such as "north, blue"."""
    first, *others = columns
    for other in others:
        codes, place = np.unique(
            first.codes * max(len(other.values), 1) + other.codes, return_inverse=True
        )
        one, two = np.divmod(codes, max(len(other.values), 1))
        pairs = zip(first.values[one], other.values[two], strict=True)
        first = Coded(np.array([f"{a}, {b}" for a, b in pairs], str), place)
    return first


def check_flat(column: Any, name: str) -> None:
    """Raise a ValueError if cells have several values, such as lists of a class each."""
    cells = column.values if isinstance(column, Coded) else column
    kinds = set(map(type, cells)) if cells.dtype.kind == "O" else set()
    nested = any(hasattr(kind, "__len__") and not issubclass(kind, (str, bytes)) for kind in kinds)
    if cells.ndim > 1 or cells.dtype.names or nested:
        raise ValueError(
            f"{name}: expected one value in each row, found several; give a column for each class, "
            "or for each value"
        )


def texts_of(values: np.ndarray) -> np.ndarray:
    """Values as printable text without surrounding spaces; what is not text as `name_of` has it."""
    if values.dtype.kind == "O":
        typed = np.array([not isinstance(value, str) for value in values], bool)
    else:
        typed = np.full(len(values), values.dtype.kind not in "US")
    texts = np.datetime_as_string(values) if values.dtype.kind == "M" else values.astype(str)
    found, inverse = np.unique(texts, return_inverse=True)  # often few
    found = np.array([printable(text).strip() for text in found], str)
    if not typed.any():
        return found[inverse.ravel()]
    return np.where(typed, names_of(found)[inverse.ravel()], found[inverse.ravel()])


def _each(rewritten: Callable[[str], str], texts: np.ndarray) -> np.ndarray:
    """Texts, each value of which is rewritten once."""
    found, inverse = np.unique(texts, return_inverse=True)
    return np.array([rewritten(text) for text in found.tolist()], str)[inverse.ravel()]


def without_point(texts: np.ndarray) -> np.ndarray:
    """Texts, of which "1.0" becomes "1"."""
    return _each(_bare, texts)


def _bare(text: str) -> str:
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def names_of(texts: np.ndarray) -> np.ndarray:
    """Texts, each as `name_of` has it."""
    return _each(name_of, texts)


def name_of(text: str) -> str:
    """One spelling for what Python, a text file and a database write differently: True or true, 1.0
    or 1, 2026-01-31T00:00:00.000 or 2026-01-31. Of what is text in Python it is no name.
    """
    if text in ("true", "false"):
        return text.capitalize()
    if moment := _MOMENT.fullmatch(text):
        day, minute, second, fraction = moment.groups(default="")
        clock = f"{minute}{second or ':00'}.{fraction}".rstrip("0").rstrip(".")
        return day if clock == "00:00:00" else f"{day} {clock}"
    return _bare(text)


def is_missing(values: np.ndarray | Coded, words: bool = True) -> np.ndarray:
    """Which cells are empty.

    Args:
        values: (n,), of any type.
        words: whether a text such as "NA" says that there is no value, as in a column of numbers,
            or in a text file.
    """
    if isinstance(values, Coded):
        of_values = is_missing(values.values, words)
        return of_values[values.codes] if of_values.any() else np.zeros(len(values), bool)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    if values.dtype.kind == "O":
        none = np.array([not isinstance(value, str) and is_none(value) for value in values], bool)
    else:
        none = np.zeros(len(values), bool)
    if values.dtype.kind in "OUS":
        empty = _MISSING if words else {""}
        none |= np.array([str(value).strip().lower() in empty for value in values], bool)
    return none


def numbers_of(values: np.ndarray, name: str, places: np.ndarray) -> np.ndarray:
    """Finite numbers from a column of any type."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64, copy=False)
    elif values.dtype.kind in "cmM":
        raise ValueError(f"{name}: expected numbers, found {values.dtype}; give numbers")
    else:
        try:
            numbers = values.astype(np.float64)
        except (ValueError, TypeError):
            row = next(i for i, value in enumerate(values) if not is_number(value))
            text = str(values[row])
            advice = f"give a number for each word, such as 0.9 for {printable(text)!r}"
            if "%" in text:
                advice = "give probabilities from 0 to 1, without a percent sign"
            elif is_number(re.sub(r"[.,\s]", "", text)):
                advice = WRITE_NUMBERS
            raise ValueError(
                f"{name}: expected numbers, found {text[:60]!r} in row {places[row]:,}; {advice}"
            ) from None
    if numbers.size and not (np.isfinite(numbers.min()) and np.isfinite(numbers.max())):
        row = int(np.argmin(np.isfinite(numbers)))
        bounded = ", or give probabilities, where 0 and 1 are allowed"
        raise ValueError(
            f"{name}: expected finite numbers, found {numbers[row]} in row {places[row]:,}; "
            f"leave such rows out{bounded if np.isinf(numbers[row]) else ''}"
        )
    return numbers


def float_type(columns: Iterable[np.ndarray | Coded]) -> str:
    """The type of the numbers in all columns: "float16", "float32", or "float64" for any other."""
    kinds = {(each.values if isinstance(each, Coded) else each).dtype for each in columns}
    if any(kind.kind != "f" for kind in kinds):
        return "float64"
    name = np.result_type(*kinds).name
    return name if name in ("float16", "float32") else "float64"


def is_number(value: Any) -> bool:
    """Whether a cell contains a number."""
    try:
        float(value)
    except (ValueError, TypeError):
        return False
    return True


def times_of(values: np.ndarray, places: np.ndarray, name: str, unit: str) -> np.ndarray:
    """Dates, in the unit that was asked for."""
    if values.dtype.kind == "M":
        times = values
    else:
        texts = [str(value).strip() for value in values]
        shortest = _SHORTEST.get(unit, "2026-01-31")
        # A time zone is dropped: each row counts by the clock time that it shows.
        known = {text: _as_time(text, len(shortest)) for text in set(texts)}
        row = next((i for i, text in enumerate(texts) if known[text] is None), None)
        if row is not None:
            raise ValueError(
                f"{name}: expected dates such as {shortest}, found {texts[row][:60]!r} in "
                f"row {places[row]:,}"
            )
        times = np.array([known[text] for text in texts], "datetime64[s]")
    return in_spans(times, unit)


def in_spans(times: np.ndarray, unit: str) -> np.ndarray:
    """Times, rounded down to the unit. A week begins on its Monday, and not on NumPy's Thursday."""
    if unit != "W":
        return times.astype(f"datetime64[{unit}]")
    days = times.astype("datetime64[D]")
    return days - (days.astype(np.int64) + 3) % 7


def _as_time(text: str, shortest: int) -> np.datetime64 | None:
    """None if it is not a date: NumPy would take 20260131, or seconds, for a year."""
    if len(text) < shortest or not _DATE.fullmatch(text):
        return None
    try:
        return np.datetime64(text[:19], "s")
    except ValueError:
        return None


def weights_of(values: np.ndarray, name: str, places: np.ndarray) -> np.ndarray:
    """Numbers of 0 or more."""
    weights = numbers_of(values, name, places)
    below = weights < 0
    if below.any():
        row = int(below.argmax())
        raise ValueError(
            f"{name}: expected weights of 0 or more, found {weights[row]:g} in row {places[row]:,}"
        )
    return weights
