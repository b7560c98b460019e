"""All that the measures need of the rows, as sums of bins: they add up over blocks of any file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from calib_utils.audit.rows import Rows
from calib_utils.metrics.bins import edges_and_index, uniform_index

__all__ = ["BinSums", "Totals", "log_odds_cells"]

_KEPT_ROWS, _KEPT_CELLS = 1_000_000, 20_000_000  # of a sample: at most 160 MB of each array
_MOST_KEYS = 1_000
_CELL_EDGES = np.arange(-18, 18.01, 0.25)  # log-odds between which probabilities are counted
# The rows of `BinSums.array`, of each of which the first five are those of the intervals.
COUNT, RIGHT, EXPECTED, SQUARES, SPREAD, Z_EXCESS, Z_SPREAD = range(7)


class BinSums(NamedTuple):
    """Sums over the rows in each of M bins.

    Attributes:
        array: float64, (7, M): how many rows there are, how many of them are right, and the sums
            of the confidence c, of (c - right)^2, of c (1 - c), and of the numerator and the
            variance of Spiegelhalter's z.
    """

    array: np.ndarray

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.array[COUNT].sum())

    @property
    def predicted(self) -> float:
        """The mean confidence."""
        return float(self.array[EXPECTED].sum() / self.n)

    @property
    def happened(self) -> float:
        """Which part of the rows is right."""
        return float(self.array[RIGHT].sum() / self.n)

    @property
    def of_intervals(self) -> np.ndarray:
        """The five rows that `calib_utils.metrics.intervals` knows."""
        return self.array[:Z_EXCESS]


def tally(confidences: np.ndarray, correct: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """The sums of `BinSums`, (7, size)."""
    spread = confidences * (1 - confidences)
    lean = 1 - 2 * confidences
    right = correct.astype(np.float64)
    terms = (
        right,
        confidences,
        (confidences - right) ** 2,
        spread,
        lean * (right - confidences),
        lean**2 * spread,
    )
    counts = np.bincount(index, minlength=size).astype(np.float64)
    return np.stack([counts, *(np.bincount(index, term, minlength=size) for term in terms)])


def log_odds_cells(confidences: np.ndarray) -> np.ndarray:
    """The cell of log-odds of each confidence: fine ones, so that those near 0 have theirs."""
    return np.searchsorted(expit(_CELL_EDGES), confidences)


class Totals:
    """What is kept of any number of rows.

    Args:
        n_bins: how many bins of equal width.
        seed: of the choice of the rows that are kept as they are.

    Attributes:
        bins: of all rows, in bins of equal width.
        cells: of all rows, in narrow cells of log-odds.
        classes: for each class of several, its probability against whether it is the label.
        groups: by column and value.
        times: by the time.
        rows: as they came if `complete`, else some of them, chosen by lot.
        complete: whether that is all of them.
    """

    def __init__(self, n_bins: int, seed: int):
        self.n_bins = n_bins
        self.bins = BinSums(np.zeros((7, n_bins)))
        self.cells = BinSums(np.zeros((7, len(_CELL_EDGES) + 1)))
        self.classes: dict[int, BinSums] = {}
        self.groups: dict[tuple[str, str], BinSums] = {}
        self.times: dict[str, BinSums] = {}
        self.losses = np.zeros(3)  # of NLL, Brier score, and rows that are right
        self.complete = True
        self._parts: list[tuple[np.ndarray, Rows]] = []
        self._rng = np.random.default_rng(seed)

    def add(self, rows: Rows) -> None:
        """Count a block of rows.

        Raises:
            ValueError: if a column of groups has more than a thousand values.
        """
        confidences, correct = confidences_of(rows)
        index = uniform_index(confidences, self.n_bins, "float64")
        self.bins.array[:] += tally(confidences, correct, index, self.n_bins)
        cells = log_odds_cells(confidences)
        self.cells.array[:] += tally(confidences, correct, cells, self.cells.array.shape[1])
        self.losses += [losses(rows).sum(), _brier(rows), _answers_right(rows)]
        if rows.probs.ndim == 2:
            for k, column in enumerate(rows.probs.T):
                column = np.minimum(column, 1)
                where = uniform_index(column, self.n_bins, "float64")
                found = tally(column, rows.labels == k, where, self.n_bins)
                self._increase(self.classes, k, found)
        for name, values in rows.groups.items():
            for value, found in self._by_value(values, confidences, correct, index):
                self._increase(self.groups, (name, value), found)
            if sum(key[0] == name for key in self.groups) > _MOST_KEYS:
                raise ValueError(
                    f"group: expected at most {_MOST_KEYS:,} values, found more in {name!r}; "
                    "give a column that parts the rows into few groups"
                )
        if rows.times is not None:
            times = np.datetime_as_string(rows.times)
            for value, found in self._by_value(times, confidences, correct, index):
                self._increase(self.times, value, found)
        self._keep(rows)

    def equals(self, other: Totals) -> bool:
        """Whether both have counted the same rows, in whatever order: rounding aside, other rows
        have other sums.
        """
        return all(
            np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
            for mine, theirs in (
                (self.cells.array, other.cells.array),
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
        """A simple random sample: the rows with the lowest of as many random numbers."""
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
    def binnings(self) -> list[BinSums]:
        """In bins of equal width, all rows; and in bins of equal mass, those that were kept.

        Gaps that cancel in a bin are not seen. Of equal width one bin may hold nearly all rows, of
        equal mass all that is rare.
        """
        confidences, correct = confidences_of(self.rows)
        _, index = edges_and_index(confidences, self.n_bins, "quantile", "float64")
        return [self.bins, BinSums(tally(confidences, correct, index, self.n_bins))]


def confidences_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The confidence in each answer and whether it is right; or the positive class's."""
    if rows.probs.ndim == 1:
        return rows.probs, rows.labels == 1
    predicted = rows.probs.argmax(axis=1)
    top = rows.probs[np.arange(len(predicted)), predicted]
    return np.minimum(top, 1), predicted == rows.labels


def losses(rows: Rows) -> np.ndarray:
    """The negative log-likelihood of each row, (n,)."""
    if rows.probs.ndim == 1:
        return np.logaddexp(0, np.where(rows.labels == 1, -rows.log_probs, rows.log_probs))
    of_label = rows.log_probs[np.arange(len(rows.labels)), rows.labels]
    top = rows.log_probs.max(axis=1)
    return np.asarray(top - of_label + np.log(np.exp(rows.log_probs - top[:, None]).sum(axis=1)))


def briers(rows: Rows) -> np.ndarray:
    """The Brier score of each row, (n,): of one score, its squared distance from 0 or 1."""
    if rows.probs.ndim == 1:
        return np.asarray((rows.probs - rows.labels) ** 2)
    distance = rows.probs.copy()
    distance[np.arange(len(rows.labels)), rows.labels] -= 1
    return np.asarray((distance**2).sum(axis=1))


def _brier(rows: Rows) -> float:
    return float(briers(rows).sum())


def _answers_right(rows: Rows) -> int:
    if rows.probs.ndim == 1:
        return int(((rows.probs > 0.5) == (rows.labels == 1)).sum())
    return int((rows.probs.argmax(axis=1) == rows.labels).sum())
