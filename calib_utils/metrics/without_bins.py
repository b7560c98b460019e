"""Measures of calibration without bins, from medicine, meteorology and other fields."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from calib_utils._numerics import effective_size, log_of_probs, zero_of
from calib_utils.metrics.bins import float_pairs, unequal, weighted_predictions
from calib_utils.metrics.blocks import block_index, effective_blocks, require_others
from calib_utils.metrics.logistic_fit import (
    checked_middle,
    logistic_regression,
    require_optimum,
    targets,
)
from calib_utils.predictions.gate import taken, unweighted

_FINEST = 2**18  # intervals of the grid to which the residuals are moved
_PER_WIDTH = 256  # how many points one width of the kernel gets, if the finest grid has them
_NARROWEST = 3e-4  # width of a kernel; 79 intervals of the finest grid
_FEWEST = 1024  # intervals of the curve


class CoxLine(NamedTuple):
    """A straight line between log-odds: logit(true) = intercept + slope * logit(predicted).

    A calibrated model has slope 1 and intercept 0; a slope below 1 means predictions that are too
    far from one half.

    Attributes:
        slope: by maximum likelihood.
        intercept: by maximum likelihood.
        slope_interval: 95 %.
        intercept_interval: 95 %.

    Example:
        >>> line = CoxLine(0.8, 0.1, (0.6, 1.0), (-0.1, 0.3))
        >>> line.slope
        0.8
    """

    slope: float
    intercept: float
    slope_interval: tuple[float, float]
    intercept_interval: tuple[float, float]


def cox_line(probs: Any, labels: Any = None, *, blocks: Any = None) -> CoxLine:
    """Cox's slope and intercept: the logistic regression of the outcomes on the log-odds.

    The intervals are Wald's, from the information at the optimum. With weights they are those of
    the jackknife, which leaves each sample out once, to first order, and of Student's t, with one
    degree of freedom less than Kish's effective number of samples. For sets of 200 to 2,000
    calibrated predictions whose weights are log-normal, with standard deviations of up to 1.5 in
    the logarithm, they missed the truth in up to 7 % of the sets if the confidences are spread
    evenly, and in up to 12 % if their mean is 6 % or 94 %. With ``blocks`` each block is left out,
    and the degrees of freedom are one less than the number of blocks, counted as those of
    equal size. In the cases of the benchmark of blocks, the interval of the slope then missed it in
    up to 7 % of the sets, and without blocks in up to 95 %. A probability of exactly 0 or 1 has no
    log-odds, and counts as it does in a fit: see ``zero_`` of
    `calib_utils.recalibration.Recalibrator`.

    Args:
        probs: (N, K), of which the confidence in the predicted class counts, and its correctness;
            or (N,), for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        blocks: (N,), the block of each sample, as in `calibration_error_interval`.

    Raises:
        ValueError: for bad input, including weights together with blocks; or if there is no best
            line because all confidences are equal, or a threshold separates the outcomes, also
            without some block.

    Warns:
        UserWarning: if probabilities are exactly 0 or 1, and what they count as.

    Sources: Cox 1958, "Two further applications of a model for binary regression"; for weights
    MacKinnon, White 1985, "Some heteroskedasticity-consistent covariance matrix estimators with
    improved finite sample properties"; for blocks Bell, McCaffrey 2002, "Bias reduction in standard
    errors for linear regression with multi-stage samples".

    Example:
        >>> line = cox_line([0.2] * 5 + [0.8] * 5, [0, 0, 0, 1, 1] * 2)
        >>> round(line.slope, 2) + 0
        0.0
    """
    z, correct, w, index = _log_odds(probs, labels, blocks)
    target, problems = targets(z, correct.astype(np.int64), False, None)
    if problems or np.ptp(z) == 0:
        why = "all are equal" if np.ptp(z) == 0 else problems[0].partition(",")[0]
        raise ValueError(f"probs: found no best line between log-odds ({why}); take more samples")
    found, left = logistic_regression(z[None], np.array([checked_middle(z)]), target, w)
    require_optimum(left)
    slope, intercept = found.tolist()
    if index is not None:
        require_others(z, correct, index)
    design = np.stack([z, np.ones_like(z)])
    half = _half_intervals(design, intercept + slope * z, correct, w, index)
    ends = np.stack([found - half, found + half], axis=1).tolist()
    return CoxLine(slope, intercept, (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]))


class CalibrationInTheLarge(NamedTuple):
    """What `calibration_in_the_large` found.

    Attributes:
        intercept: what has to be added to all log-odds, so that as much is predicted on average as
            happened; above 0 if the predictions are too low.
        interval: 95 %.

    Example:
        >>> CalibrationInTheLarge(0.2, (0.1, 0.3)).intercept
        0.2
    """

    intercept: float
    interval: tuple[float, float]


def calibration_in_the_large(
    probs: Any, labels: Any = None, *, blocks: Any = None
) -> CalibrationInTheLarge:
    """Whether predictions are too high or too low as a whole: Cox's intercept at slope 1.

    It is the a of logit(true) = a + logit(predicted), by maximum likelihood. `cox_line` fits both,
    so its intercept also depends on the slope, and tells little about the average where that is
    not 1. The interval, weights, blocks and probabilities of exactly 0 or 1 are those of
    `cox_line`.

    Args:
        probs: (N, K), of which the confidence in the predicted class counts, and its correctness;
            or (N,), for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        blocks: (N,), the block of each sample, as in `calibration_error_interval`.

    Raises:
        ValueError: for bad input, including weights together with blocks; or if all outcomes are
            equal, also without some block.

    Warns:
        UserWarning: if probabilities are exactly 0 or 1, and what they count as.

    Source: Steyerberg 2019, "Clinical Prediction Models".

    Example:
        >>> found = calibration_in_the_large([0.5] * 100, [0] * 25 + [1] * 75)
        >>> round(found.intercept, 3)  # log(3)
        1.099
    """
    z, correct, w, index = _log_odds(probs, labels, blocks)
    happened = float(np.average(correct, weights=w))
    of_one_block = index is not None and any(len(set(index[correct == x])) < 2 for x in (0, 1))
    if of_one_block or not 0 < happened < 1:
        without = " without some block" if of_one_block else ""
        raise ValueError(
            f"probs: found no best intercept, because all outcomes are equal{without}; take more "
            "samples"
        )
    intercept = _intercept(z, w, happened)
    half = _half_intervals(np.ones((1, len(z))), z + intercept, correct, w, index)[0]
    return CalibrationInTheLarge(intercept, (float(intercept - half), float(intercept + half)))


def _intercept(z: np.ndarray, weights: np.ndarray | None, happened: float) -> float:
    """Where the mean of sigmoid(z + a), which rises with a, is what happened."""
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    def excess(a: float) -> float:
        return float(np.average(expit(z + a), weights=weights)) - happened

    # If all log-odds were the highest, or all the lowest, it would be one of these.
    low, high = logit(happened) - z.max(), logit(happened) - z.min()
    return float(brentq(excess, low - 1, high + 1, xtol=1e-14))


def _log_odds(
    probs: Any, labels: Any, blocks: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Log-odds of the predictions, whether they are correct, unequal weights, and blocks."""
    predictions = taken(probs, labels)
    confidences, correct, w = weighted_predictions(
        predictions if blocks is None else unweighted(predictions)
    )
    w = unequal(w)
    index = None if blocks is None else block_index(blocks, len(correct), probs)
    zero, doubts = zero_of(confidences, "probs", w)
    for doubt in doubts:
        warnings.warn(doubt, stacklevel=3)
    return log_of_probs(confidences, zero), correct, w, index


