"""The distance between what was predicted and what happened, with intervals that were tested."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from calib_audit.bin_sums import (
    CORRECT,
    COUNT,
    EXPECTED,
    BinSums,
    heaviness,
    worth,
)
from calib_audit.lots import SEED
from calib_audit.totals import Totals
from calib_utils._numerics import effective_size
from calib_utils.comparing.pairs import Difference, paired_difference
from calib_utils.metrics import (
    BrierDecomposition,
    CalibrationBaseline,
    CoxLine,
    baseline_calibration_error,
    brier_decomposition,
    cox_line,
)
from calib_utils.metrics.bins import mean_excess
from calib_utils.metrics.blocks import BinNoise, block_noise, effective_blocks, z_of_blocks
from calib_utils.metrics.errors import debiased_square
from calib_utils.metrics.intervals import (
    ends_of_noise,
    error_against,
    error_ends,
    root_ends_of_noise,
    root_square_ends,
    share_ends,
)
from calib_utils.predictions import as_predictions
from calib_utils.predictions.arrays import in_type

LEVEL = 0.95
_DRAWS = 2_000
_USEFUL = 0.6  # an AUROC from which on a score is of some use
_FEWEST = 20  # correct rows, and incorrect ones, that a calibration line needs
_FEW_EVENTS = 10  # expected ones; with fewer, the noise between blocks may not show


@dataclass(frozen=True)
class Measures:
    """The measures of a model's predictions.

    Attributes:
        n: rows.
        effective: Kish's effective size, which is ``n`` if all rows count alike; of rows in blocks
            how many blocks of equal size they are worth.
        predicted, happened: the mean confidence, and the observed frequency (or the accuracy).
        ratio: observed over expected, and its interval.
        z: Spiegelhalter's.
        line: None if too few rows are correct, or incorrect.
        auroc, auroc_interval: how often a row that is positive (or correct) has a higher score than
            one that is not; NaN if there are none.
        ece, baseline_ece: the ECE, and the ECE that a calibrated model would get.
        error: the interval of the largest of three population ECEs, in bins of equal
            width, in bins of equal mass, and on the two sides of the line. It is a lower bound,
            because gaps that cancel within a bin are not counted.
        debiased, debiased_interval: the root mean square of the gaps, corrected for their noise.
        nll, brier, accuracy: means over the rows.
        decomposition: of the Brier score of the confidence.
        blocks: how many there are; None if all rows are independent.
    """

    n: int
    effective: float
    predicted: float
    happened: float
    ratio: float
    ratio_interval: tuple[float, float]
    z: float
    line: CoxLine | None
    auroc: float
    auroc_interval: tuple[float, float]
    ece: float
    baseline_ece: CalibrationBaseline
    error: tuple[float, float]
    debiased: float
    debiased_interval: tuple[float, float]
    nll: float
    brier: float
    accuracy: float
    decomposition: BrierDecomposition
    blocks: int | None = None

    @property
    def reversed(self) -> bool:
        """Whether less happens where more is predicted."""
        return self.line is not None and self.line.slope_interval[1] < 0

    @property
    def unproven(self) -> bool:
        """Whether the score may tell nothing: neither its order nor its line shows that it does."""
        if self.line is None:
            return False
        slopes = self.line.slope_interval
        return all(
            low <= none <= high for (low, high), none in ((self.auroc_interval, 0.5), (slopes, 0))
        )

    @property
    def blind(self) -> bool:
        """Whether the score tells nothing, or so little that a useful one is excluded."""
        if self.line is None or not self.unproven:
            return False
        return self.line.slope_interval[1] < 1 and self.auroc_interval[1] < _USEFUL


def measure(totals: Totals, top_label: bool) -> Measures:
    """The measures of all rows; those that need single rows use the ones that were kept.

    Args:
        totals: of the rows.
        top_label: whether the confidences are those in the predicted class. The accuracy is then
            the share of correct predictions, and otherwise that of a decision at one half.
    """
    bins, weights, blocks = totals.bins, totals.weights, totals.blocks
    confidences, correct = totals.confidences
    whole, happened = bins.array.sum(axis=1, keepdims=True), bins.happened
    (equal,) = worth(whole[COUNT], np.array([happened]), heaviness(whole)).tolist()
    low, high = map(float, share_ends(happened, equal, LEVEL))
    expected = max(bins.predicted, np.finfo(float).tiny)
    excess, variance = totals.of_z
    nll, brier, accuracy = totals.losses / bins.mass
    line = calibration_line(confidences, correct, weights, blocks)
    auroc, auroc_interval = auroc_of(totals.order, correct, weights, blocks)
    z = float(excess / variance**0.5) if variance > 0 else float("nan")
    binnings, effective, k = binnings_of(totals, line), bins.effective, None
    if blocks is None:
        if weights is not None:  # the mean of the predictions is as random as that of the events
            gap = paired_difference(confidences, correct, sample_weight=weights)
            low, high = _wider((low, high), gap, bins.predicted)
        error = larger_error(binnings)
        debiased_interval = root_square_ends(bins.array, LEVEL, SEED)
    else:
        effective, k = effective_blocks(blocks), int(blocks.max()) + 1
        gap = paired_difference(confidences, correct, blocks=blocks)
        # In few blocks there may be no event by chance, and then hardly any noise.
        few = effective * min(bins.predicted, 1 - bins.predicted) < _FEW_EVENTS
        of_share = share_ends(happened, effective, LEVEL) if few else (1.0, 0.0)
        low, high = _wider(of_share, gap, bins.predicted)
        z = z_of_blocks(confidences, correct, blocks)
        noises = [_noise_of_blocks(totals, index) for index in totals.indices(line)]
        error = _largest([partial(ends_of_noise, noise) for noise in noises])
        debiased_interval = root_ends_of_noise(noises[0], LEVEL)
    return Measures(
        n=bins.n,
        effective=effective,
        predicted=bins.predicted,
        happened=bins.happened,
        ratio=bins.happened / expected,
        ratio_interval=(low / expected, high / expected),
        z=z,
        line=line,
        auroc=auroc,
        auroc_interval=auroc_interval,
        ece=ece_of(bins),
        baseline_ece=_baseline(totals, confidences),
        error=error,
        debiased=float(np.fmax(debiased_square(bins.array), 0.0)) ** 0.5,
        debiased_interval=debiased_interval,
        nll=float(nll),
        brier=float(brier),
        accuracy=bins.happened if top_label else float(accuracy),
        decomposition=brier_decomposition(
            as_predictions(confidences, correct.astype(np.int64), sample_weight=weights)
        ),
        blocks=k,
    )


def _noise_of_blocks(totals: Totals, index: np.ndarray, *, calibrated: bool = False) -> BinNoise:
    """The noise of bins, measured from block to block."""
    assert totals.blocks is not None
    return block_noise(
        *totals.confidences,
        index,
        totals.blocks,
        np.random.default_rng(SEED),
        _DRAWS,
        calibrated=calibrated,
    )


def binnings_of(totals: Totals, line: CoxLine | None) -> list[BinSums]:
    """Those of the totals, and all rows on two sides: where the line is below the prediction, and
    where it is not.

    If the predictions are overconfident, or wrong in any other way that a line describes, the gaps
    of a side have one sign. Two bins then lose nothing and have much less noise than fifteen.
    """
    return totals.binnings if line is None else [*totals.binnings, totals.sides(line)]


def _wider(ends: Any, gap: Difference, predicted: float) -> tuple[float, float]:
    """The ends of the share that happens, or those by its mean gap where these lie beyond."""
    low, high = (min(max(predicted + end, 0.0), 1.0) for end in gap.interval(LEVEL))
    return min(low, float(ends[0])), max(high, float(ends[1]))


def auroc_of(
    order: np.ndarray,
    correct: np.ndarray,
    weights: np.ndarray | None = None,
    blocks: np.ndarray | None = None,
) -> tuple[float, tuple[float, float]]:
    """The area under the ROC curve and its interval; NaN if all rows are correct, or none.

    The interval is NaN where a line is unknown: of a few positives it would be much too short.

    Args:
        order: (n,), the confidence, or what rises with it.
        correct, weights, blocks: (n,), of the same rows.

    Sources: DeLong, DeLong and Clarke-Pearson 1988, "Comparing the areas under two or more
    correlated receiver operating characteristic curves"; for blocks Obuchowski 1997,
    "Nonparametric analysis of clustered ROC curve data".
    """
    sizes = np.array([np.count_nonzero(~correct), np.count_nonzero(correct)])
    if not sizes.all():
        return float("nan"), (float("nan"), float("nan"))
    w = np.ones(len(correct)) if weights is None else weights
    _, place = np.unique(order, return_inverse=True)
    masses = [np.bincount(place, w * (correct == kind)) for kind in (False, True)]
    area, variance, pull = 0.0, 0.0, np.zeros(len(correct))
    for kind, others in ((False, masses[True]), (True, masses[False])):
        # Of the rows of the other kind, the share that lies below each row; of ties a half counts.
        below = (np.cumsum(others) - others / 2) / others.sum()
        rows = correct == kind
        share, part = below[place[rows]], w[rows] / w[rows].sum()
        area = float(part @ share)
        effective = effective_size(part)
        pull[rows] = part * (share - area) * (1 if kind else -1)
        variance += float(np.sum(pull[rows] ** 2)) * effective / max(effective - 1, 1)
    if blocks is not None:
        of_blocks = np.bincount(blocks, pull)
        variance = float(of_blocks @ of_blocks) * len(of_blocks) / (len(of_blocks) - 1)
    if _few(correct, w):
        return area, (float("nan"), float("nan"))
    freedom = np.inf if blocks is None else effective_blocks(blocks) - 1
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * variance**0.5
    return area, (max(area - half, 0.0), min(area + half, 1.0))


def larger_error(binnings: Sequence[BinSums]) -> tuple[float, float]:
    """The interval of the largest of the errors in several binnings of the same rows.

    The largest error exceeds every lower end if all of them are valid, so each lower end may fail
    less often (Bonferroni). It is below the largest upper end if that of its own binning is valid.
    """
    return _largest([partial(error_ends, bins.array, seed=SEED) for bins in binnings])


def larger_error_against(binnings: Sequence[BinSums], bound: float) -> tuple[bool, bool]:
    """Whether the lower end of `larger_error` is above a bound, and whether the upper one is not.

    Such a question takes a tenth of the time of the interval itself.
    """
    levels = _levels(len(binnings))
    found = [error_against(bins.array, bound, levels, SEED) for bins in binnings]
    return any(above for above, _ in found), all(within for _, within in found)


def _largest(ends_at: Sequence[Callable[..., tuple[float, float]]]) -> tuple[float, float]:
    """`larger_error`, of functions that give the ends of one binning at a pair of levels."""
    ends = [each(levels=_levels(len(ends_at))) for each in ends_at]
    return max(low for low, _ in ends), max(high for _, high in ends)


def _levels(binnings: int) -> tuple[float, float]:
    return 1 - (1 - LEVEL) / binnings, LEVEL


def ece_of(bins: BinSums) -> float:
    """The expected calibration error."""
    return float(mean_excess(bins.array[EXPECTED] - bins.array[CORRECT], bins.mass))


def _baseline(totals: Totals, confidences: np.ndarray) -> CalibrationBaseline:
    """If not all rows were kept, or they have weights, those of a bin are drawn with their mean
    confidence, as many equal ones as would be as noisy.
    """
    if totals.blocks is not None:
        noise = _noise_of_blocks(totals, totals.indices(None)[0], calibrated=True)
        errors = np.abs(noise.draws * noise.measured).sum(axis=1)
        return CalibrationBaseline(float(errors.mean()), float(np.quantile(errors, 0.95)))
    if totals.complete and totals.weights is None:
        typed = in_type(confidences, totals.rows.dtype)
        return baseline_calibration_error(typed, totals.n_bins, seed=SEED)
    array = totals.bins.array[:, totals.bins.array[COUNT] > 0]
    means = np.clip(array[EXPECTED] / array[COUNT], 0, 1)
    equal = np.maximum(np.rint(worth(array[COUNT], means, heaviness(array))), 1).astype(int)
    drawn = np.random.default_rng(SEED).binomial(equal, means, (_DRAWS, len(equal)))
    errors = mean_excess(array[COUNT] * (drawn / equal - means), array[COUNT].sum())
    return CalibrationBaseline(float(errors.mean()), float(np.quantile(errors, 0.95)))


def _few(correct: np.ndarray, weights: np.ndarray) -> bool:
    """Whether too few rows are correct, or incorrect."""
    return min(effective_size(weights[correct == kind]) for kind in (False, True)) < _FEWEST


def calibration_line(
    confidences: np.ndarray,
    correct: np.ndarray,
    weights: np.ndarray | None = None,
    blocks: np.ndarray | None = None,
) -> CoxLine | None:
    """None if too few predictions are correct, or incorrect, or there is no optimum."""
    w = np.ones(len(correct)) if weights is None else weights
    if _few(correct, w):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about zeros, which the report tells
            return cox_line(
                as_predictions(confidence=confidences, correct=correct, sample_weight=weights),
                blocks=blocks,
            )
    except ValueError:
        return None  # a threshold separates correct from incorrect, or all confidences are equal
