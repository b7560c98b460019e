"""Sums over rows that are the same in whatever order the rows come: whole numbers, never rounded.

A floating-point sum depends on the order of its terms. So each term is rounded to a multiple of
2^-32 first, once and by itself, and what is added up are whole numbers of these units. Sums of one
file, of fifty, and of many machines are then equal bit for bit, provided that their processors
compute logarithms and exponentials alike: some differ in the last bit, which is of 1e-16.

Weights are parts of the largest one, so their squares may be tiny. With weights each term is
therefore kept in two whole numbers, of 2^-32 and of 2^-64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from scipy.special import expit

from calib_audit.bin_sums import BinSums, check_few, inside, losses
from calib_audit.column_types import Coded
from calib_audit.lots import Lots
from calib_audit.rows import Rows
from calib_utils.metrics.bins import uniform_index

UNIT = 2.0**32
_MOST_ROWS = 2**31  # whose sums still fit into 64 bits
PER_LOG_ODDS, FARTHEST = 128, 40
_LAST = 2 * FARTHEST * PER_LOG_ODDS
_EDGES = (np.arange(_LAST + 2) - 0.5) / PER_LOG_ODDS - FARTHEST
# Between which confidences each cell lies; the first has those of 0, and the last those of 1.
CELL_ENDS = np.concatenate([[0.0], expit(_EDGES[1:-1]), [1.0]])
_STEP = 1 << 17  # numbers of an array, of which a few fit into a cache
_MOST_JOINT = 1 << 14  # bins of a table that is counted at once, for the same reason
_OF_CELLS = 0, 1, 3, 6, 7, 9  # of the terms with weights
_COPIES, _SMALL = 4, 1 << 10  # of a table that has at most so many bins


class ExactSums:
    """All that a report takes of any number of rows, in whole numbers that add up.

    Args:
        n_bins: how many bins of equal width.
        n_classes: 0 if each row has one score.
        lots: chooses the rows that are kept; None to keep none.
        weighted: whether rows have weights.

    Attributes:
        bins: int64, (3, 2, n_bins): of the rows that are wrong and those that are right, how many
            there are, and the sums of c and of c^2 in units of 2^-32, where c is the confidence.
            With weights w (13, 2, n_bins): how many, the sums of w, w c, w c^2, w^2, w^2 c and
            w^2 c^2, and what rounding down left of each of these.
        cells: (2, 2, 10241), how many and the sums of c, in cells of log-odds that are 1/128 wide;
            with weights (7, 2, 10241), the sums of w, w c and w^2.
        classes: (n_classes, 3, 2, n_bins), as ``bins``.
        groups, times: as ``bins``, for each value of a column, and span of time.
        losses: the sums of the NLL, of the variance in Spiegelhalter's z and of correct
            predictions, in units.
        dtype: the type in which probabilities came.
        class_blocks: of sums from a database, for each class and block the number of rows, of those
            with this label, and the sums of c and of the root of c (1 - c): (4, B) for each class.
    """

    def __init__(
        self, n_bins: int, n_classes: int = 0, lots: Lots | None = None, weighted: bool = False
    ):
        of_bins, of_cells = (13, 7) if weighted else (3, 2)
        self.bins = np.zeros((of_bins, 2, n_bins), np.int64)
        self.cells = np.zeros((of_cells, 2, _LAST + 1), np.int64)
        self.classes = np.zeros((n_classes, of_bins, 2, n_bins), np.int64)
        self.groups: dict[tuple[str, str], np.ndarray] = {}
        self.times: dict[str, np.ndarray] = {}
        self.losses = [0, 0, 0]
        self.dtype = "float64"
        self.lots = lots
        self.class_blocks: list[np.ndarray] = []

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return len(self.bins) > 3

    @property
    def n(self) -> int:
        """How many rows there are."""
        return int(self.bins[0].sum())

    def add(self, rows: Rows) -> None:
        """Count a block of at most a million rows.

        Raises:
            ValueError: if a column of groups has more than a thousand values.
        """
        n, n_bins = len(rows.labels), self.bins.shape[-1]
        if not n:
            return
        self.dtype = rows.dtype
        columns: list[tuple[str | None, Coded]] = list(rows.groups.items())
        if rows.times is not None:
            texts = np.datetime_as_string(rows.times.values)
            columns.append((None, Coded(texts, rows.times.codes)))
        kinds = len(self.bins)
        tables = [_Table(some, n, n_bins, kinds) for some in _together(columns, n_bins)]
        bare = rows._replace(groups={}, times=None)
        for some in _slices(n, 1):
            self._add_confidences(bare.take(some), some, tables)
        for some in _slices(n, len(self.classes)):
            self._add_classes(bare.take(some))
        self.bins += tables[0].sums.reshape(kinds, 2, -1, n_bins).sum(axis=2)
        for table in tables:
            for name, value, part in table.parts():
                if name is None:
                    _increase(self.times, {value: part})
                else:
                    _increase(self.groups, {(name, value): part})
        check_few(self.groups)
        if self.lots is not None:
            self.lots.add(rows)

    def _add_confidences(self, rows: Rows, place: slice, tables: list[_Table]) -> None:
        confidences, right, log_odds, nll = _measured(rows)
        w = rows.weights
        terms = _terms(confidences, w)
        index = uniform_index(confidences, self.bins.shape[-1], rows.dtype)
        for table in tables:
            table.add(place, index, right, terms)
        cells = cells_of(log_odds) + right * (_LAST + 1)
        of_cells = terms[:1] if w is None else [terms[k] for k in _OF_CELLS]
        self.cells += _tally(cells, of_cells, self.cells[0].size).reshape(self.cells.shape)
        if nll.max() >= UNIT:
            raise ValueError(
                f"score: expected logits that lie less than {UNIT:,.0f} apart, found "
                f"{nll.max():.3g}"
            )
        decided = right if rows.probs.ndim == 2 else (confidences > 0.5) == right
        decided, variance = decided.astype(np.float64), confidences * (1 - confidences)
        if w is not None:
            # The weight may depend on what happened, as where negatives were left out.
            nll, decided, variance = w * nll, w * decided, (w * (right - confidences)) ** 2
        variance *= (1 - 2 * confidences) ** 2
        sums = (_sum_in_units(of_rows) for of_rows in (nll, variance, decided))
        self.losses = [before + more for before, more in zip(self.losses, sums, strict=True)]

    def _add_classes(self, rows: Rows) -> None:
        n_classes, n_bins = len(self.classes), self.bins.shape[-1]
        probs = rows.probs.T
        key = uniform_index(probs, n_bins, rows.dtype)
        key += 2 * n_bins * np.arange(n_classes)[:, None]
        key[rows.labels, np.arange(len(rows.labels))] += n_bins
        terms = [term.ravel() for term in _terms(probs, rows.weights)]
        found = _tally(key.ravel(), terms, 2 * n_classes * n_bins)
        self.classes += found.reshape(-1, n_classes, 2, n_bins).swapaxes(0, 1)

    def merge(self, other: ExactSums) -> None:
        """Add the sums of other rows.

        Raises:
            ValueError: if there are more than two billion rows, or a thousand groups.
        """
        self.dtype = other.dtype if other.n else self.dtype
        self.bins += other.bins
        self.cells += other.cells
        self.classes += other.classes
        _increase(self.groups, other.groups)
        _increase(self.times, other.times)
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
        whole = {"bins": self.bins, "cells": self.cells, "classes": self.classes}
        parts: list[dict[Any, np.ndarray]] = [whole, self.groups, self.times]
        for each in parts:
            for key in sorted(each):
                found.update(repr(key).encode())
                found.update(each[key].astype("<i8").tobytes())
        return found.hexdigest()


class _Table:
    """The sums in bins of equal width, for all combinations of the values of some columns."""

    def __init__(self, columns: list[tuple[str | None, Coded]], n: int, n_bins: int, kinds: int):
        self.columns, self.n_bins = columns, n_bins
        self.size = n_bins * prod(len(column.values) for _, column in columns)
        self.first_bins = np.zeros(n, np.intp)
        for _, column in columns:
            self.first_bins *= len(column.values)
            self.first_bins += column.codes
        self.first_bins *= n_bins
        self.sums = np.zeros((kinds, 2 * self.size), np.int64)

    def add(self, place: slice, index: np.ndarray, right: np.ndarray, terms: Any) -> None:
        key = right * self.size
        key += index
        key += self.first_bins[place]
        self.sums += _tally(key, terms, 2 * self.size)

    def parts(self) -> Iterator[tuple[str | None, str, np.ndarray]]:
        """The name of a column, a value, and its sums, as `ExactSums.bins` has them."""
        shape = [len(column.values) for _, column in self.columns]
        sums = self.sums.reshape(-1, 2, *shape, self.n_bins)
        for k, (name, column) in enumerate(self.columns):
            others = tuple(2 + other for other in range(len(shape)) if other != k)
            for value, part in zip(
                column.values, np.moveaxis(sums.sum(axis=others), 2, 0), strict=True
            ):
                yield name, str(value), part


def in_bins(array: np.ndarray) -> BinSums:
    """The sums of `BinSums`, of whole numbers as `ExactSums` keeps them."""
    return _bin_sums(array, moments(array))


def in_cells(array: np.ndarray) -> BinSums:
    """The same of cells, in which each row counts with the mean confidence."""
    masses, c, squared = _unscaled(array) if len(array) > 3 else moments(array)[[0, 1, 0]]
    both = masses.sum(axis=0)
    mean = np.divide(c.sum(axis=0), both, out=np.zeros_like(both), where=both > 0)
    powers = np.stack([np.ones_like(mean), mean, mean**2])[:, None]
    return _bin_sums(array, np.concatenate([masses * powers, squared * powers]))


def moments(array: np.ndarray) -> np.ndarray:
    """The sums of w, w c, w c^2, w^2, w^2 c and w^2 c^2 of bins: (6, 2, M), wrong and right.

    Rows that count alike have a weight of 1, so the last three are the first three.
    """
    if len(array) > 3:
        return _unscaled(array)
    found = np.concatenate([array[:1], array[1:] / UNIT])
    return np.concatenate([found, found])


def _unscaled(array: np.ndarray) -> np.ndarray:
    """What was kept in two whole numbers."""
    high, low = np.split(array[1:], 2)
    return np.asarray((high + low / UNIT) / UNIT)


def _bin_sums(array: np.ndarray, found: np.ndarray) -> BinSums:
    mass, c, _, squared, squared_c, squared_squares = found.sum(axis=1)
    right, _, _, squared_right, squared_c_right, _ = found[:, 1]
    # Sums of squares are never negative but for rounding.
    distances = np.maximum(squared_squares - 2 * squared_c_right + squared_right, 0)
    sums = [mass, right, c, distances, np.maximum(squared_c - squared_squares, 0)]
    if len(array) > 3:
        sums += [squared, squared_right, squared_c, array[0].sum(axis=0)]
    return BinSums(np.stack(sums))


def cells_of(log_odds: np.ndarray) -> np.ndarray:
    """The cell of each: the nearest multiple of 1/128, from -40 to 40."""
    near = np.clip(log_odds, -FARTHEST, FARTHEST)
    return ((near + FARTHEST) * PER_LOG_ODDS + 0.5).astype(np.intp)  # down, as in a query


def _together(columns: list[tuple[str | None, Coded]], n_bins: int) -> list[Any]:
    """The columns in lists, each of which has few combinations of values; one list may be empty."""
    lists: list[list[tuple[str | None, Coded]]] = [[]]
    for each in columns:
        more = [*lists[-1], each]
        if lists[-1] and 2 * n_bins * prod(len(c.values) for _, c in more) > _MOST_JOINT:
            lists.append([each])
        else:
            lists[-1] = more
    return lists


def _slices(n: int, width: int) -> Iterator[slice]:
    """Rows in steps, of numbers that fit into a cache if each row has so many; none of width 0."""
    step = max(1, _STEP // max(1, width))
    return (slice(start, start + step) for start in range(0, n if width else 0, step))


def _measured(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each row its confidence, whether it is right, the log-odds of the confidence, and the NLL.

    The first two are those of `confidences_of`, with fewer passes over the classes.
    """
    nll = losses(rows)
    if rows.probs.ndim == 1:
        confidences, right = rows.probs, rows.labels == 1
        if rows.logits is not None:
            return confidences, right, rows.logits, nll
    else:
        of_label = rows.probs[np.arange(len(rows.labels)), rows.labels]
        top = reduce(np.maximum, rows.probs.T)
        confidences, right = top, of_label == top
        if np.count_nonzero(rows.probs == top[:, None]) > len(top):  # then the first one counts
            right = rows.probs.argmax(axis=1) == rows.labels
    kept = inside(confidences)
    return confidences, right, np.log(kept / (1 - kept)), nll


