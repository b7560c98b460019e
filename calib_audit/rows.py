"""Rows of predictions, with a check that numbers are probabilities and labels are classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from calib_audit.column_types import (
    Coded,
    as_array,
    as_coded,
    by_value,
    check_flat,
    crossed,
    float_type,
    is_missing,
    names_of,
    texts_of,
    times_of,
    weights_of,
    without_point,
)
from calib_audit.columns import Columns
from calib_audit.probabilities import log_probs_of, probabilities, scores_in
from calib_audit.source import Source
from calib_utils._numerics import effective_size
from calib_utils.metrics.bins import rounded
from calib_utils.predictions.scores import MANY, like_probs

LABELS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
_SHOWN = 1_000  # labels of a block from which an error's examples are taken


class Rows(NamedTuple):
    """Some rows.

    Attributes:
        probs: float64, (n,) of the positive class, or (n, K).
        logits: what was given, if it was log-odds, (n,), or logits, (n, K); None if `probs` was.
        labels: int64, (n,).
        groups: text, (n,), for each column of groups.
        times: datetime64 in the unit that was asked for, (n,); None without a column of time.
        weights: (n,), as parts of the largest when they are counted; None if all count alike.
        dtype: the type in which probabilities came. Edges of bins are rounded to it, as they are
            for the metrics, so that 0.6 is on an edge in float32 as in float64.
        blocks: text, (n,): rows of the same block belong together; None if all are independent.
    """

    probs: np.ndarray
    logits: np.ndarray | None
    labels: np.ndarray
    groups: dict[str, Coded]
    times: Coded | None
    weights: np.ndarray | None
    dtype: str = "float64"
    blocks: Coded | None = None

    @property
    def log_probs(self) -> np.ndarray:
        """As `log_probs_of` gives them; of probabilities anew at each call."""
        return log_probs_of(self.probs, self.logits)

    def inputs(self, kind: str) -> np.ndarray:
        """What a recalibrator of "logits" or of "probs" takes."""
        return self.log_probs if kind == "logits" else self.probs

    @property
    def worth(self) -> np.ndarray | None:
        """The weights, adding up to Kish's effective size; for fits that count rows.

        Soft targets and priors do so, and the rows are worth no more.
        """
        if self.weights is None:
            return None
        return self.weights * (effective_size(self.weights) / self.weights.sum())

    @property
    def names_of_blocks(self) -> np.ndarray | None:
        """The block of each row, (n,)."""
        return None if self.blocks is None else as_array(self.blocks)

    def take(self, which: Any) -> Rows:
        """The rows that an index or a mask selects."""
        return Rows(
            self.probs[which],
            None if self.logits is None else self.logits[which],
            self.labels[which],
            {name: values[which] for name, values in self.groups.items()},
            None if self.times is None else self.times[which],
            None if self.weights is None else self.weights[which],
            self.dtype,
            None if self.blocks is None else self.blocks[which],
        )

    @staticmethod
    def join(parts: Sequence[Rows]) -> Rows:
        """All rows of several parts, without their times."""
        probs, logits, labels, groups, _, weights, dtypes, blocks = zip(*parts, strict=True)
        return Rows(
            np.concatenate(probs),
            None if logits[0] is None else np.concatenate(logits),
            np.concatenate(labels),
            {
                name: as_coded(np.concatenate([as_array(one[name]) for one in groups]))
                for name in groups[0]
            },
            None,
            None if weights[0] is None else np.concatenate(weights),
            dtypes[0],
            None if blocks[0] is None else as_coded(np.concatenate([*map(as_array, blocks)])),
        )


@dataclass(kw_only=True)
class Counts:
    """The number of rows that needed attention.

    Attributes:
        read: the number of rows.
        dropped, rescaled: how many of them were left out, or divided.
        impossible: how many had a probability of 0 for what happened.
        filled, elsewhere: of log-probabilities, as in `Probabilities`.
        numbered: whether labels were numbers, and the columns have the names of the classes.
        doubtful: whether all logits, or log-odds, look like probabilities.
        seen: if a positive label was named, some of the labels that occur, with the positive one
            among them if it does.
    """

    read: int = 0
    dropped: int = 0
    rescaled: int = 0
    impossible: int = 0
    filled: int = 0
    elsewhere: int = 0
    numbered: bool = False
    doubtful: bool = True
    seen: set[str] = field(default_factory=set)

    def add(self, other: Counts) -> None:
        """Add the counts of other rows."""
        self.read += other.read
        self.dropped += other.dropped
        self.rescaled += other.rescaled
        self.impossible += other.impossible
        self.filled += other.filled
        self.elsewhere += other.elsewhere
        self.numbered |= other.numbered
        self.doubtful &= other.doubtful
        self.seen |= other.seen

    def check(self, name: str, columns: Columns) -> None:
        """Check what only all rows of ``name`` together can show.

        Raises:
            ValueError: if there are no rows, or the positive label may be spelt differently.
        """
        if self.read == self.dropped:
            left = f"; all {self.dropped:,} were dropped" if self.dropped else ""
            raise ValueError(f"{name}: there are no rows{left}")
        self.doubtful = self.doubtful and self.read - self.dropped >= MANY
        positive = columns.positive  # which may be rare where it never occurs, or misspelt
        if positive is None:
            return
        alike = [each for each in sorted(self.seen) if _alike(each, positive) and each != positive]
        if positive in self.seen:
            if alike:
                raise ValueError(
                    f"positive: expected one spelling of {positive!r}, found {alike[0]!r} too in "
                    f"{columns.label!r}; write both alike"
                )
        elif alike or len(self.seen) > 1:
            shown = ", ".join(map(repr, sorted(self.seen)[:6]))
            raise ValueError(
                f"positive: expected a label that occurs, found {positive!r}; the labels in "
                f"{columns.label!r} are {shown}"
            )


class RowsReader:
    """Reads blocks of a source, and counts the rows that needed attention.

    Args:
        source, columns: what is read.
        drop: whether rows with a missing value are left out.
        rescale: whether rows of probabilities are divided by their sum.
    """

    def __init__(self, source: Source, columns: Columns, drop: bool = False, rescale: bool = False):
        self.source, self.columns, self.drop, self.rescale = source, columns, drop, rescale
        self.counts = Counts(doubtful=columns.kind in ("logit", "logits"))

    def blocks(self) -> Iterator[Rows]:
        """The rows, in the blocks of the source; a block may have none left.

        Raises:
            ValueError: for invalid rows.
        """
        return map(self.rows_of, self.source.blocks(self.columns.names))

    def rows_of(self, raw: Mapping[str, Any]) -> Rows:
        """The rows of a block of columns, each of which is an array or `Coded`.

        Raises:
            ValueError: for invalid rows.
        """
        columns, counts = self.columns, self.counts
        for name, values in raw.items():
            check_flat(values, name)
        n = len(raw[columns.scores[0]])
        places = np.arange(counts.read + 1, counts.read + 1 + n)  # of rows, counted from 1
        counts.read += n
        gone = self._missing(raw, places)
        if gone.any():
            raw = {name: values[~gone] for name, values in raw.items()}
            places = places[~gone]
            counts.dropped += int(gone.sum())
        scores = scores_in(raw, columns.scores, columns.kind, places)
        labels = np.zeros(len(places), np.int64)
        if columns.label:
            labels = as_array(by_value(self._labels, raw[columns.label], places))
        found = probabilities(scores, columns.kind, columns.scores, places, self.rescale)
        probs, dtype = found.probs, self._dtype(raw)
        counts.rescaled += found.rescaled
        counts.filled += found.filled
        counts.elsewhere += found.elsewhere
        if found.rescaled:
            probs = rounded(probs, dtype).astype(np.float64)
        if counts.doubtful and len(scores):
            counts.doubtful = bool(like_probs(scores if probs.ndim == 2 else scores[:, 0], True))
        if found.logits is None and probs.size and (probs.min() <= 0 or probs.max() >= 1):
            if probs.ndim == 2:
                of_label = probs[np.arange(len(probs)), labels]
            else:
                of_label = np.where(labels == 1, probs, 1 - probs)
            counts.impossible += int((of_label <= 0).sum())
        times = None
        if columns.time is not None:
            read = partial(times_of, name=columns.time, unit=columns.unit)
            times = as_coded(by_value(read, raw[columns.time], places))
        weights = None
        if columns.weight is not None:
            weights = weights_of(as_array(raw[columns.weight]), columns.weight, places)
        parts = {
            name: as_coded(by_value(self._names, raw[name], places)) for name in columns.of_groups
        }
        groups = {
            name: crossed([parts[one] for one in columns.of_group(name)]) for name in columns.groups
        }
        blocks = None
        if columns.blocks is not None:
            blocks = as_coded(by_value(_texts, raw[columns.blocks], places))
        return Rows(probs, found.logits, labels, groups, times, weights, dtype, blocks)

    def _dtype(self, raw: Mapping[str, Any]) -> str:
        """The type in which probabilities came."""
        scores = self.columns.scores
        if self.columns.kind in ("logit", "logits", "logprobs"):
            return "float64"
        if self.source.bfloat16.issuperset(scores):
            return "bfloat16"
        return float_type(raw[name] for name in scores)

    def _without_value(self, values: Any, name: str) -> np.ndarray:
        """Which cells are empty. A word says so where numbers or times are, and of a label where
        all cells are text, but not where it is a class that was declared, and never of a group or
        a block: NA may be North America.
        """
        columns = self.columns
        if name != columns.label:
            return is_missing(values, name in (*columns.scores, columns.weight, columns.time))
        missing = is_missing(values, self.source.words)
        if not (self.source.words and missing.any()):
            return missing
        declared = {*columns.classes, columns.positive} - {None}
        texts = texts_of(as_array(values))
        return missing & ~np.isin(texts, sorted(declared))

    def _missing(self, raw: Mapping[str, Any], places: np.ndarray) -> np.ndarray:
        gone = np.zeros(len(places), bool)
        may_lack = self.columns.scores if self.columns.kind == "logprobs" else ()
        if may_lack and self.drop:
            gone |= np.isneginf(scores_in(raw, may_lack, "logprobs", places)).all(axis=1)
        for name, values in raw.items():
            if name in may_lack:
                continue
            missing = self._without_value(values, name)
            if not missing.any():
                continue
            if not self.drop:
                first, more = int(missing.argmax()), int(missing.sum()) - 1
                cell = as_array(values[[first]])[0]
                found = repr(cell.strip()) if isinstance(cell, str) and cell.strip() else "none"
                others = f", and in at least {more:,} more" if more else ""
                out = ", or leave such rows out with drop=True" if self.columns.label else ""
                raise ValueError(
                    f"{name}: expected a value in each row, found {found} in row "
                    f"{places[first]:,}{others}; fill them{out}"
                )
            gone |= missing
        return gone

    def _names(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        texts = texts_of(values)
        return names_of(texts) if self.source.words else texts

    def _labels(self, values: np.ndarray, places: np.ndarray) -> np.ndarray:
        columns, counts = self.columns, self.counts
        found, inverse = np.unique(texts_of(values), return_inverse=True)
        bare = without_point(found)
        if columns.binary and columns.positive is None:
            known: dict[str, int] = LABELS
        elif columns.binary:
            positive = str(columns.positive)
            happened = bare == without_point(np.array([positive]))[0]
            alike = [each for each in bare.tolist() if _alike(each, positive)]
            counts.seen |= {*bare[:_SHOWN].tolist(), *alike}
            return happened.astype(np.int64)[inverse.ravel()]
        else:
            known = {name: k for k, name in enumerate(columns.classes)}
        numbers = [
            next((known[each] for each in (text, number, text.lower()) if each in known), -1)
            for text, number in zip(found.tolist(), bare.tolist(), strict=True)
        ]
        if -1 in numbers and not columns.binary and _are_places(bare, columns.classes):
            if list(columns.classes) != sorted(columns.classes):
                raise ValueError(
                    f"{columns.label}: found numbers, such as {str(found[0])!r}, and the columns "
                    f"{', '.join(columns.classes[:6])}, which are not in alphabetical order, so "
                    "it is not clear which class a number means; give the number of each column as "
                    "classes=..., such as 1, 0, 2"
                )
            counts.numbered = True
            numbers = bare.astype(int).tolist()
        if -1 in numbers:
            odd = str(found[numbers.index(-1)])[:60]
            row = places[(inverse == numbers.index(-1)).argmax()]
            advice = f"0 or 1, found {odd!r} in row {row:,}; "
            if columns.kind == "confidence":
                advice += "give 1 where the prediction is correct"
            elif columns.binary:
                advice += "name the positive label with positive=..."
            else:
                shown = ", ".join(columns.classes[:6]) + (", …" if len(columns.classes) > 6 else "")
                advice = (
                    f"a class ({shown}), found {odd!r} in row {row:,}; name the classes in the "
                    "order of the columns with classes=..."
                )
            raise ValueError(f"{columns.label}: expected {advice}")
        return np.array(numbers, np.int64)[inverse.ravel()]


def _alike(label: str, positive: str) -> bool:
    """Whether they differ in case at most."""
    return label.casefold() == positive.casefold()


def _are_places(texts: np.ndarray, classes: Sequence[str]) -> bool:
    """Whether labels are numbers of columns with other names."""
    named = any(name.lstrip("-").isdigit() for name in classes)
    return not named and {*texts.tolist()} <= {str(k) for k in range(len(classes))}


def _texts(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    return texts_of(values)
