"""The sums over bins that the measures need; those of a file's blocks add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from calib_utils.audit.rows import Rows
from calib_utils.metrics.bins import edges_and_index, uniform_index

__all__ = ["BinSums", "Totals", "log_odds_cells"]

_KEPT_ROWS, _KEPT_CELLS = 1_000_000, 20_000_000  # of the sample: at most 160 MB an array
_MOST_KEYS = 1_000
_CELL_EDGES = np.arange(-18, 18.01, 0.25)  # log-odds between which probabilities are counted
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


def log_odds_cells(confidences: np.ndarray) -> np.ndarray:
    """The cell of log-odds of each confidence, narrow enough to separate confidences near 0."""
    return np.searchsorted(expit(_CELL_EDGES), confidences)


def check_few(groups: Mapping[tuple[str, str], Any]) -> None:
    """Refuse a column of groups that has more than a thousand values."""
    for name, n in Counter(name for name, _ in groups).items():
        if n > _MOST_KEYS:
            raise ValueError(
                f"group: expected at most {_MOST_KEYS:,} values, found more in {name!r}; "
                "give a column that divides the rows into few groups"
            )


class Totals:
    """The sums over any number of rows, and a random sample of these rows.

    Args:
        n_bins: the number of bins of equal width.
        seed: of the random sample.

    Attributes:
        bins: of all rows, in bins of equal width.
        cells: of all rows, in narrow cells of log-odds.
        classes: with several classes, each one's probability against whether it is the label.
        groups: by column and value.
        times: by the span of time.
        rows: all of them in their order if `complete`, and otherwise a random sample.
        complete: whether all rows were kept.
    """

    def __init__(self, n_bins: int, seed: int):
        self.n_bins = n_bins
        self.bins = BinSums(np.zeros((5, n_bins)))
        self.cells = BinSums(np.zeros((5, len(_CELL_EDGES) + 1)))
        self.classes: dict[int, BinSums] = {}
        self.groups: dict[tuple[str, str], BinSums] = {}
        self.times: dict[str, BinSums] = {}
        self.losses = np.zeros(3)  # the sums of NLL, Brier score and correct predictions
        self.of_z = np.zeros(2)  # the sums of the numerator and the variance of Spiegelhalter's z
        self.complete = True
        self._parts: list[tuple[np.ndarray, Rows]] = []
        self._rng = np.random.default_rng([seed, 3])  # not the numbers that a user's seed gives

    def add(self, rows: Rows) -> None:
        """Count a block of rows.

        Raises:
            ValueError: if a column of groups has more than a thousand values.
        """
        confidences, correct = confidences_of(rows)
        index = uniform_index(confidences, self.n_bins, rows.dtype)
        self.bins.array[:] += tally(confidences, correct, index, self.n_bins)
        cells = log_odds_cells(confidences)
        self.cells.array[:] += tally(confidences, correct, cells, self.cells.array.shape[1])
        self.losses += [losses(rows).sum(), _brier(rows), correct_predictions(rows)]
        lean = 1 - 2 * confidences
        self.of_z += [
            (lean * (correct - confidences)).sum(),
            (lean**2 * confidences * (1 - confidences)).sum(),
        ]
        if rows.probs.ndim == 2:
            for k, column in enumerate(rows.probs.T):
                column = np.minimum(column, 1)
                where = uniform_index(column, self.n_bins, rows.dtype)
                found = tally(column, rows.labels == k, where, self.n_bins)
                self._increase(self.classes, k, found)
        for name, values in rows.groups.items():
            for value, found in self._by_value(values, confidences, correct, index):
                self._increase(self.groups, (name, value), found)
        check_few(self.groups)
        if rows.times is not None:
            times = np.datetime_as_string(rows.times)
            for value, found in self._by_value(times, confidences, correct, index):
                self._increase(self.times, value, found)
        self._keep(rows)

    def equals(self, other: Totals) -> bool:
        """Whether both have counted the same rows, in any order: different rows have different
        sums, up to rounding.
        """
        return all(
            np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
            for mine, theirs in (
                (self.bins.array, other.bins.array),
                (self.losses, other.losses),
            )
        )

    def _by_value(
        self, values: np.ndarray, confidences: np.ndarray, correct: np.ndarray, index: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray]]:
        found, code = np.unique(values, return_inverse=True)
        size = len(found) * self.n_bins
        array = tally(confidences, correct, code.ravel() * self.n_bins + index, size)
        for g, value in enumerate(found):
            yield str(value), array[:, g * self.n_bins : (g + 1) * self.n_bins]

    def _increase(self, sums: dict[Any, BinSums], key: Any, found: np.ndarray) -> None:
        if key in sums:
            sums[key].array[:] += found
        else:
            sums[key] = BinSums(found.copy())

    def _keep(self, rows: Rows) -> None:
        """A simple random sample: each row draws a number, and those with the lowest are kept."""
        self._parts.append((self._rng.random(len(rows.labels)), rows))
        limit = max(1, min(_KEPT_ROWS, _KEPT_CELLS // max(1, rows.probs[:1].size)))
        if sum(len(lots) for lots, _ in self._parts) > 2 * limit:
            self._shrink(limit)
        self._limit = limit

    def _shrink(self, limit: int) -> None:
        lots = np.concatenate([lots for lots, _ in self._parts])
        kept = np.sort(np.argpartition(lots, limit - 1)[:limit])
        rows = Rows.join([rows for _, rows in self._parts]).take(kept)
        self._parts, self.complete = [(lots[kept], rows)], False

    @property
    def rows(self) -> Rows:
        """The rows that were kept, in their order."""
        if sum(len(lots) for lots, _ in self._parts) > self._limit:
            self._shrink(self._limit)
        if len(self._parts) > 1:
            lots = np.concatenate([lots for lots, _ in self._parts])
            self._parts = [(lots, Rows.join([rows for _, rows in self._parts]))]
        return self._parts[0][1]

    @property
    def confidences(self) -> tuple[np.ndarray, np.ndarray]:
        """The confidences of the rows that were kept, and which are correct."""
        return confidences_of(self.rows)

    @property
    def note(self) -> str:
        """Which measures do not use all rows; empty if all do."""
        if self.complete:
            return ""
        return (
            "all rows were counted; bins of equal mass, slope, decomposition, cost and "
            f"recalibrators use {len(self.rows.labels):,} of them, chosen at random"
        )

    @property
    def binnings(self) -> list[BinSums]:
        """All rows in bins of equal width, and those that were kept in bins of equal mass.

        Gaps that cancel within a bin are not seen. A bin of equal width may contain nearly all
        rows, and a bin of equal mass may contain all the rare ones.
        """
        confidences, correct = self.confidences
        _, index = edges_and_index(confidences, self.n_bins, "quantile", "float64")
        return [self.bins, BinSums(tally(confidences, correct, index, self.n_bins))]


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


def _brier(rows: Rows) -> float:
    return float(briers(rows).sum())


def correct_predictions(rows: Rows) -> int:
    """The number of correct predictions; of one score, at a threshold of one half."""
    if rows.probs.ndim == 1:
        return int(((rows.probs > 0.5) == (rows.labels == 1)).sum())
    return int((rows.probs.argmax(axis=1) == rows.labels).sum())