def _half_intervals(
    design: np.ndarray,
    log_odds: np.ndarray,
    correct: np.ndarray,
    w: np.ndarray | None,
    index: np.ndarray | None,
) -> np.ndarray:
    """Half the intervals of the coefficients of a logistic regression on a design (J, N)."""
    from scipy.special import expit, ndtri

    chances = expit(log_odds)
    curvature = chances * (1 - chances) * (1 if w is None else w)
    information = (design * curvature) @ design.T
    if index is not None:
        return _of_blocks(information, design, curvature, correct - chances, index)
    if w is not None:
        return _of_weighted(information, design, curvature, w * (correct - chances), w)
    return np.asarray(ndtri(0.975) * np.sqrt(np.diag(np.linalg.inv(information))))


def _of_blocks(
    information: np.ndarray,
    design: np.ndarray,
    curvature: np.ndarray,
    surprise: np.ndarray,
    index: np.ndarray,
) -> np.ndarray:
    """Half the intervals of `cox_line` with blocks."""
    from scipy.special import stdtrit

    k = index.max() + 1
    pulls = np.stack([np.bincount(index, row * surprise) for row in design], axis=1)
    products = curvature * (design[:, None] * design)  # of each sample, (2, 2, N)
    own = np.array([[np.bincount(index, one) for one in row] for row in products])
    moved = np.linalg.solve(information - own.transpose(2, 0, 1), pulls[:, :, None])
    spread = np.sqrt((k - 1) / k * (moved**2).sum(axis=(0, 2)))
    return np.asarray(stdtrit(effective_blocks(index) - 1, 0.975) * spread)


