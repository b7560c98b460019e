"""Which recalibrator helps, as judged on rows that it was not fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from calib_audit.bin_sums import confidences_of, losses, order_of
from calib_audit.measures import auroc_of
from calib_audit.parts import Part
from calib_audit.per_group import MapsPerGroup, judge_groups, try_per_group
from calib_audit.rows import Rows
from calib_utils._numerics import effective_size
from calib_utils.comparing.pairs import Difference, paired_difference
from calib_utils.metrics import expected_calibration_error
from calib_utils.predictions import Predictions, as_predictions, in_type
from calib_utils.recalibration import (
    BetaCalibration,
    BetaOnConfidence,
    EnsembleTemperatureScaling,
    IsotonicRegression,
    OneVersusRest,
    PlattScaling,
    Recalibrator,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

__all__ = ["TriedRecalibrator", "TriedRecalibrators", "recalibrated", "try_recalibrators"]

_FEWEST = 100  # rows; with fewer nothing is fitted
_MOST_CLASSES = 30  # for methods with parameters for pairs of classes
_PATIENCE = 10  # seconds, after which a bar is shown


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


def recalibrated(rows: Rows, recalibrator: Recalibrator) -> Rows:
    """The rows with recalibrated predictions."""
    probs = np.asarray(recalibrator.predict_proba(rows.inputs(recalibrator.inputs)), np.float64)
    return rows._replace(probs=probs, logits=None, dtype="float64")


def try_recalibrators(
    rows: Rows,
    fit_rows: Rows | None,
    *,
    folds: int,
    from_logits: bool,
    n_bins: int,
    seed: int,
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
        seed: of the folds.
        limits: the tolerance and the relative tolerance of groups.

    Returns:
        None if there are too few rows, or labels of only one class.
    """
    learn = rows if fit_rows is None else fit_rows
    if _size(learn) < _FEWEST or len(np.unique(learn.labels)) < 2 or len(rows.labels) < 2:
        return None
    makers = candidates(rows, from_logits)
    before = losses(rows)
    fold_of = _folds_of(rows, folds, seed)
    level = 1 - 0.05 / len(makers)
    found: list[TriedRecalibrator] = []
    common, lowest = rows, np.inf  # of those that clearly help
    for make in _watched(makers):
        name = _name(make())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # about a class that a fold lacks
                if fit_rows is None:
                    after = _cross_fitted(rows, make, fold_of, folds)
                else:
                    after = recalibrated(rows, _fit(make, fit_rows))
        except ValueError as error:
            nan = float("nan")
            found.append(TriedRecalibrator(name, nan, nan, (nan, nan), nan, nan, str(error)))
            continue
        now = losses(after)
        gain: Difference = paired_difference(
            before, now, sample_weight=rows.weights, blocks=rows.names_of_blocks
        )
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
    best = None
    if helpful is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            best = _fit(makers[helpful], learn)
    how = f"fitted on {len(learn.labels):,} other rows, judged on {len(rows.labels):,}"
    if fit_rows is None:
        how = f"cross-fitted in {folds} folds of {len(rows.labels):,} rows"
    ece = expected_calibration_error(_predictions(rows), n_bins=n_bins)
    left, per_group = judge_groups(common, limits), dict[str, MapsPerGroup]()
    if rows.probs.ndim == 1:
        per_group = try_per_group(
            rows, common, left, fit_rows, fold_of, from_logits=from_logits, limits=limits
        )
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


def _folds_of(rows: Rows, folds: int, seed: int) -> np.ndarray:
    """The fold of each row, (n,); rows of a block are all in one."""
    which = np.arange(len(rows.labels)) if rows.blocks is None else rows.blocks.codes
    return (np.random.default_rng(seed).permutation(int(which.max()) + 1) % folds)[which]


def _fit(make: Callable[[], Recalibrator], rows: Rows) -> Recalibrator:
    recalibrator = make()
    return recalibrator.fit(rows.inputs(recalibrator.inputs), rows.labels, rows.worth)


def _size(rows: Rows) -> float:
    """The number of rows, or of weighted ones Kish's effective size."""
    return len(rows.labels) if rows.weights is None else effective_size(rows.weights)


def _predictions(rows: Rows) -> Predictions:
    return as_predictions(in_type(rows.probs, rows.dtype), rows.labels, sample_weight=rows.weights)


def _cross_fitted(
    rows: Rows, make: Callable[[], Recalibrator], fold_of: np.ndarray, folds: int
) -> Rows:
    """Each fold, recalibrated by a fit on the others."""
    probs = rows.probs.copy()
    for fold in range(folds):
        here = fold_of == fold
        after = recalibrated(rows.take(here), _fit(make, rows.take(~here)))
        probs[here] = after.probs
    return rows._replace(probs=probs, logits=None, dtype="float64")


def _name(recalibrator: Recalibrator) -> str:
    base = getattr(recalibrator, "base", None)
    name = type(recalibrator).__name__
    return f"{name} of {type(base).__name__}" if base is not None else name