def _terms(confidences: np.ndarray, weights: np.ndarray | None) -> list[np.ndarray]:
    if weights is None:
        return [_units(confidences), _units(confidences**2)]
    high, low = [], []
    for of_rows in (weights, weights**2):
        for term in (np.ones_like(confidences), confidences, confidences**2):
            scaled = UNIT * (of_rows * term)
            high.append(np.floor(scaled))
            low.append(_units(scaled - high[-1]))
    return high + low


def _sum_in_units(values: np.ndarray) -> int:
    whole = np.floor(values)
    return int(whole.sum()) * int(UNIT) + int(_units(values - whole).sum())


def _units(values: np.ndarray) -> np.ndarray:
    found = UNIT * values
    found += 0.5  # not `rint`, which databases do not have
    return np.floor(found, out=found)


def _tally(key: np.ndarray, terms: list[np.ndarray], size: int) -> np.ndarray:
    """Int64, (1 + terms, size); float64 sums a million terms of up to 2^32 without rounding.

    Rows that follow each other are often of one bin. Each would wait for the last one to be
    written, so they are added to different copies of a small table.
    """
    copies = _COPIES if size <= _SMALL else 1
    if copies > 1:
        key = key + size * (np.arange(len(key)) & (copies - 1))
    sums = [np.bincount(key, term, copies * size).astype(np.int64) for term in terms]
    found = np.stack([np.bincount(key, minlength=copies * size), *sums])
    return found.reshape(-1, copies, size).sum(axis=1)


def _increase(sums: dict[Any, np.ndarray], found: Mapping[Any, np.ndarray]) -> None:
    for key, array in found.items():
        if key in sums:
            sums[key] += array
        else:
            sums[key] = array.copy()
