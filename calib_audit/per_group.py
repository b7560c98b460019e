"""A recalibrator for each group, where one map for all rows leaves a group beyond the tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib_audit.bin_sums import BinSums, confidences_of, losses, sums_of_blocks, tally
from calib_audit.column_types import as_array
from calib_audit.parts import Part, judge_parts, left_wrong
from calib_audit.rows import Rows
from calib_utils.comparing.pairs import Difference, paired_difference
from calib_utils.recalibration import PlattPerGroup

__all__ = ["MapsPerGroup", "judge_groups", "try_per_group"]


@dataclass(frozen=True)
class MapsPerGroup:
    """A map for each value of a column, and how it did on rows that it was not fitted on.

    Attributes:
        nll: of the recalibrated predictions.
        gain: the change of the NLL in the groups that the best map for all rows leaves wrong,
            beside that map, or beside no map if none helps; below 0 if maps of their own help.
        interval: of the gain, 95 %, corrected for the number of columns that were tried.
        parts: the rows of each value, after recalibration.
        best: fitted for use, on all rows given for it; None if the interval of the gain is not
            below 0, or if that of all rows is above it.
    """

    nll: float
    gain: float
    interval: tuple[float, float]
    parts: list[Part]
    best: PlattPerGroup | None


def judge_groups(rows: Rows, limits: tuple[float, float]) -> dict[str, list[Part]]:
    """The rows of each value of each column of groups, as `judge_parts` judges them."""
    found = {}
    for name, column in rows.groups.items():
        of_rows = *confidences_of(rows), column.codes, len(column.values)
        if rows.blocks is None:
            sums = tally(*of_rows, rows.weights)
        else:
            sums = sums_of_blocks(*of_rows, rows.blocks.codes).array
        parts = {str(value): BinSums(sums[:, [place]]) for place, value in enumerate(column.values)}
        found[name] = judge_parts(parts, *limits, in_blocks=rows.blocks is not None)
    return found


def try_per_group(
    rows: Rows,
    common: Rows,
    left: Mapping[str, Sequence[Part]],
    fit_rows: Rows | None,
    fold_of: np.ndarray,
    *,
    from_logits: bool,
    limits: tuple[float, float],
) -> dict[str, MapsPerGroup]:
    """Fit a map for each group of the columns in which one map for all leaves a group wrong.

    That is a group that is beyond, or one that was beyond and is not yet within.

    Args:
        rows: the original predictions; of one score.
        common: the same rows, after the best map for all, which was fitted on the same other ones.
        left: for each column, how ``common`` does in each group.
        fit_rows: those on which the maps are fitted, which may lack a column; None to cross-fit
            them on ``rows``.
        fold_of: (n,), the fold of each row.
        from_logits: whether logits were given, rather than probabilities.
        limits: the tolerance and the relative tolerance.

    Returns:
        By the name of the column.
    """
    learn = rows if fit_rows is None else fit_rows
    started = left if common is rows else judge_groups(rows, limits)
    wrong = {
        name: left_wrong(started[name], parts)
        for name, parts in left.items()
        if name in learn.groups
    }
    names = [name for name, values in wrong.items() if values]
    before = losses(common)
    level = 1 - 0.05 / max(len(names), 1)
    found = {}
    for name in names:
        try:
            if fit_rows is not None:
                probs = _predicted(rows, _fit(fit_rows, name, from_logits))
            else:
                probs = np.empty(len(rows.labels))
                for fold in np.unique(fold_of):
                    here = fold_of == fold
                    maps = _fit(rows.take(~here), name, from_logits)
                    probs[here] = _predicted(rows.take(here), maps)
        except ValueError:  # which stands in the table, because Platt scaling meets it as well
            continue
        after = rows._replace(probs=probs, logits=None, dtype="float64")
        now = losses(after)
        column = rows.groups[name]
        failed = np.isin(column.values, wrong[name])[column.codes]
        gain, of_all = (_gain(before, now, rows, here) for here in (failed, failed | True))
        interval = gain.interval(level)
        helps = interval[1] < 0 and of_all.interval(level)[0] <= 0
        found[name] = MapsPerGroup(
            nll=float(np.average(now, weights=rows.weights)),
            gain=gain.mean,
            interval=interval,
            parts=judge_groups(after._replace(groups={name: rows.groups[name]}), limits)[name],
            best=_fit(learn, name, from_logits) if helps else None,
        )
    return found


def _gain(before: np.ndarray, now: np.ndarray, rows: Rows, here: np.ndarray) -> Difference:
    weights, blocks = (
        None if each is None else each[here] for each in (rows.weights, rows.names_of_blocks)
    )
    return paired_difference(before[here], now[here], sample_weight=weights, blocks=blocks)


def _predicted(rows: Rows, maps: PlattPerGroup) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a group that the fit lacks
        groups = as_array(rows.groups[maps.group_column_])
        return np.asarray(maps.predict_proba(rows.inputs(maps.inputs), groups=groups))


def _fit(rows: Rows, name: str, from_logits: bool) -> PlattPerGroup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        maps = PlattPerGroup(inputs="logits" if from_logits else "probs")
        groups = as_array(rows.groups[name])
        maps.fit(rows.inputs(maps.inputs), rows.labels, rows.worth, groups)
    maps.group_column_ = name
    return maps
