"""A recalibrator for each group, where one map for all rows leaves a group beyond the tolerance."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib_audit.bin_sums import BinSums, confidences_of, losses, sums_of_blocks, tally
from calib_audit.column_types import as_array
from calib_audit.parts import BEYOND, WITHIN, Part, judge_parts
from calib_audit.rows import Rows
from calib_utils.comparing.pairs import paired_difference
from calib_utils.recalibration import PlattPerGroup

__all__ = ["MapsPerGroup", "judge_groups", "try_per_group"]


@dataclass(frozen=True)
class MapsPerGroup:
    """A map for each value of a column, and how it did on rows that it was not fitted on.

    Attributes:
        nll: of the recalibrated predictions.
        gain: the change of the NLL beside the best map for all rows, or beside no map if none
            helps; below 0 if maps of their own help.
        interval: of the gain, 95 %, corrected for the number of columns that were tried.
        parts: the rows of each value, after recalibration.
        best: fitted for use, on all rows given for it; None if the interval of the gain is not
            below 0.
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
    names = [
        name
        for name, parts in left.items()
        if name in learn.groups
        and any(
            now.outcome == BEYOND or (then.outcome == BEYOND and now.outcome != WITHIN)
            for then, now in zip(started[name], parts, strict=True)
        )
    ]
    before = losses(common)
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
        gain = paired_difference(
            before, now, sample_weight=rows.weights, blocks=rows.names_of_blocks
        )
        interval = gain.interval(1 - 0.05 / len(names))
        found[name] = MapsPerGroup(
            nll=float(np.average(now, weights=rows.weights)),
            gain=gain.mean,
            interval=interval,
            parts=judge_groups(after._replace(groups={name: rows.groups[name]}), limits)[name],
            best=_fit(learn, name, from_logits) if interval[1] < 0 else None,
        )
    return found


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
