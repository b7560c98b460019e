"""Probabilities of classes from their logarithms, of which some may be missing.

An API of a language model returns the log-probabilities of a few tokens, such as the five most
probable ones. A class that is not among them has no number, or -inf.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from calib_utils.audit.column_types import is_missing, numbers_of

__all__ = ["LogCounts", "from_logs", "log_probs_in"]

_ROUNDED = 1e-4  # how far above one a row may sum, as for probabilities
_MINUS_INFINITE = {"-inf", "-infinity"}


class LogCounts(NamedTuple):
    """How many rows needed attention.

    Attributes:
        filled: rows in which a class was missing.
        elsewhere: rows in which the classes have less than half of the probability.
    """

    filled: int
    elsewhere: int


def log_probs_in(values: np.ndarray, name: str, places: np.ndarray) -> np.ndarray:
    """The numbers of a column, (n,); -inf where there is none."""
    if values.dtype.kind == "f":
        none = np.isnan(values) | np.isneginf(values)
    else:
        none = is_missing(values)
        if values.dtype.kind in "OUS":
            none |= np.array([str(each).strip().lower() in _MINUS_INFINITE for each in values])
    numbers = np.full(len(values), -np.inf)
    numbers[~none] = numbers_of(values[~none], name, places[~none])
    return numbers


def from_logs(
    logs: np.ndarray, names: Sequence[str], places: np.ndarray
) -> tuple[np.ndarray, LogCounts]:
    """Probabilities of the classes, given that the answer is one of them.

    What the listed classes leave of 1 belongs to missing ones and to other answers. Each missing
    class gets an equal part of it, but no more than the smallest listed one, which is more
    probable. Then the row is divided by its sum.

    Args:
        logs: (n, K), natural logarithms; -inf, or one so low that its probability is 0, is missing.
        names: of the columns.
        places: (n,), the numbers of the rows.

    Raises:
        ValueError: if rows sum to more than 1, or no class of a row is listed.
    """
    probs = np.exp(np.minimum(logs, 1.0))
    listed = probs > 0
    sums = reduce(np.add, probs.T)
    bad = (sums > 1 + _ROUNDED) | ~listed.any(axis=1)
    if bad.any():
        row = int(bad.argmax())
        first, last = names[0], names[-1]
        if not listed[row].any():
            raise ValueError(
                f"{first} to {last}: expected the log-probability of one class at least, found "
                f"none in row {places[row]:,}; leave such rows out"
            )
        raise ValueError(
            f"{first} to {last}: expected natural logarithms of probabilities that sum to 1 or "
            f"less, found {logs[row].max():.6g} as the largest of row {places[row]:,}, whose sum "
            "is larger; name columns of logits logit_…"
        )
    missing = np.maximum((~listed).sum(axis=1), 1)
    smallest = np.where(listed, probs, np.inf).min(axis=1)
    part = np.minimum(np.maximum(1 - sums, 0) / missing, smallest)
    probs = np.where(listed, probs, part[:, None])
    filled = int((~listed.all(axis=1)).sum())
    return probs / reduce(np.add, probs.T)[:, None], LogCounts(filled, int((sums < 0.5).sum()))
