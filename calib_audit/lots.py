"""Rows chosen by lot, the same ones in whatever order and however often they are divided up."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from calib_audit.rows import Rows

MOST_DRAWN, _MOST_CELLS = 200_000, 20_000_000
SEED = 0  # of all random draws of a report
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Lots:
    """Keeps all rows while they are few, and then those that have the lowest lots, or none.

    Rows in blocks are few up to twenty million, because how alike they are is told by all of them.

    A row's lot is a number that its contents and the seed make (SplitMix64 over its bits), so it
    does not matter when or where the row is read. Equal rows have one lot: either all of them are
    kept, with how often they came up, or none.

    Args:
        seed: of the lots.
        from_logits: whether the rows were given as logits, not as probabilities.
        sample: whether some rows are kept of more than can be kept.

    Attributes:
        n: how many rows came.
    """

    def __init__(self, seed: int, from_logits: bool, sample: bool = True):
        self.seed, self.from_logits, self.sample, self.n = seed, from_logits, sample, 0
        self._parts: list[tuple[np.ndarray, np.ndarray, Rows]] = []
        self._highest = np.uint64(2**64 - 1)  # lot that is not yet refused
        self._limit = MOST_DRAWN

    @property
    def complete(self) -> bool:
        """Whether all rows are kept."""
        return self.n <= self._limit

    def add(self, rows: Rows) -> None:
        """Draw a lot for each row."""
        self.n += len(rows.labels)
        most = _MOST_CELLS // max(1, rows.probs[:1].size)
        self._limit = max(1, most if rows.blocks is not None else min(MOST_DRAWN, most))
        if self._gives_up():
            return
        lots = self.numbers_of(rows)
        kept = lots <= self._highest
        bare = rows._replace(times=None).take(kept)
        self._join([(lots[kept], np.ones(int(kept.sum()), np.int64), bare)])

    def merge(self, other: Lots) -> None:
        """Add the rows that another has kept."""
        self.n += other.n
        self._limit = min(self._limit, other._limit)
        self._highest = min(self._highest, other._highest)
        if not self._gives_up():
            self._join(other._parts)

    def _gives_up(self) -> bool:
        if self.sample or self.complete:
            return False
        self._parts = []
        return True

    def rows(self) -> Rows:
        """In the order of their lots, each as often as it came up; if they are too many, some."""
        self._shrink()
        (_, counts, rows) = self._parts[0]
        rows = rows.take(drawn(counts, self._limit, self.seed))
        logits = None if rows.logits is None else np.ascontiguousarray(rows.logits)
        return rows._replace(probs=np.ascontiguousarray(rows.probs), logits=logits)

    def _join(self, parts: list[tuple[np.ndarray, np.ndarray, Rows]]) -> None:
        self._parts += parts
        if sum(len(lots) for lots, _, _ in self._parts) > 2 * self._limit:
            self._shrink()

    def _shrink(self) -> None:
        lots, counts, rows = zip(*self._parts, strict=True)
        found, first, which = np.unique(
            np.concatenate(lots), return_index=True, return_inverse=True
        )
        summed = np.bincount(which, np.concatenate(counts)).astype(np.int64)
        low = slice(0, self._limit)
        self._parts = [(found[low], summed[low], Rows.join(rows).take(first[low]))]
        if len(found) > self._limit:
            self._highest = min(self._highest, found[self._limit - 1])

    def numbers_of(self, rows: Rows) -> np.ndarray:
        """The lot of each row, uint64, (n,)."""
        lots = np.full(len(rows.labels), self.seed % 2**64, np.uint64)
        for bits in self._bits(rows):
            lots ^= bits
            lots += _MIX[0]
            lots ^= lots >> np.uint64(30)
            lots *= _MIX[1]
            lots ^= lots >> np.uint64(27)
            lots *= _MIX[2]
            lots ^= lots >> np.uint64(31)
        return lots

    def _bits(self, rows: Rows) -> Iterator[np.ndarray]:
        """All that a row holds, 64 bits at a time."""
        scores = rows.log_probs if self.from_logits else rows.probs
        for column in np.atleast_2d(np.add(scores.T, 0.0, order="C")):  # of -0.0 and 0.0 the same
            yield column.view(np.uint64)
        yield rows.labels.view(np.uint64)
        if rows.weights is not None:
            yield rows.weights.view(np.uint64)
        others = [each for each in (rows.times, rows.blocks) if each is not None]
        for coded in (*rows.groups.values(), *others):
            yield np.array([_number_of(str(value)) for value in coded.values])[coded.codes]


def _number_of(text: str) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()))


def drawn(counts: np.ndarray, most: int, seed: int) -> np.ndarray:
    """A simple random sample of rows of which only is known how many there are of each kind.

    Args:
        counts: int64, (K,), how many rows there are of each kind.
        most: how many to draw; all, if there are no more.
        seed: of the draw.

    Returns:
        The kind of each row that was drawn, in ascending order.
    """
    last = np.cumsum(counts)
    n = int(last[-1])
    if n <= most:
        return np.repeat(np.arange(len(counts)), counts)
    places = np.random.default_rng([seed, 2]).choice(n, most, replace=False, shuffle=False)
    return np.searchsorted(last, np.sort(places), side="right")
