"""The role of each column, as given, or guessed from its name or from the labels."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from calib_audit.column_types import check_flat, is_missing, is_number, texts_of
from calib_audit.probabilities import ROUNDED
from calib_audit.source import Block, Source

_NEAR_ONE = 1e-2  # how far from 1 rows of probabilities may sum
_PREFIXES = "prob_", "logit_", "logprob_"
UNITS = {"Y": "year", "M": "month", "W": "week", "D": "day", "h": "hour"}


@dataclass(frozen=True)
class Columns:
    """What is read from each row.

    Attributes:
        label: the column of what happened; with confidences, of whether they were correct; empty
            where nothing has happened yet.
        scores: one column, or one for each class.
        kind: "score" (the probability of the positive class), "logit" (its log-odds), "probs",
            "logits", "logprobs" (logarithms of probabilities) or "confidence".
        classes: the names of the classes, of "probs", "logits" and "logprobs".
        positive: the label that counts as positive; None for 1, true and yes.
        weight, groups, time, unit: further columns, and the unit in which time is counted.
        blocks: the column whose equal values mark rows that belong together.
        crossed: those of ``groups`` that are cells of several columns, such as ``region*product``.
    """

    label: str
    scores: tuple[str, ...]
    kind: str
    classes: tuple[str, ...] = ()
    positive: str | None = None
    weight: str | None = None
    groups: tuple[str, ...] = ()
    time: str | None = None
    unit: str = "D"
    guessed: tuple[str, ...] = field(default=(), compare=False)
    blocks: str | None = None
    crossed: tuple[str, ...] = ()

    @property
    def binary(self) -> bool:
        """Whether a row has one score, rather than one for each class."""
        return self.kind in ("score", "logit", "confidence")

    @property
    def top_label(self) -> bool:
        """Whether the confidences are those in the predicted class (top-label calibration),
        rather than probabilities of a positive class.
        """
        return self.kind not in ("score", "logit")

    def of_group(self, name: str) -> list[str]:
        """The columns whose values make the groups of this name."""
        return name.split("*") if name in self.crossed else [name]

    @property
    def of_groups(self) -> list[str]:
        """The columns of all groups."""
        return [column for name in self.groups for column in self.of_group(name)]

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        others = [self.weight, *self.of_groups, self.time, self.blocks]
        return list(dict.fromkeys(filter(None, [self.label, *self.scores, *others])))


def choose_columns(
    head: Sequence[str],
    *,
    label: str | None = None,
    score: str | None = None,
    positive: str | None = None,
    weight: str | None = None,
    group: Sequence[str] = (),
    time: str | None = None,
    classes: Sequence[str] = (),
    blocks: str | None = None,
    source: Source | None = None,
) -> Columns:
    """Which columns to read.

    Args:
        head: the names of all columns.
        label: the column of labels; guessed, ignoring case: "label" or "correct". Together with
            "correct", a score is the confidence that the prediction is correct.
        score: the column of scores; or a pattern such as "p_*" for a column a class, which are
            logits if it begins with "logit", and log-probabilities if it begins with "logprob".
            Guessed: "score", "logit", "confidence", "prob_*", "logit_*" or "logprob_*".
        positive: the label that counts as positive; with several classes, the one to look at.
        weight: a column of weights.
        group: columns whose values divide the rows into groups.
        time: a column of dates, and after a colon the unit: "date:D" (also h, W, M, Y).
        classes: the names of the classes in the order of the columns.
        blocks: a column whose equal values mark rows that belong together.
        source: has these columns. If no scores are guessed, its first rows tell which columns are
            named after the labels.

    Raises:
        ValueError: if a column is missing or cannot be guessed, or if ``classes`` contradicts the
            name of a column.
    """
    found = [] if score is not None else _guess_scores(head)
    what, by_label = label or _guess_label(head), list[str]()
    if score is None and not found and source is not None and what in head:
        others = {what, weight, blocks, *group, *(time or "").rpartition(":")}
        unknown = [name for name in head if name not in others]
        by_label = _called_as_labels(source, str(what), unknown)
    if not (label or score or what or found):
        raise ValueError(
            f"label, score: expected a column 'label' and one of predictions, found {some(head)}; "
            "name the column of what happened with label=..., and that of predictions with "
            "score=..., unless there is one named after each label"
        )
    scores, kind = _choose_scores(head, score, found or by_label)
    guessed = scores if score is None else []
    if label is None:
        label = _lower(head).get("correct") if kind == "confidence" else what
        if label is None:
            wanted = "correct" if kind == "confidence" else "label"
            raise ValueError(
                f"label: expected a column {wanted!r}, found {some(head)}; "
                "name the column of what happened with label=..."
            )
        guessed = [*guessed, label]
    if kind == "score" and label.lower() == "correct":
        kind = "confidence"
    if label in scores:
        raise ValueError(f"label, score: expected two columns, found {label!r} for both")
    names: tuple[str, ...] = ()
    if len(scores) > 1:
        called = list(scores)
        if score is not None and score.count("*") == 1 and score not in head:
            start, _, end = score.partition("*")  # classes are named by what the pattern leaves out
            called = suffixes([name[len(start) : len(name) - len(end)] for name in scores])
        elif scores != by_label:
            called = suffixes(scores)
        names = tuple(classes) or tuple(called)
        if len(names) != len(scores):
            raise ValueError(
                f"classes: expected {len(scores)} names, one for each column, found {len(names)}"
            )
        if len(set(names)) < len(names):
            raise ValueError(f"classes: expected different names, found {', '.join(names)}")
        for column, name, own in zip(scores, names, called, strict=True):
            if name != own and name in called:
                raise ValueError(
                    f"classes: expected the order of the columns, {some(called)}, found {name!r} "
                    f"for {column!r}; leave classes out, or give them in that order"
                )
    elif classes:
        raise ValueError(f"classes: expected columns of several classes, found only {scores[0]!r}")
    if names and positive is not None:
        if positive not in names:
            raise ValueError(f"positive: expected one of {some(names)}, found {positive!r}")
        if kind == "probs":  # one class against all others
            scores, kind, names = [scores[names.index(positive)]], "score", ()
        else:
            raise ValueError(
                f"positive: expected probabilities, found {kind} of several classes; one class "
                "alone needs its probability"
            )
    for other, value in (("weight", weight), ("time", time)):
        if blocks is not None and value is not None:
            raise ValueError(
                f"blocks: expected without {other}, found both; rows in blocks count alike, and "
                "how blocks differ is not told of each span of time"
            )
    unit = "D"
    if time is not None and time not in head and ":" in time:
        time, _, unit = time.rpartition(":")
        if unit not in UNITS:
            raise ValueError(f"time: expected a unit {', '.join(UNITS)}, found {unit!r}")
    crossed = tuple(name for name in group if name not in head and "*" in name)
    for name in crossed:
        columns_of_group(name, head)
    return Columns(
        label=there(label, head),
        scores=tuple(scores),
        kind=kind,
        classes=names,
        positive=positive,
        weight=None if weight is None else there(weight, head),
        groups=tuple(name if name in crossed else there(name, head) for name in group),
        time=None if time is None else there(time, head),
        unit=unit,
        guessed=tuple(guessed),
        blocks=None if blocks is None else there(blocks, head),
        crossed=crossed,
    )


def _choose_scores(
    head: Sequence[str], score: str | None, found: Sequence[str]
) -> tuple[list[str], str]:
    """The columns of the predictions and their ``kind``, as in `Columns`.

    Raises:
        ValueError: if they are missing or cannot be guessed.
    """
    if score is None:
        scores = list(found)
        if not scores:
            raise ValueError(
                "score: expected a column 'score', 'logit' or 'confidence', columns 'prob_…', "
                f"'logit_…' or 'logprob_…', or one named after each label, found {some(head)}; "
                "name the column of predictions with score=..."
            )
    else:
        scores = [name for name in head if fnmatchcase(name, score)] or [there(score, head)]
    return scores, _kind(scores)


def _lower(head: Sequence[str]) -> dict[str, str]:
    return {name.lower(): name for name in reversed(head)}


def _guess_label(head: Sequence[str]) -> str | None:
    """The column of labels, if a name suggests one."""
    low = _lower(head)
    return next((low[name] for name in ("label", "labels", "correct") if name in low), None)


def _guess_scores(head: Sequence[str]) -> list[str]:
    """The columns of the predictions, if their names suggest them, and otherwise none.

    Raises:
        ValueError: if there is a column for only one of several classes, or two for each.
    """
    low = _lower(head)
    for name in ("score", "confidence", "logit", "logits", "prob", "probs"):
        if name in low:
            return [low[name]]
    for prefix in _PREFIXES:
        found = [name for name in head if name.lower().startswith(prefix)]
        if len(found) > 1:
            _refuse_two_sets(found)
            return found
        if found:
            raise ValueError(
                f"score: expected two columns {prefix}… or more, found {found[0]!r} alone; for one "
                f"probability of a positive class give score={found[0]!r}"
            )
    return []


def _refuse_two_sets(names: Sequence[str]) -> None:
    """Raise a ValueError for columns of the same classes twice, such as before and after
    recalibration: prob_a, prob_b, prob_cal_a and prob_cal_b, or prob_a_cal and prob_b_cal.
    """
    prefix = next(prefix for prefix in _PREFIXES if names[0].lower().startswith(prefix))
    classes = [name[len(prefix) :] for name in names]
    for named, pattern in ((classes, "{}*"), ([name[::-1] for name in classes], "*{}")):
        marks = {
            name[:i] for name in named for i in range(2, len(name)) if not name[i - 1].isalnum()
        }
        for mark in marks:
            marked = sorted(name.removeprefix(mark) for name in named if name.startswith(mark))
            if len(marked) > 1 and marked == sorted(x for x in named if not x.startswith(mark)):
                shown = pattern.format(prefix + mark if named is classes else mark[::-1])
                raise ValueError(
                    f"score: found two sets of columns for the same classes, one of which is "
                    f"{shown!r}, among {some(names)}; name that one with score={shown!r}, or give "
                    "the file without it"
                )


def _kind(scores: Sequence[str]) -> str:
    logits = all(name.lower().startswith("logit") for name in scores)
    if len(scores) > 1:
        logs = all(name.lower().startswith("logprob") for name in scores)
        return "logits" if logits else "logprobs" if logs else "probs"
    return "logit" if logits else "confidence" if scores[0].lower() == "confidence" else "score"


def suffixes(scores: Sequence[str]) -> list[str]:
    """The names of the columns without the beginning that they share."""
    for prefix in _PREFIXES:
        if all(name.lower().startswith(prefix) for name in scores):
            return [name[len(prefix) :] for name in scores]
    characters = enumerate(zip(*scores, strict=False))
    shared = next((i for i, found in characters if len(set(found)) > 1), 0)
    while shared and scores[0][shared - 1].isdigit():
        shared -= 1  # for p_10 and p_11 it is "p_"
    names = [name[shared:] for name in scores]
    if not all(name.isdigit() for name in names):
        while shared and scores[0][shared - 1].isalnum():
            shared -= 1  # and for p_cat and p_cow
        names = [name[shared:] for name in scores]
    return names if all(names) else list(scores)


def there(name: str, head: Sequence[str]) -> str:
    """The name, if it is that of a column.

    Raises:
        ValueError: if it is not.
    """
    if name in head:
        return name
    near = difflib.get_close_matches(name, head, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name}: there is no such column, only {some(head)}{meant}")


def columns_of_group(name: str, head: Sequence[str]) -> list[str]:
    """The columns whose values make the groups: this one, or several, as of ``region*product``.

    Raises:
        ValueError: if one is not there.
    """
    parts = [name] if name in head else name.split("*")
    return [there(part, head) for part in parts]


def some(names: Sequence[str]) -> str:
    """The first names, for messages."""
    shown = ", ".join(map(repr, names[:8]))
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"


def scores_of(source: Source, score: str | None, n_classes: int | None) -> tuple[list[str], str]:
    """The columns of the predictions and their ``kind``, of a source that need not have labels.

    Columns without a known prefix are taken for those of the classes if their rows sum to one and
    their number is ``n_classes``, where that is known.

    Raises:
        ValueError: if a column is not there, or cannot be guessed.
    """
    head = source.columns
    called = [] if score is not None else _guess_scores(head)
    if score is None and not called:
        others = [name for name in head if name != _guess_label(head)]
        block = next(iter(source.blocks(others)), {})
        likely = [name for name, values in block.items() if _holds_probabilities(values)]
        if len(likely) > 1 and n_classes in (None, len(likely)) and _sum_to_one(block, likely):
            called = likely
    return _choose_scores(head, score, called)


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
    return bool(len(sums) and np.median(np.abs(sums - 1)) <= _NEAR_ONE)


def _holds_probabilities(values: np.ndarray) -> bool:
    if values.ndim > 1:
        return False
    numbers = _numbers(values[~is_missing(values)])
    return bool(((numbers >= -ROUNDED) & (numbers <= 1 + ROUNDED)).all())


def _numbers(values: np.ndarray) -> np.ndarray:
    """The numbers, with NaN for a cell that has none."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([float(v) if is_number(v) else np.nan for v in values], np.float64)
