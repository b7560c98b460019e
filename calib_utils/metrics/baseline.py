"""The baseline of a calibration error, and a test.

Make each prediction correct with a probability equal to its confidence: that is a calibrated
network with the same confidences. Its ECE is not 0, because the sample is finite. Half of all
calibrated networks lie above the mean of this baseline, so only an ECE above its 95 % quantile is
evidence of miscalibration.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from calib_utils.metrics.bins import (
    as_chances,
    binned,
    count_of,
    count_or_edges,
    mean_excess,
)
from calib_utils.metrics.blocks import block_index, block_noise, z_of_blocks
from calib_utils.predictions import Predictions
from calib_utils.predictions.checks import check_count, check_seed
from calib_utils.predictions.gate import taken, unweighted

_NORMAL_FROM = 400.0  # variance of the number of correct predictions in a bin
_BLOCK = 4096  # samples at a time


def generator(seed: Any) -> np.random.Generator:
    """A random number generator with this seed.

    Raises:
        ValueError: unless it is an integer of 0 or more.
    """
    return np.random.default_rng(check_seed(seed))


class CalibrationBaseline(NamedTuple):
    """The baseline ECE: that of a calibrated network on as many samples.

    Attributes:
        mean: its mean over samples, 0 to 1.
        high: its 95 % quantile, which a calibrated network exceeds once in twenty samples.

    Example:
        >>> baseline = CalibrationBaseline(mean=0.011, high=0.016)
        >>> 0.07 > baseline.high
        True
    """

    mean: float
    high: float


class CalibrationTest(NamedTuple):
    """Whether a network may be calibrated.

    Attributes:
        p_value: the probability that a calibrated network has an ECE at least as large, above 0 to
            1.
        z: Spiegelhalter's statistic, which is standard normal for a calibrated network; for
            confidences above one half, it is positive if they are too high.

    Example:
        >>> found = CalibrationTest(p_value=0.4, z=0.3)
        >>> found.p_value < 0.05
        False
    """

    p_value: float
    z: float


def baseline_calibration_error(
    probs: Any,
    n_bins: Any = 15,
    *,
    strategy: str = "uniform",
    draws: int = 1000,
    seed: int = 0,
) -> CalibrationBaseline:
    """The ECE that a perfectly calibrated network with the same confidences would get.

    In each bin the number of correct predictions is drawn: a sum of independent predictions, each
    of which is correct with a probability equal to its confidence. Because the confidences in a bin
    differ, this sum is not binomial but Poisson binomial, with probabilities that are exact to
    about 1e-12. If its variance is above 400, a normal number of the same mean and variance is
    drawn instead.

    Neither this function nor `calibration_test` takes weights, because a sum of predictions of
    unequal weight does not have this distribution.

    Args:
        probs: (N, K), or (N,) for the positive class.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        draws: the number of drawn samples.
        seed: of the draws; the same seed gives the same baseline.

    Returns:
        The mean and the 95 % quantile of the drawn errors.

    Raises:
        ValueError: for bad input.

    Sources: Bröcker, Smith 2007, "Increasing the Reliability of Reliability Diagrams";
    Vaicenavicius et al. 2019, "Evaluating model calibration in classification", section 5.

    Example:
        >>> import numpy as np
        >>> baseline = baseline_calibration_error(np.random.default_rng(0).random(1_000))
        >>> baseline.mean > 0.03, baseline.high > baseline.mean
        (True, True)
    """
    draws = check_count(draws, "draws", "1000 is usual")
    predictions = unweighted(taken(probs, labelled=False))
    bins = count_or_edges(n_bins, len(predictions))
    confidences, _, index = binned(predictions, bins, strategy)
    drawn = _drawn_errors(as_chances(confidences), index, count_of(bins), draws, seed)
    return CalibrationBaseline(float(drawn.mean()), float(np.quantile(drawn, 0.95)))


def calibration_test(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    *,
    strategy: str = "uniform",
    draws: int = 1000,
    seed: int = 0,
    blocks: Any = None,
) -> CalibrationTest:
    r"""Test whether predictions are calibrated, by their ECE and by Spiegelhalter's z.

    The null hypothesis is that they are. The ECE is compared with those of drawn samples, as in
    `baseline_calibration_error`, so it finds gaps of any kind that the bins can show. z needs no
    bins, and compares the Brier score of the confidences with its mean for a calibrated network:

    .. math::

        z = \sum_i (y_i - c_i) (1 - 2 c_i)
        \, \Big/ \, \Big( \sum_i c_i (1 - c_i) (1 - 2 c_i)^2 \Big)^{1/2}

    In z, confidences that are too high in one place and too low in another may cancel.

    Samples that belong together, such as the days of one race, are wrong together, which both
    tests would take for evidence. With ``blocks`` the noise of the bins, and the variance in z, is
    that of sums over blocks. To the variance in z two calibrated blocks are added, as to the noise
    of a bin; the ratio then has the tails of Student's t, and z is the normal number that is as
    unlikely. z needs many blocks: with twenty that are correct or wrong as a whole it exceeds 1.96
    in 7 % of the samples if the confidences are spread from 0.5 to 1, and in 27 % if their mean is
    0.94, while the p-value is rather too large.

    Args:
        probs: (N, K), whose confidence in the predicted class is tested; or (N,), the probability
            of the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        draws: the number of drawn samples; the p-value is at least 1 / (draws + 1).
        seed: of the draws; the same seed gives the same p-value.
        blocks: (N,), the block of each sample, as in `calibration_error_interval`.

    Returns:
        The p-value of the ECE, and z; z is infinite if a certain prediction is wrong and no other
        prediction has a variance.

    Raises:
        ValueError: for bad input.

    Sources: Vaicenavicius et al. 2019, section 5; Spiegelhalter 1986, "Probabilistic prediction
    in patient management and clinical trials"; for z of thousands of blocks Wallace 1959, "Bounds
    on normal approximations to Student's and the chi-square distributions".

    Example:
        >>> import numpy as np
        >>> p = np.random.default_rng(0).uniform(0.5, 1, 1_000)
        >>> found = calibration_test(p, (np.random.default_rng(1).random(1_000) < p**2).astype(int))
        >>> found.p_value < 0.01, found.z > 5
        (True, True)
    """
    predictions = unweighted(taken(probs, labels))
    bins = count_or_edges(n_bins, len(predictions))
    n_bins = count_of(bins)
    draws = check_count(draws, "draws", "1000 is usual")
    confidences, correct, index = binned(predictions, bins, strategy)
    values = as_chances(confidences)
    of_block = None
    if blocks is None:
        drawn = _drawn_errors(values, index, n_bins, draws, seed)
    else:
        of_block = block_index(blocks, len(values), probs)
        noise = block_noise(
            values, correct, index, of_block, generator(seed), draws, calibrated=True
        )
        drawn = np.abs(noise.draws * noise.measured).sum(axis=1)
    found = mean_excess(np.bincount(index, values - correct, minlength=n_bins), len(values))
    # Sums in a different order may differ in their last digits.
    as_large = int((drawn >= found - 1e-12).sum())
    if of_block is None:
        z = _spiegelhalter(values, correct)
    else:
        z = z_of_blocks(values, correct, of_block)
        z = 0.0 if np.isnan(z) else z
    return CalibrationTest((1 + as_large) / (1 + draws), z)


def _spiegelhalter(values: np.ndarray, correct: np.ndarray) -> float:
    weights = 1 - 2 * values
    excess = float(weights @ (correct - values))
    spread = float(np.sqrt(weights**2 @ (values * (1 - values))))
    if spread > 0:
        return excess / spread
    return 0.0 if excess == 0 else float(np.copysign(np.inf, excess))


def _by_bin(values: np.ndarray, index: np.ndarray, n_bins: int) -> list[np.ndarray]:
    """The values of each bin, in their order."""
    bounds = np.cumsum(np.bincount(index, minlength=n_bins))[:-1]
    return np.split(values[np.argsort(index, kind="stable")], bounds)


def _drawn_errors(
    values: np.ndarray, index: np.ndarray, n_bins: int, draws: int, seed: int
) -> np.ndarray:
    """(draws,): the ECE of a calibrated network with these confidences in each drawn sample."""
    rng = generator(seed)
    total = np.zeros(draws)
    for chances in _by_bin(values, index, n_bins):
        if len(chances):
            total += np.abs(_drawn_sums(chances, draws, rng) - chances.sum())
    return total / len(values)


def consistency_limits(
    predictions: Predictions, n_bins: Any, strategy: str, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of the consistency bar of each bin of a calibrated network.

    Args:
        predictions: of any labels.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        strategy: "uniform" or "quantile".
        level: the accuracy of a bin lies within its limits, or on them, with at least this
            probability.

    Returns:
        The lower and the upper limits, each (M,); NaN if the bin is empty.

    Source: Bröcker, Smith 2007, "Increasing the Reliability of Reliability Diagrams".
    """
    bins = count_or_edges(n_bins, len(predictions))
    confidences, _, index = binned(predictions, bins, strategy)
    limits = np.full((2, count_of(bins)), np.nan)
    tails = (1 - level) / 2, (1 + level) / 2
    for m, chances in enumerate(_by_bin(as_chances(confidences), index, count_of(bins))):
        if len(chances):
            limits[:, m] = _sum_quantiles(chances, tails) / len(chances)
    return limits[0], limits[1]