def _of_weighted(
    information: np.ndarray,
    design: np.ndarray,
    curvature: np.ndarray,
    surprise: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Half the intervals of `cox_line` with weights: each sample is a block of its own."""
    from scipy.special import stdtrit

    reach = np.linalg.solve(information, design)
    leverage = curvature * (reach * design).sum(axis=0)
    moved = reach * (surprise / np.maximum(1 - leverage, np.finfo(float).eps))
    spread = np.sqrt((moved**2).sum(axis=1))
    return np.asarray(stdtrit(effective_size(weights) - 1, 0.975) * spread)


def confidence_auroc(probs: Any, labels: Any = None) -> float:
    """AUROC of the confidence: how often a correct prediction is more confident than a wrong one.

    It depends only on the ranking and not on calibration, because any increasing function of the
    confidences has the same AUROC. Ties count one half.

    Args:
        probs: (N, K), of which the confidence in the predicted class counts, and its correctness;
            or (N,), for the positive class, which gives the usual AUROC.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        0 to 1; a random ranking has one half.

    Raises:
        ValueError: for bad input, or if all predictions are correct, or none.

    Source: Hanley and McNeil 1982, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve".

    Example:
        >>> confidence_auroc([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1])
        0.6666666666666666
    """
    confidences, correct, weights = float_pairs(taken(probs, labels))
    order, ends = _rising_runs(confidences)
    # Up to each run, the weight of correct and of wrong predictions.
    hits = np.cumsum((weights * correct)[order])[ends - 1]
    wrong = np.cumsum((weights * ~correct)[order])[ends - 1]
    if not (hits[-1] > 0 and wrong[-1] > 0):
        raise ValueError(
            "labels: expected both outcomes, found only one; a ranking needs samples of each"
        )
    below = wrong - np.diff(wrong, prepend=0.0) / 2
    return float(np.diff(hits, prepend=0.0) @ below / (hits[-1] * wrong[-1]))


def _rising_runs(confidences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of rising confidence; and where in it each run of equal ones ends."""
    order = np.argsort(confidences)
    rising = confidences[order]
    return order, np.append(np.flatnonzero(rising[1:] != rising[:-1]) + 1, len(order))


def smooth_calibration_error(
    probs: Any,
    labels: Any = None,
) -> float:
    r"""SmoothECE: the mean residual, smoothed over neighbouring confidences.

    The residuals, correctness minus confidence, are spread by a Gaussian of width :math:`\sigma`
    that is reflected at 0 and 1, so that none is lost. The error at this width is the area between
    the smoothed residuals and zero:

    .. math::

        \text{smECE}(\sigma)
        = \frac{1}{n} \int_0^1 \Big| \sum_i K_\sigma(t, c_i) (y_i - c_i) \Big| \, dt

    It never increases with :math:`\sigma`. SmoothECE is the one width that equals its own error, so
    gaps of opposite sign cancel if they are closer together than about the error itself. There are
    no bins to choose, and a small change of the confidences makes a small change of the error.

    The residuals are moved to a grid, and smoothed by a fast Fourier transform. This changes
    a result r by at most :math:`4 \cdot 10^{-6} + 6 \cdot 10^{-12} / r^2`, which is 1e-5 for r =
    0.001. A result below 0.0003 only means that SmoothECE is below 0.0004.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        0 to 1. As with the ECE, even calibrated predictions get more than 0 from a finite
        sample.

    Raises:
        ValueError: for bad input.

    Example:
        All forecasts are 0.2 too high, and cancel at no width.

        >>> error = smooth_calibration_error([0.8] * 10, [1] * 6 + [0] * 4)
        >>> round(error, 4)
        0.2

    Source: Błasiok, Nakkiran 2023, "Smooth ECE: Principled reliability diagrams via kernel
    smoothing". Their program relplot 1.0 gives confidences of 0 and 1 half their weight.
    """
    values, correct, weights = float_pairs(taken(probs, labels))
    return _fixed_point(_cosine_sums(values, weights / weights.sum() * (correct - values)))


def _fixed_point(waves: np.ndarray) -> float:
    """The width that equals its error."""
    low, high = _NARROWEST, 1.0
    narrowest = _smoothed_area(waves, low)
    if narrowest <= low:
        return narrowest
    for _ in range(24):  # 1 / 2^24 is far below the error of the grid
        middle = (low + high) / 2
        if _smoothed_area(waves, middle) > middle:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _cosine_sums(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The sum of weight * cos(pi k value) for k = 0, 1, ... to the finest grid's end.

    Each weight is shared between the two points next to its value, so that its mean position does
    not change.
    """
    place = values * _FINEST
    below = np.minimum(place.astype(np.intp), _FINEST - 1)
    above_part = weights * (place - below)
    masses = np.zeros(_FINEST + 1)
    masses[:-1] += np.bincount(below, weights - above_part, _FINEST)
    masses[1:] += np.bincount(below, above_part, _FINEST)
    # The transform of a function that is even about 0 and about 1: cosines only.
    masses[1:-1] /= 2
    return np.fft.rfft(np.concatenate([masses, masses[-2:0:-1]])).real


def _smoothed_area(waves: np.ndarray, sigma: float) -> float:
    """The error at the width sigma: the trapezoidal rule on the smoothed residuals.

    The result is wrong by at most (0.121 h^2 + 0.242 d^2) / sigma^2, where the residuals were
    moved to points at a distance h = 1 / _FINEST, and the curve is evaluated at points at a
    distance d. Here 0.121 is 1/8 of 4 phi(1) (phi: the standard normal density), and
    4 phi(1) / sigma^2 bounds the integrals of |K''| and of the curve's |r''|, because the mean
    |residual| is at most 1. In |r| each crossing of zero adds a corner of 2 |r'|, and all
    corners together at most the integral of |r''| once more, because r' is 0 at both ends.
    """
    curve = np.abs(_smoothed(waves, sigma))
    return float((curve[0] / 2 + curve[1:-1].sum() + curve[-1] / 2) / (len(curve) - 1))


def _smoothed(waves: np.ndarray, sigma: float) -> np.ndarray:
    """The curve from 0 to 1, in even steps, after smoothing with the width sigma.

    A Gaussian that is reflected at 0 and 1 maps each cosine to a damped cosine. Only frequencies
    that the points can represent are kept; the others are damped to nothing.
    """
    size = min(_FINEST, max(_FEWEST, 2 ** int(np.ceil(np.log2(_PER_WIDTH / sigma)))))
    damping = np.exp(-0.5 * (np.pi * sigma * np.arange(size + 1)) ** 2)
    # Over 0 to 2, of which 1 to 2 is a mirror image.
    return 2 * size * np.fft.irfft(waves[: size + 1] * damping, 2 * size)[: size + 1]
