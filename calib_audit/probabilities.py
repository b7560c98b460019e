"""Probabilities from scores, from logits, or from their logarithms, of which some may be missing.

An API of a language model returns the log-probabilities of a few tokens, such as the five most
probable ones. A class that is not among them has no number, or -inf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from calib_audit.column_types import as_array, by_value, is_missing, numbers_of
from calib_utils._numerics import log_of_probs, log_softmax

ROUNDED = 1e-4  # how far from 0 to 1 a number may lie, and from one a row may sum
_MINUS_INFINITE = {"-inf", "-infinity"}


class Probabilities(NamedTuple):
    """What was predicted in some rows, and how many of them needed attention.

    Attributes:
        probs, logits: as in `Rows`.
        rescaled: rows that were divided by their sum because that was not 1.
        filled: rows of log-probabilities in which a class was missing.
        elsewhere: rows of log-probabilities in which the classes have less than half of the
            probability.
    """

    probs: np.ndarray
    logits: np.ndarray | None = None
    rescaled: int = 0
    filled: int = 0
    elsewhere: int = 0


def scores_in(
    columns: Mapping[str, Any], names: Sequence[str], kind: str, places: np.ndarray
) -> np.ndarray:
    """The numbers in the columns of predictions, (n, 1) or (n, K) of several classes.

    Args:
        columns: of a block, each an array or `Coded`.
        names: of the columns of predictions.
        kind: what they are, as in `Columns`; log-probabilities may be missing, and are -inf then.
        places: (n,), the numbers of the rows.

    Raises:
        ValueError: for anything that is not a number.
    """
    read = _log_probs_in if kind == "logprobs" else numbers_of

    def read_column(name: str) -> np.ndarray:
        return as_array(
            by_value(lambda cells, rows: read(cells, name, rows), columns[name], places)
        )

    found = [read_column(name) for name in names]
    # A softmax adds up row by row, and what is done to probabilities goes class by class.
    return np.stack(found).T if kind == "probs" else np.stack(found, axis=1)


def probabilities(
    scores: np.ndarray, kind: str, names: Sequence[str], places: np.ndarray, rescale: bool = False
) -> Probabilities:
    """Probabilities from scores, which are checked.

    Args:
        scores: (n, 1), or (n, K) of several classes, as `scores_in` reads them.
        kind: what they are, as in `Columns`.
        names: of the columns.
        places: (n,), the numbers of the rows.
        rescale: whether rows of probabilities are divided by their sum.

    Raises:
        ValueError: for numbers that are not probabilities.
    """
    if kind == "logprobs":
        return from_logs(scores, names, places)
    if kind == "logits":
        return Probabilities(np.exp(log_softmax(scores)), scores)
    if kind == "logit":
        from scipy.special import expit

        return Probabilities(expit(scores[:, 0]), scores[:, 0])
    scores = _in_range(scores, names, places)
    if len(names) == 1:
        return Probabilities(scores[:, 0])
    sums = row_sums(scores)
    off = np.abs(sums - 1) > ROUNDED
    rescaled = 0
    if rescale and not sums.all():
        row = (sums == 0).argmax()
        raise ValueError(
            f"{names[0]} to {names[-1]}: expected a sum above 0 to divide by, found 0 in row "
            f"{places[row]:,}; leave such rows out"
        )
    if rescale:
        scores, rescaled = np.where(off[:, None], scores / sums[:, None], scores), int(off.sum())
    elif off.any():
        row = off.argmax()
        advice = "divide rounded rows by their sum with rescale=True"
        if np.median(np.abs(sums - 1)) > 100 * ROUNDED:
            advice += (
                "; where several labels of a row may be true, make a report for each, with the "
                "column of its probabilities as score=... and its own column of labels"
            )
        raise ValueError(
            f"{names[0]} to {names[-1]}: expected probabilities that sum to 1, found "
            f"{sums[row]:.6g} in row {places[row]:,}, and {off.sum() - 1:,} more; name columns "
            f"of logits logit_…, one set of columns of several with score=..., or {advice}"
        )
    return Probabilities(scores, rescaled=rescaled)


def log_probs_of(probs: np.ndarray, logits: np.ndarray | None) -> np.ndarray:
    """The log-odds if (n,); the logarithms, up to a constant in each row, if (n, K)."""
    return log_of_probs(probs) if logits is None else logits


def row_sums(values: np.ndarray) -> np.ndarray:
    """Of each row: added from the first class to the last, however they lie in memory."""
    return reduce(np.add, values.T)


def _in_range(scores: np.ndarray, names: Sequence[str], places: np.ndarray) -> np.ndarray:
    """Scores from 0 to 1, up to the rounding of a softmax, or of 1 less all others."""
    if not scores.size or (scores.min() >= 0 and scores.max() <= 1):
        return scores
    bad = (scores < -ROUNDED) | (scores > 1 + ROUNDED)
    if not bad.any():
        return scores.clip(0, 1)
    row, k = np.argwhere(bad)[0]
    where = f"{names[k]}: expected 0 to 1, found {scores[row, k]:g} in row {places[row]:,}"
    if scores.min() < -ROUNDED or scores.max() > 100:
        raise ValueError(f"{where}; name columns of log-odds or logits logit or logit_…")
    if scores.max() > 2:
        raise ValueError(f"{where}; if these are percentages, divide all by 100 first")
    raise ValueError(f"{where}; rounding does not explain that, so give probabilities")


def _log_probs_in(values: np.ndarray, name: str, places: np.ndarray) -> np.ndarray:
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


def from_logs(logs: np.ndarray, names: Sequence[str], places: np.ndarray) -> Probabilities:
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
    sums = row_sums(probs)
    bad = (sums > 1 + ROUNDED) | ~listed.any(axis=1)
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
    elsewhere = int((sums < 0.5).sum())
    return Probabilities(probs / row_sums(probs)[:, None], filled=filled, elsewhere=elsewhere)
