"""Which recalibrator helps, for all rows or for each group, on rows that it was not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from calib_audit.bin_sums import confidences_of, losses, order_of
from calib_audit.column_types import as_array
from calib_audit.lots import SEED
from calib_audit.measures import auroc_of
from calib_audit.parts import Part, judge_groups, left_wrong
from calib_audit.rows import Rows
from calib_utils._numerics import effective_size
from calib_utils.comparing.pairs import Difference, paired_difference
from calib_utils.metrics import expected_calibration_error
from calib_utils.predictions import Predictions, as_predictions
from calib_utils.predictions.arrays import in_type
from calib_utils.recalibration import (
    BetaCalibration,
    BetaOnConfidence,
    EnsembleTemperatureScaling,
    IsotonicRegression,
    OneVersusRest,
    PlattPerGroup,
    PlattScaling,
    Recalibrator,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

_FEWEST = 100  # rows; with fewer nothing is fitted
_MOST_CLASSES = 30  # for methods with parameters for pairs of classes
_PATIENCE = 10  # seconds, after which a bar is shown
_ALL = slice(None)


@dataclass(frozen=True)
class TriedRecalibrator:
    """A recalibrator, and how it did on rows that it was not fitted on.

    Attributes:
        name: of its class.
        nll: of the recalibrated predictions.
        gain: the change of the NLL by recalibration; below 0 if it helps.
        interval: of the gain, corrected for the number of recalibrators (95 % simultaneously).
        ece, auroc: of the recalibrated predictions.
        trouble: why it could not be fitted; then the numbers are NaN.
        zeros: rows in which it gives what happened a probability of 0.
    """

    name: str
    nll: float
    gain: float
    interval: tuple[float, float]
    ece: float
    auroc: float
    trouble: str = ""
    zeros: int = 0

    @property
    def helps(self) -> bool:
        """Whether it clearly helps: the interval of its gain is below 0."""
        return self.interval[1] < 0


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


@dataclass(frozen=True)
class TriedRecalibrators:
    """All recalibrators that were tried, the best first.

    Attributes:
        found: in the order of their NLL.
        nll, ece, auroc: of the original predictions, on the same rows.
        how: how they were fitted and judged, in words.
        best: the first that clearly helps, fitted for use; None if there is no such one.
        groups: for each column of groups, the rows of each value after they are recalibrated by
            the best; empty if none clearly helps.
        per_group: for each column in which these, or the original predictions without a best, leave
            a group beyond the tolerance, what a map for each group does. Empty with several
            classes, and for columns that the other rows lack on which the maps are fitted.
    """

    found: list[TriedRecalibrator]
    nll: float
    ece: float
    auroc: float
    how: str
    best: Recalibrator | None
    groups: dict[str, list[Part]]
    per_group: dict[str, MapsPerGroup]

    @property
    def best_found(self) -> TriedRecalibrator | None:
        """What was found of `best`. The intervals hold simultaneously, so it need not be first."""
        return next((one for one in self.found if one.helps), None)

    @property
    def best_per_group(self) -> tuple[str, MapsPerGroup] | None:
        """The column whose maps for each group help most, and these; None if none clearly helps."""
        helpful = [each for each in self.per_group.items() if each[1].best is not None]
        return min(helpful, key=lambda each: each[1].nll, default=None)

    @property
    def most_helpful(self) -> Recalibrator | None:
        """`best`, or a map for each group where one for all is not enough and these help more."""
        of_groups = self.best_per_group
        return self.best if of_groups is None else of_groups[1].best


def candidates(rows: Rows, from_logits: bool) -> list[Callable[[], Recalibrator]]:
    """Functions that make the recalibrators to try."""
    inputs = "logits" if from_logits else "probs"
    if rows.probs.ndim == 1:
        return [
            lambda: TemperatureScaling(inputs=inputs),
            lambda: PlattScaling(inputs=inputs),
            lambda: BetaCalibration(inputs=inputs),
            lambda: IsotonicRegression(inputs=inputs),
        ]
    makers: list[Callable[[], Recalibrator]] = [
        lambda: TemperatureScaling(inputs=inputs),
        lambda: EnsembleTemperatureScaling(inputs=inputs),
        lambda: BetaOnConfidence(inputs=inputs),
        lambda: VectorScaling(inputs=inputs),
        lambda: OneVersusRest(IsotonicRegression(inputs="probs"), inputs=inputs),
    ]
    if rows.probs.shape[1] <= _MOST_CLASSES:
        makers.append(lambda: StructuredMatrixScaling(inputs=inputs))
    return makers


def try_recalibrators(
    rows: Rows,
    fit_rows: Rows | None,
    *,
    folds: int,
    from_logits: bool,
    n_bins: int,
    limits: tuple[float, float],
) -> TriedRecalibrators | None:
    """Fit each candidate, and rank them by their NLL on rows that they were not fitted on.

    Args:
        rows: those on which they are judged.
        fit_rows: those on which they are fitted; None to cross-fit them on ``rows``, where each
            fold is recalibrated by a fit on the others.
        folds: the number of folds.
        from_logits: whether logits were given, rather than probabilities.
        n_bins: of the ECE.
        limits: the tolerance and the relative tolerance of groups.

    Returns:
        None if there are too few rows, or labels of only one class.
    """
    learn = rows if fit_rows is None else fit_rows
    if _size(learn) < _FEWEST or len(np.unique(learn.labels)) < 2 or len(rows.labels) < 2:
        return None
    makers = candidates(rows, from_logits)
    before = losses(rows)
    fold_of = _folds_of(rows, folds)
    level = 1 - 0.05 / len(makers)
    found: list[TriedRecalibrator] = []
    common, lowest = rows, np.inf  # of those that clearly help
    for make in _watched(makers):
        name = _name(make())
        try:
            after = _after(rows, fit_rows, make, fold_of)
        except ValueError as error:
            nan = float("nan")
            found.append(TriedRecalibrator(name, nan, nan, (nan, nan), nan, nan, str(error)))
            continue
        now = losses(after)
        gain = _gain(before, now, rows)
        nll = float(np.average(now, weights=rows.weights))
        one = TriedRecalibrator(
            name=name,
            nll=nll,
            gain=gain.mean,
            interval=gain.interval(level),
            ece=expected_calibration_error(_predictions(after), n_bins=n_bins),
            auroc=auroc_of(order_of(after), confidences_of(after)[1], rows.weights)[0],
            zeros=_zeros(after),
        )
        found.append(one)
        if one.helps and nll < lowest:
            common, lowest = after, nll
    order = sorted(range(len(found)), key=lambda i: np.nan_to_num(found[i].nll, nan=np.inf))
    helpful = next((i for i in order if found[i].helps), None)
    best = None if helpful is None else _fit(makers[helpful], learn)
    how = f"fitted on {len(learn.labels):,} other rows, judged on {len(rows.labels):,}"
    if fit_rows is None:
        how = f"cross-fitted in {folds} folds of {len(rows.labels):,} rows"
    ece = expected_calibration_error(_predictions(rows), n_bins=n_bins)
    left, per_group = judge_groups(common, limits), dict[str, MapsPerGroup]()
    if rows.probs.ndim == 1:
        inputs = "logits" if from_logits else "probs"
        per_group = _try_per_group(rows, common, left, fit_rows, fold_of, inputs, limits)
    return TriedRecalibrators(
        found=[found[i] for i in order],
        nll=float(np.average(before, weights=rows.weights)),
        ece=ece,
        auroc=auroc_of(order_of(rows), confidences_of(rows)[1], rows.weights)[0],
        how=how,
        best=best,
        groups={} if best is None else left,
        per_group=per_group,
    )


def _try_per_group(
    rows: Rows,
    common: Rows,
    left: Mapping[str, Sequence[Part]],
    fit_rows: Rows | None,
    fold_of: np.ndarray,
    inputs: str,
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
        inputs: of the maps.
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
        make = partial(PlattPerGroup, inputs=inputs)
        try:
            after = _after(rows, fit_rows, make, fold_of, name)
        except ValueError:  # which stands in the table, because Platt scaling meets it as well
            continue
        now, column = losses(after), rows.groups[name]
        gain = _gain(before, now, rows, np.isin(column.values, wrong[name])[column.codes])
        interval = gain.interval(level)
        helps = interval[1] < 0 and _gain(before, now, rows).interval(level)[0] <= 0
        found[name] = MapsPerGroup(
            nll=float(np.average(now, weights=rows.weights)),
            gain=gain.mean,
            interval=interval,
            parts=judge_groups(after._replace(groups={name: column}), limits)[name],
            best=_fit(make, learn, name) if helps else None,
        )
    return found


def _zeros(rows: Rows) -> int:
    """Rows in which what happened has a probability of 0."""
    if rows.probs.ndim == 1:
        return int((np.where(rows.labels == 1, rows.probs, 1 - rows.probs) <= 0).sum())
    return int((rows.probs[np.arange(len(rows.labels)), rows.labels] <= 0).sum())


def _watched(makers: list[Callable[[], Recalibrator]]) -> Iterable[Callable[[], Recalibrator]]:
    """With a thousand classes each may take a minute; a bar, if anybody looks."""
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        return makers
    return tqdm(makers, "calibration methods", delay=_PATIENCE, leave=False, disable=None)


def _folds_of(rows: Rows, folds: int) -> np.ndarray:
    """The fold of each row, (n,); rows of a block are all in one."""
    which = np.arange(len(rows.labels)) if rows.blocks is None else rows.blocks.codes
    return (np.random.default_rng(SEED).permutation(int(which.max()) + 1) % folds)[which]


def _fit(make: Callable[[], Any], rows: Rows, column: str | None = None) -> Any:
    """A recalibrator, fitted on rows; with a map for each value of a column, if one is named."""
    recalibrator = make()
    groups = [] if column is None else [as_array(rows.groups[column])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about a class that a fold lacks
        recalibrator.fit(rows.inputs(recalibrator.inputs), rows.labels, rows.worth, *groups)
    if column is not None:
        recalibrator.group_column_ = column
    return recalibrator


def _after(
    rows: Rows,
    fit_rows: Rows | None,
    make: Callable[[], Any],
    fold_of: np.ndarray,
    column: str | None = None,
) -> Rows:
    """The rows, recalibrated by a fit on others: each fold by one on all other folds."""

    def recalibrate(some: Rows, learn: Rows) -> np.ndarray:
        recalibrator = _fit(make, learn, column)
        groups = {} if column is None else {"groups": as_array(some.groups[column])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about a group that the fit lacks
            found = recalibrator.predict_proba(some.inputs(recalibrator.inputs), **groups)
        return np.asarray(found, np.float64)

    if fit_rows is not None:
        probs = recalibrate(rows, fit_rows)
    else:
        probs = np.empty_like(rows.probs)
        for fold in np.unique(fold_of):
            here = fold_of == fold
            probs[here] = recalibrate(rows.take(here), rows.take(~here))
    return rows._replace(probs=probs, logits=None, dtype="float64")


def _gain(
    before: np.ndarray, now: np.ndarray, rows: Rows, here: np.ndarray | slice = _ALL
) -> Difference:
    """The change of the NLL, of all rows or of some."""
    weights, blocks = (
        None if each is None else each[here] for each in (rows.weights, rows.names_of_blocks)
    )
    return paired_difference(before[here], now[here], sample_weight=weights, blocks=blocks)


def _size(rows: Rows) -> float:
    """The number of rows, or of weighted ones Kish's effective size."""
    return len(rows.labels) if rows.weights is None else effective_size(rows.weights)


def _predictions(rows: Rows) -> Predictions:
    return as_predictions(in_type(rows.probs, rows.dtype), rows.labels, sample_weight=rows.weights)


def _name(recalibrator: Recalibrator) -> str:
    base = getattr(recalibrator, "base", None)
    name = type(recalibrator).__name__
    return f"{name} of {type(base).__name__}" if base is not None else name