def _sum_quantiles(chances: np.ndarray, tails: tuple[float, float]) -> np.ndarray:
    """Quantiles of the number of successes in independent trials, trial i with chance i."""
    variance = float(chances @ (1 - chances))
    if variance > _NORMAL_FROM:
        normal = NormalDist(chances.sum(), variance**0.5)
        return np.array([normal.inv_cdf(tail) for tail in tails])
    first, probabilities = poisson_binomial(chances)
    return first + np.searchsorted(np.cumsum(probabilities), tails)


def _drawn_sums(chances: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the number of successes in independent trials, trial i with chance i."""
    variance = float(chances @ (1 - chances))
    if variance > _NORMAL_FROM:
        return rng.normal(chances.sum(), np.sqrt(variance), draws)
    first, probabilities = poisson_binomial(chances)
    cumulative = np.cumsum(probabilities)
    return first + np.searchsorted(cumulative / cumulative[-1], rng.random(draws), side="right")


def poisson_binomial(chances: np.ndarray) -> tuple[int, np.ndarray]:
    """The distribution of the number of successes in independent trials, trial i with chance i.

    Only the numbers near the mean are listed, because by Bernstein's inequality all others together
    have a probability below 1e-12. Their probabilities are the inverse Fourier transform of the
    generating function, a product, at roots of unity.

    Args:
        chances: (k,), from 0 to 1.

    Returns:
        The first number listed, and the probabilities of it and those that follow.

    Source: Hong 2013, "On computing the distribution function for the Poisson binomial
    distribution", section 2.
    """
    deviation = float(np.sqrt(chances @ (1 - chances)))
    reach = int(9 * deviation + 20)
    length = min(2 * reach, len(chances)) + 1
    roots = np.exp(-2j * np.pi * np.arange(length // 2 + 1) / length) - 1
    product = np.ones(len(roots), complex)
    for start in range(0, len(chances), _BLOCK):
        block = chances[start : start + _BLOCK]
        product *= np.multiply.reduce(1 + block[:, None] * roots, axis=0)
    first = max(0, min(round(chances.sum()) - reach, len(chances) + 1 - length))
    wrapped = np.maximum(np.fft.irfft(product, length), 0)
    return first, wrapped[(first + np.arange(length)) % length]
