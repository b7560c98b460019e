"""The comparison of two models on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from calib_audit.bin_sums import briers, confidences_of, losses
from calib_audit.column_types import as_array
from calib_audit.columns import Columns, choose_columns
from calib_audit.formatting import counted_rows, number, points
from calib_audit.gathering import How
from calib_audit.measures import LEVEL, binnings_of, calibration_line, larger_error
from calib_audit.rows import Rows
from calib_audit.source import open_source
from calib_audit.totals import Totals
from calib_utils.comparing.pairs import Difference, McNemar, mcnemar, paired_difference

_SAME = "give predictions of the same rows in the same order, or name their key"


@dataclass(frozen=True)
class Pair:
    """The differences between two models.

    Attributes:
        n: rows.
        nll, brier: of the second minus the first.
        correct: on how many rows only one of the two is correct.
        errors: the interval of each model's population ECE, as in a report.
    """

    n: int
    nll: Difference
    brier: Difference
    correct: McNemar
    errors: tuple[tuple[float, float], tuple[float, float]]

    @property
    def exit_code(self) -> int:
        """0 if the second model's NLL is lower, 1 if it is higher, 3 if that is not clear."""
        low, high = self.nll.interval(LEVEL)
        return 0 if high < 0 else 1 if low > 0 else 3

    def text(self) -> str:
        """What was found, in plain text."""
        verdict = {
            0: "The second model is better",
            1: "The second model is worse",
            3: "It is not clear which of the two is better",
        }[self.exit_code]
        lines = [f"{verdict}, by the NLL of {self.n:,} rows."]
        for name, difference in (("NLL", self.nll), ("Brier score", self.brier)):
            low, high = difference.interval(LEVEL)
            lines.append(
                f"  {name}, second minus first: {number(difference.mean, 3)} "
                f"({number(low, 3)} to {number(high, 3)})"
            )
        for which, (low, high) in zip(("first", "second"), self.errors, strict=True):
            lines.append(f"  population ECE of the {which}: {points(low)} to {points(high)} points")
        lines.append(
            f"  only the first is correct on {counted_rows(self.correct.only_first)}, only the "
            f"second on {self.correct.only_second:,}"
        )
        return "\n".join(lines) + "\n"

    def numbers(self) -> dict[str, Any]:
        """All of it, for JSON."""
        found = {}
        for name, difference in (("nll", self.nll), ("brier", self.brier)):
            found[name] = asdict(difference) | {"interval": difference.interval(LEVEL)}
        return {
            "n": self.n,
            **found,
            "correct": self.correct._asdict(),
            "errors": self.errors,
            "exit_code": self.exit_code,
        }


def pair(
    first: Any,
    second: Any,
    named: Mapping[str, Any],
    *,
    key: str | None = None,
    drop: bool = False,
    rescale: bool = False,
) -> Pair:
    """Compare two models on the same rows, in the same order or joined by a key.

    Args:
        first, second: predictions in any form that a report takes.
        named: the columns of both, as for a report.
        key: the column whose value is another one in each row, and the same in both; None if the
            order is the same.
        drop, rescale: as for a report.

    Raises:
        FileNotFoundError: if a file is not there.
        ValueError: for bad input, or rows that are not the same.
    """
    if key is not None:
        named = {**named, "group": [key]}
    one, two = (_read(data, named, drop, rescale) for data in (first, second))
    if key is not None:
        one, two = (
            _by_key(model, key, which) for model, which in ((one, "first"), (two, "second"))
        )
        alone = np.setxor1d(one.keys, two.keys)
        if len(alone):
            raise ValueError(
                f"{key}: expected the same values in both, found {len(alone):,} that only one has, "
                f"such as {str(alone[0])!r}; give predictions of the same rows"
            )
    if len(one.labels) != len(two.labels):
        raise ValueError(
            f"second: expected {counted_rows(len(one.labels))}, as in the first, found "
            f"{len(two.labels):,}; {_SAME}"
        )
    columns, others = one.columns, two.columns
    if columns.classes != others.classes or columns.top_label != others.top_label:
        raise ValueError(
            f"second: expected {_what(columns)} as in the first, found {_what(others)}"
        )
    apart = np.count_nonzero(one.labels != two.labels)
    if apart:
        advice = _SAME if key is None else "give what happened alike in both"
        if "confidence" in (columns.kind, others.kind):
            advice += "; models that predict different classes need a column for each class"
        raise ValueError(
            f"second: expected the same labels as in the first, found {apart:,} others; {advice}"
        )
    nll, brier = paired_difference(one.nll, two.nll), paired_difference(one.brier, two.brier)
    return Pair(
        len(one.labels), nll, brier, mcnemar(one.correct, two.correct), (one.error, two.error)
    )


class _Model(NamedTuple):
    """What is compared of a model: its columns, numbers of each row in order, (n,), and error.

    The keys are text; there are none if rows are in the same order.
    """

    columns: Columns
    labels: np.ndarray
    nll: np.ndarray
    brier: np.ndarray
    correct: np.ndarray
    keys: np.ndarray
    error: tuple[float, float]


def _read(data: Any, named: Mapping[str, Any], drop: bool, rescale: bool) -> _Model:
    source = open_source(data)
    columns = choose_columns(source.columns, source=source, **named)
    how = How(columns, 15, drop, rescale, sample=False)
    sums, parts = how.no_sums(), []
    reader = how.reader(source)
    for rows in reader.blocks():
        key = [as_array(column) for column in rows.groups.values()] or [np.array([], str)]
        sums.add(rows._replace(groups={}))
        found = losses(rows), briers(rows), _correct(rows, columns.kind)
        parts.append((rows.labels, *found, key[0]))
    reader.counts.check(source.name, columns)
    labels, nll, brier, correct, keys = map(np.concatenate, zip(*parts, strict=True))
    totals = Totals(sums)
    line = calibration_line(*totals.confidences, totals.weights)
    error = larger_error(binnings_of(totals, line))
    return _Model(columns, labels, nll, brier, correct, keys, error)


def _by_key(model: _Model, key: str, which: str) -> _Model:
    """The model with its rows in the order of their keys."""
    found, order, counts = np.unique(model.keys, return_index=True, return_counts=True)
    if len(found) < len(model.keys):
        raise ValueError(
            f"{key}: expected another value in each row of the {which}, found "
            f"{str(found[counts.argmax()])!r} in {counts.max():,} rows"
        )
    return model._replace(
        labels=model.labels[order],
        nll=model.nll[order],
        brier=model.brier[order],
        correct=model.correct[order],
        keys=found,
    )


def _what(columns: Columns) -> str:
    if columns.classes:
        names = ", ".join(columns.classes[:4]) + (", …" if len(columns.classes) > 4 else "")
        return f"the classes {names}"
    return "confidences" if columns.top_label else "scores"


def _correct(rows: Rows, kind: str) -> np.ndarray:
    if kind == "confidence":
        return rows.labels == 1
    if rows.probs.ndim == 1:
        return np.asarray((rows.probs > 0.5) == (rows.labels == 1))
    return confidences_of(rows)[1]
