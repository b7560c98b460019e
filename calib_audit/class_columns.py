"""Columns that are named after the labels, such as scikit-learn's ``classes_`` gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_audit.column_types import check_flat, is_missing, is_number, texts_of
from calib_audit.columns import (
    Columns,
    choose_columns,
    choose_scores,
    guess_label,
    guess_scores,
)
from calib_audit.source import Block, Source

__all__ = ["columns_of", "scores_of"]

_ROUNDED = 1e-2  # how far from 1 rows of probabilities may sum


def columns_of(source: Source, **named: Any) -> Columns:
    """`choose_columns` of a source, whose rows are inspected if names alone do not decide.

    Raises:
        ValueError: if a column is not there, or cannot be guessed.
    """
    head = source.columns
    label = named.get("label") or guess_label(head)
    called: list[str] = []
    if named.get("score") is None and not guess_scores(head) and label in head:
        time = (named.get("time") or "").rpartition(":")
        others = {label, named.get("weight"), named.get("blocks"), *named.get("group", ()), *time}
        called = _called_as_labels(source, label, [name for name in head if name not in others])
    return choose_columns(head, by_label=called, **named)


def scores_of(source: Source, score: str | None, n_classes: int | None) -> tuple[list[str], str]:
    """`choose_scores` of a source that need not have labels.

    Columns without a known prefix are taken for those of the classes if their rows sum to one and
    their number is ``n_classes``, where that is known.

    Raises:
        ValueError: if a column is not there, or cannot be guessed.
    """
    head, called = source.columns, list[str]()
    if score is None and not guess_scores(head):
        others = [name for name in head if name != guess_label(head)]
        block = next(iter(source.blocks(others)), {})
        likely = [name for name, values in block.items() if _holds_probabilities(values)]
        if len(likely) > 1 and n_classes in (None, len(likely)) and _sum_to_one(block, likely):
            called = likely
    return choose_scores(head, score, called)


def _called_as_labels(source: Source, label: str, candidates: Sequence[str]) -> list[str]:
    """The columns of probabilities, if each label in the first rows has one. A rare label may be
    missing from these rows, but its column is found all the same.
    """
    block = next(iter(source.blocks([label, *candidates])), None)
    if block is None:
        return []
    check_flat(block[label], label)
    missing = is_missing(block[label], source.words) & ~np.isin(texts_of(block[label]), candidates)
    labels = set(texts_of(block[label][~missing]))
    if not labels or not labels <= set(candidates):
        return []
    likely = [name for name in candidates if name in labels or _holds_probabilities(block[name])]
    if len(likely) > 1 and _sum_to_one(block, likely):
        return likely
    return [name for name in likely if name in labels]


def _sum_to_one(block: Block, names: Sequence[str]) -> bool:
    sums = np.asarray(sum(_numbers(block[name]) for name in names))
    sums = sums[~np.isnan(sums)]
    return bool(len(sums) and np.median(np.abs(sums - 1)) <= _ROUNDED)


def _holds_probabilities(values: np.ndarray) -> bool:
    if values.ndim > 1:
        return False
    numbers = _numbers(values[~is_missing(values)])
    return bool(((numbers >= 0) & (numbers <= 1)).all())


def _numbers(values: np.ndarray) -> np.ndarray:
    """The numbers, with NaN for a cell that has none."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([float(v) if is_number(v) else np.nan for v in values], np.float64)
