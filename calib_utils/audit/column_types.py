"""The contents of a column's cells: texts, numbers, dates, or nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from calib_utils.audit.coded import Coded
from calib_utils.audit.columns import Columns
from calib_utils.audit.printable import printable

__all__ = [
    "float_type",
    "is_missing",
    "is_number",
    "numbers_of",
    "texts_of",
    "times_of",
    "weights_of",
]

_MISSING = {"", "na", "n/a", "nan", "none", "null", "nat", "<na>"}
_WHOLE = re.compile(r"(-?\d+)\.0*")  # a whole number, written as a float
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ]\d\d(:\d\d(:\d\d([.,]\d+)?)?)?)?)?)?(Z|[+-]\d\d:?\d\d)?")
_SHORTEST = {"Y": "2026", "M": "2026-01"}  # the shortest form of a date, by the unit


def texts_of(values: np.ndarray) -> np.ndarray:
    """Values as printable text without surrounding spaces; 1.0 becomes 1."""
    if values.dtype.kind == "M":
        values = np.datetime_as_string(values)
    found, inverse = np.unique(values.astype(str), return_inverse=True)  # often few
    texts = [printable(text).strip() for text in found]
    whole = (_WHOLE.fullmatch(text) for text in texts)
    texts = [number[1] if number else text for text, number in zip(texts, whole, strict=True)]
    return np.array(texts, str)[inverse.ravel()]


def is_missing(values: np.ndarray | Coded) -> np.ndarray:
    """Which cells are empty, or contain a word for a missing value."""
    if isinstance(values, Coded):
        of_values = is_missing(values.values)
        return of_values[values.codes] if of_values.any() else np.zeros(len(values), bool)
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "M":
        return np.isnat(values)
    if values.dtype.kind in "OUS":
        return np.array([str(value).strip().lower() in _MISSING for value in values], bool)
    return np.zeros(len(values), bool)


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
            advice = "give numbers"
            if "%" in text:
                advice = "give probabilities from 0 to 1, without a percent sign"
            elif "," in text and is_number(text.replace(",", ".")):
                advice = "write numbers with a point, such as 0.5"
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


def times_of(values: np.ndarray, columns: Columns, places: np.ndarray) -> np.ndarray:
    """Dates, in the unit that was asked for."""
    if values.dtype.kind == "M":
        times = values
    else:
        texts = [str(value).strip() for value in values]
        shortest = _SHORTEST.get(columns.unit, "2026-01-31")
        # A time zone is dropped: each row counts by the clock time that it shows.
        known = {text: _as_time(text, len(shortest)) for text in set(texts)}
        row = next((i for i, text in enumerate(texts) if known[text] is None), None)
        if row is not None:
            raise ValueError(
                f"{columns.time}: expected dates such as {shortest}, found {texts[row][:60]!r} in "
                f"row {places[row]:,}"
            )
        times = np.array([known[text] for text in texts], "datetime64[s]")
    return times.astype(f"datetime64[{columns.unit}]")


def _as_time(text: str, shortest: int) -> np.datetime64 | None:
    """None if it is not a date: NumPy would take 20260131, or seconds, for a year."""
    if len(text) < shortest or not _DATE.fullmatch(text):
        return None
    try:
        return np.datetime64(text[:19], "s")
    except ValueError:
        return None


def weights_of(values: np.ndarray, columns: Columns, places: np.ndarray) -> np.ndarray:
    """Numbers of 0 or more."""
    weights = numbers_of(values, str(columns.weight), places)
    below = weights < 0
    if below.any():
        row = int(below.argmax())
        raise ValueError(
            f"{columns.weight}: expected weights of 0 or more, found {weights[row]:g} in row "
            f"{places[row]:,}"
        )
    return weights
