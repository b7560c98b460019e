"""The sums over bins that the measures need; those of a file's blocks add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calib_utils.audit.rows import Rows

__all__ = ["BinSums", "briers", "check_few", "confidences_of", "losses", "tally"]

_MOST_KEYS = 1_000
COUNT, CORRECT, EXPECTED, SQUARES, SPREAD = range(5)  # the rows of `BinSums.array`


class BinSums(NamedTuple):
    """Sums over the rows in each of M bins.

    Attributes:
        array: float64, (5, M), as `calib_utils.metrics.intervals` takes it: the number of rows, the
            number of correct ones (or positives), and the sums of the confidence c, of
            (c - correct)^2 and of c (1 - c).
    """

    array: np.ndarray

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.array[COUNT].sum())

    @property
    def predicted(self) -> float:
        """The mean confidence."""
        return float(self.array[EXPECTED].sum() / self.n)

    @property
    def happened(self) -> float:
        """The share of rows that are correct, or positive."""
        return float(self.array[CORRECT].sum() / self.n)


def tally(confidences: np.ndarray, correct: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """The sums of `BinSums`, (5, size)."""
    hits = correct.astype(np.float64)
    terms = hits, confidences, (confidences - hits) ** 2, confidences * (1 - confidences)
    counts = np.bincount(index, minlength=size).astype(np.float64)
    return np.stack([counts, *(np.bincount(index, term, minlength=size) for term in terms)])


def check_few(groups: Mapping[tuple[str, str], Any]) -> None:
    """Refuse a column of groups that has more than a thousand values."""
    for name, n in Counter(name for name, _ in groups).items():
        if n > _MOST_KEYS:
            raise ValueError(
                f"group: expected at most {_MOST_KEYS:,} values, found more in {name!r}; "
                "give a column that divides the rows into few groups"
            )


def confidences_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The confidence in each predicted class and whether it is correct; of one score, the
    probability of the positive class and whether the row is positive.
    """
    if rows.probs.ndim == 1:
        return rows.probs, rows.labels == 1
    predicted = rows.probs.argmax(axis=1)
    top = rows.probs[np.arange(len(predicted)), predicted]
    return np.minimum(top, 1), predicted == rows.labels


def losses(rows: Rows) -> np.ndarray:
    """The negative log-likelihood of each row, (n,)."""
    log_probs = rows.log_probs
    if rows.probs.ndim == 1:
        against = np.where(rows.labels == 1, -log_probs, log_probs)
        # As `numpy.logaddexp` of it and 0, in half the time.
        return np.maximum(against, 0) + np.log1p(np.exp(-np.abs(against)))
    of_label = log_probs[np.arange(len(rows.labels)), rows.labels]
    top = log_probs.max(axis=1)
    return np.asarray(top - of_label + np.log(np.exp(log_probs - top[:, None]).sum(axis=1)))


def briers(rows: Rows) -> np.ndarray:
    """The Brier score of each row, (n,); of one score, its squared distance from the label."""
    if rows.probs.ndim == 1:
        return np.asarray((rows.probs - rows.labels) ** 2)
    distance = rows.probs.copy()
    distance[np.arange(len(rows.labels)), rows.labels] -= 1
    return np.asarray((distance**2).sum(axis=1))
