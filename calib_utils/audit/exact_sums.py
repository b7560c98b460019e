"""Sums over rows that are the same in whatever order the rows come: whole numbers, never rounded.

A floating-point sum depends on the order of its terms. So each term is rounded to a multiple of
2^-32 first, once and by itself, and what is added up are whole numbers of these units. Sums of one
file, of fifty, and of many machines are then equal bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from calib_utils._masks import log_of_probs
from calib_utils.audit.bin_sums import (
    BinSums,
    briers,
    check_few,
    confidences_of,
    correct_predictions,
    losses,
)
from calib_utils.audit.coded import Coded
from calib_utils.audit.lots import Lots
from calib_utils.audit.rows import Rows
from calib_utils.metrics.bins import uniform_index

__all__ = ["CELL_ENDS", "UNIT", "ExactSums", "cells_of", "in_bins"]

UNIT = 2.0**32
_MOST_ROWS = 2**31  # whose sums still fit into 64 bits
_PER_LOG_ODDS, _FARTHEST = 128, 40
_LAST = 2 * _FARTHEST * _PER_LOG_ODDS
_EDGES = (np.arange(_LAST + 2) - 0.5) / _PER_LOG_ODDS - _FARTHEST
# Between which confidences each cell lies; the first has those of 0, and the last those of 1.
CELL_ENDS = np.concatenate([[0.0], expit(_EDGES[1:-1]), [1.0]])


class ExactSums:
    """All that a report takes of any number of rows, in whole numbers that add up.

    Args:
        n_bins: how many bins of equal width.
        lots: chooses rows of several classes to be kept; None to keep none.

    Attributes:
        bins: int64, (4, 2, n_bins): of the rows that are wrong and those that are right, how many
            there are, and the sums of c, c^2 and (c (1 - c))^2 in units of 2^-32, where c is the
            confidence.
        cells: the same, (4, 2, 10241), in cells of log-odds that are 1/128 wide.
        classes, groups, times: as ``bins``, for each class, value of a column, and span of time.
        losses: the sums of NLL and Brier score, in units, and how many predictions are right.
    """

    def __init__(self, n_bins: int, lots: Lots | None):
        self.bins = np.zeros((4, 2, n_bins), np.int64)
        self.cells = np.zeros((4, 2, _LAST + 1), np.int64)
        self.classes: dict[int, np.ndarray] = {}
        self.groups: dict[tuple[str, str], np.ndarray] = {}
        self.times: dict[str, np.ndarray] = {}
        self.losses = [0, 0, 0]
        self.lots = lots

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.bins[0].sum())

    def add(self, rows: Rows) -> None:
        """Count a block of at most a million rows, whose groups are `Coded`.

        Raises:
            ValueError: if a column of groups has more than a thousand values.
        """
        confidences, correct = confidences_of(rows)
        n_bins, terms = self.bins.shape[-1], _terms(confidences)
        index = uniform_index(confidences, n_bins, "float64")
        log_odds = rows.log_probs if rows.probs.ndim == 1 else log_of_probs(confidences)
        self.cells += _tally(cells_of(log_odds), correct, terms, _LAST + 1)
        self._add_losses(rows)
        if rows.probs.ndim == 2:
            for k, column in enumerate(rows.probs.T):
                column = np.minimum(column, 1)
                where = uniform_index(column, n_bins, "float64")
                _increase(
                    self.classes, {k: _tally(where, rows.labels == k, _terms(column), n_bins)}
                )
        whole = None
        by_part: list[tuple[str | None, Any]] = list(rows.groups.items())
        by_part += [] if rows.times is None else [(None, coded_times(rows.times))]
        for name, column in by_part:
            size = len(column.values) * n_bins
            found = _tally(column.codes * n_bins + index, correct, terms, size)
            parts = found.reshape(4, 2, -1, n_bins).swapaxes(0, 2)
            whole = parts.sum(axis=0).swapaxes(0, 1) if whole is None else whole
            for value, part in zip(map(str, column.values), parts, strict=True):
                array = part.swapaxes(0, 1)
                if name is None:
                    _increase(self.times, {value: array})
                else:
                    _increase(self.groups, {(name, value): array})
        self.bins += _tally(index, correct, terms, n_bins) if whole is None else whole
        check_few(self.groups)
        if self.lots is not None:
            self.lots.add(rows)

    def merge(self, other: ExactSums) -> None:
        """Add the sums of other rows.

        Raises:
            ValueError: if there are more than two billion rows, or a thousand groups.
        """
        self.bins += other.bins
        self.cells += other.cells
        for name in ("classes", "groups", "times"):
            _increase(getattr(self, name), getattr(other, name))
        self.losses = [sum(both) for both in zip(self.losses, other.losses, strict=True)]
        if self.lots is not None and other.lots is not None:
            self.lots.merge(other.lots)
        check_few(self.groups)
        if self.n >= _MOST_ROWS:
            raise ValueError(
                f"expected fewer than {_MOST_ROWS:,} rows, found more; make a report of each part, "
                "such as each week"
            )

    def digest(self) -> str:
        """The SHA-256 of all sums: the same for the same rows, in any order and any files."""
        found = hashlib.sha256(repr(self.losses).encode())
        whole = {"bins": self.bins, "cells": self.cells}
        parts: list[dict[Any, np.ndarray]] = [whole, self.classes, self.groups, self.times]
        for each in parts:
            for key in sorted(each):
                found.update(repr(key).encode())
                found.update(each[key].astype("<i8").tobytes())
        return found.hexdigest()

    def _add_losses(self, rows: Rows) -> None:
        nll = losses(rows)
        if nll.max() >= UNIT:
            raise ValueError(
                f"expected logits that lie less than {UNIT:,.0f} apart, found {nll.max():.3g}"
            )
        whole = np.floor(nll)
        found = (
            int(whole.sum()) * int(UNIT) + _units(nll - whole),
            _units(briers(rows)),
            correct_predictions(rows),
        )
        self.losses = [sum(both) for both in zip(self.losses, found, strict=True)]


def in_bins(array: np.ndarray) -> BinSums:
    """The sums of `BinSums`, of whole numbers as `ExactSums` keeps them, (4, 2, M)."""
    n, right = array[0].sum(axis=0), array[0, 1]
    c, squares, spreads = array[1:].sum(axis=1) / UNIT
    of_right = array[1, 1] / UNIT
    spread = c - squares
    found = [n, right, c, squares - 2 * of_right + right, spread]
    found += [right - c - 2 * of_right + 2 * squares, spread - 4 * spreads]
    result = np.stack(found).astype(np.float64)
    result[[3, 4, 6]] = np.maximum(result[[3, 4, 6]], 0)  # sums of squares, but for rounding
    return BinSums(result)


def cells_of(log_odds: np.ndarray) -> np.ndarray:
    """The cell of each: the nearest multiple of 1/128, from -40 to 40."""
    near = np.clip(log_odds, -_FARTHEST, _FARTHEST)
    return np.rint((near + _FARTHEST) * _PER_LOG_ODDS).astype(np.intp)


def coded_times(times: np.ndarray) -> Coded:
    """Times, of which usually few lie between the first and the last."""
    first, last = times.min(), times.max()
    span = int((last - first).astype(np.int64)) + 1
    if span > len(times) + 1_000:
        values, codes = np.unique(times, return_inverse=True)
        return Coded(np.datetime_as_string(values), codes)
    codes = (times - first).astype(np.int64)
    return Coded(np.datetime_as_string(first + np.arange(span)), codes)


def _terms(confidences: np.ndarray) -> list[np.ndarray]:
    spread = confidences * (1 - confidences)
    return [np.rint(UNIT * each) for each in (confidences, confidences**2, spread**2)]


def _tally(
    index: np.ndarray, correct: np.ndarray, terms: list[np.ndarray], size: int
) -> np.ndarray:
    """Int64, (4, 2, size); float64 sums a million terms of up to 2^32 without rounding."""
    key = index + size * correct
    found = [np.bincount(key, term, 2 * size).astype(np.int64) for term in terms]
    return np.stack([np.bincount(key, minlength=2 * size), *found]).reshape(4, 2, size)


def _units(values: np.ndarray) -> int:
    return int(np.rint(UNIT * values).sum())


def _increase(sums: dict[Any, np.ndarray], found: Mapping[Any, np.ndarray]) -> None:
    for key, array in found.items():
        if key in sums:
            sums[key] += array
        else:
            sums[key] = array.copy()
