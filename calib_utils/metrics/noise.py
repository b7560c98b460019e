"""The noise of a calibration error: its baseline, a test, intervals, and blocks of samples.

**The baseline and the test.** Make each prediction correct with a probability equal to its
confidence: that is a calibrated network with the same confidences. Its ECE is not 0, because the
sample is finite. Half of all calibrated networks lie above the mean of this baseline, so only an
ECE above its 95 % quantile is evidence of miscalibration.

**Intervals.** The ECE of a sample is a sum over bins of |S|, where S is the bin's excess of
confidence over correctness, divided by the number of all samples. S differs from the true mu of its
bin by noise of a known size, and the absolute value turns noise into error: if mu is small compared
with the noise, |S| is too large. The ECE is therefore biased upwards by an amount that depends on
the truth, and a bootstrap, which adds noise once more, moves the interval the wrong way. Here each
end comes from a test instead: how small, and how large, may the population ECE be so that an ECE
like the observed one is still unsurprising?

**Blocks** are samples that belong together: the days of one race, the visits of a patient, frames
of a video. Such samples tell us less than as many independent ones, because what surprises us in
one of them surprises us in all. So the noise of a bin is measured from block to block, and not from
sample to sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from calib_utils._numerics import effective_size
from calib_utils.metrics.bins import (
    as_chances,
    binned,
    count_of,
    count_or_edges,
    edges_and_index,
    mean_excess,
    sums_per_bin,
    unequal,
    weighted_predictions,
)
from calib_utils.predictions import (
    Predictions,
    check_blocks,
    check_count,
    check_seed,
    dtype_name,
    taken,
    unweighted,
)

_FEWEST = 10  # blocks of equal size; see the benchmark of blocks
ADDED = 2  # blocks, or samples, of a calibrated network, added to the variance of each bin
_NORMAL_FROM = 400.0  # variance of the number of correct predictions in a bin
_BLOCK = 4096  # samples at a time
_DRAWS = 2_000  # of the noise: their own error is small compared with the interval
_SLIP = 0.005  # the chance that some bin without a clear gap is taken for one with a gap
_LUCK = NormalDist().cdf(-1)  # how often a calibrated network gets a lower ECE
_HALVINGS = 17  # of the range of an end: to a hundred thousandth


def generator(seed: Any) -> np.random.Generator:
    """A random number generator with this seed.

    Raises:
        ValueError: unless it is an integer of 0 or more.
    """
    return np.random.default_rng(check_seed(seed))


def resampled_gaps(
    sets: Sequence[tuple[np.ndarray, np.ndarray]], repeats: int, seed: int
) -> np.ndarray:
    """The `expected_gap` of several sets of predictions, on samples drawn with replacement.

    Args:
        sets: for each, the bin of each sample (N,), and its confidence minus correctness (N,).
        repeats: the number of bootstrap samples, which are the same for all sets.
        seed: of the draws.

    Returns:
        (repeats, sets).
    """
    n, rng = len(sets[0][0]), generator(seed)
    results = np.empty((repeats, len(sets)))
    # With a single bin, the sum is a product of vectors, which is many times as fast.
    single = [not bins.any() for bins, _ in sets]
    for row in results:  # one set of indices fits in the cache, all of them would not
        # Weighting a sample by how often it is drawn is cheaper than selecting it repeatedly.
        times = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        row[:] = [
            mean_excess(np.array([times @ excess]) if one else np.bincount(bins, times * excess), n)
            for (bins, excess), one in zip(sets, single, strict=True)
        ]
    return results


class BinNoise(NamedTuple):
    """The excess of confidence in each bin, and its noise.

    Attributes:
        share: (M,), of the samples.
        excess: (M,), of confidence over correctness, summed in the bin and divided by all n; of
            blocks its size, with the draws turned alike.
        measured: (M,), the standard deviation of the excess.
        cautious: (M,), one that is too large rather than too small in small bins.
        draws: (draws, M), of noise with unit variance.
        signs: (M,), 1 or -1: the signs of the part of the noise that the bins have in common.

    Example:
        >>> one = np.ones(1)
        >>> BinNoise(one, 0.02 * one, 0.01 * one, 0.01 * one, np.zeros((5, 1)), one).excess.sum()
        np.float64(0.02)
    """

    share: np.ndarray
    excess: np.ndarray
    measured: np.ndarray
    cautious: np.ndarray
    draws: np.ndarray
    signs: np.ndarray


def block_index(blocks: Any, n: int, rows: Any = None, of: str = "probs") -> np.ndarray:
    """The number of each sample's block, (n,), from 0.

    Args:
        blocks: (n,), numbers or texts; equal ones belong to one block.
        n: the number of samples.
        rows: the samples in any form.
        of: their name in an error.

    Raises:
        ValueError: for a different length, missing names, too few blocks, or an index that has the
            rows of the samples in a different order.
    """
    _, index = np.unique(check_blocks(blocks, n, rows, of), return_inverse=True)
    if (worth := effective_blocks(index)) < _FEWEST:
        raise ValueError(
            f"blocks: expected at least {_FEWEST} of equal size, found {index.max() + 1} that are "
            f"worth {worth:.1f}; so few do not show how much blocks vary, so collect more of them"
        )
    return index


def require_others(z: np.ndarray, correct: np.ndarray, index: np.ndarray) -> None:
    """Refuse blocks of which one is all that keeps a threshold from separating the outcomes.

    Args:
        z: (N,), log-odds.
        correct: (N,), boolean.
        index: (N,), the number of each sample's block.

    Raises:
        ValueError: if there is one; also if all other log-odds are equal.
    """
    ends = np.full((2, 2, index.max() + 1), np.inf)  # the lowest z and -z of each outcome and block
    for outcome in (0, 1):
        rows = correct == outcome
        for sign in (0, 1):
            np.minimum.at(ends[outcome, sign], index[rows], -z[rows] if sign else z[rows])
    least = np.partition(ends, 1, axis=2)
    others = np.where(ends == least[..., :1], least[..., 1:2], least[..., :1])
    lows, highs = others[:, 0], -others[:, 1]  # of all other blocks
    separated = (lows[1] >= highs[0]) | (highs[1] <= lows[0])
    if separated.any():
        where = int(np.flatnonzero(index == separated.argmax())[0])
        raise ValueError(
            f"blocks: found one, that of index {where}, without which a threshold separates the "
            "outcomes, so that there is no best line; collect more blocks"
        )


def effective_blocks(index: np.ndarray) -> float:
    """How many blocks of equal size these are worth."""
    return effective_size(np.bincount(index).astype(np.float64))


def block_noise(
    confidences: np.ndarray,
    correct: np.ndarray,
    bins: np.ndarray,
    blocks: np.ndarray,
    rng: np.random.Generator,
    draws: int,
    *,
    calibrated: bool = False,
) -> BinNoise:
    """The noise of bins whose samples come in blocks; of those bins that have samples.

    The deviations are those of intervals without blocks, with blocks in the place of
    samples; the samples of a calibrated block that is added are all correct or all wrong, which is
    the most that it can vary. A block that is hard may be hard in several bins, so the draws are
    correlated as the blocks are. They have the heavier tails of Student's t, because the blocks
    are few.

    Args:
        confidences, correct, bins, blocks: (N,), of each sample.
        rng: of the draws.
        draws: their number.
        calibrated: whether the excess is known to be noise and nothing else.
    """
    _, bins = np.unique(bins, return_inverse=True)
    n_bins, n = bins.max() + 1, len(bins)
    counts, sizes = np.bincount(bins), np.bincount(blocks)
    excess = np.bincount(bins, confidences - correct)
    share, means = counts / n, np.zeros(n_bins) if calibrated else excess / counts
    together = np.sqrt(confidences * (1 - confidences))
    off = -np.outer(sizes, share * means)  # of each block and bin, from what its size predicts
    variances = np.empty((2, n_bins))
    for m in range(n_bins):
        chosen = bins == m
        own, inverse = np.unique(blocks[chosen], return_inverse=True)
        k, held = len(own), np.bincount(inverse).astype(np.float64)
        within = np.bincount(inverse, (confidences - correct)[chosen]) - held * means[m]
        around, alike = (within**2).sum(), (np.bincount(inverse, together[chosen]) ** 2).sum() / k
        off[own, m] += held * means[m]
        of_share = (off[:, m] ** 2).sum()  # the number of its samples varies as well
        off[own, m] += within
        as_measured = (around + ADDED * alike) / (k - 1 + ADDED)
        as_cautious = (around + 2 * (held**2).mean()) / (k + 4)
        variances[:, m] = k * np.array([as_measured, as_cautious]) + of_share
    covariance = off.T @ off
    root = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlation = covariance / np.outer(root, root)
    np.fill_diagonal(correlation, 1)  # also of a bin without any surprise, which may yet have one
    values, vectors = np.linalg.eigh(correlation)
    # The symmetric root, because eigenvectors themselves differ from one computer to the next.
    symmetric = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    noise = rng.standard_normal((draws, n_bins)) @ symmetric
    freedom = effective_blocks(blocks) - 1
    noise /= np.sqrt(rng.chisquare(freedom, draws) / freedom)[:, None]
    common = np.linalg.eigh(covariance)[1][:, -1]
    turned = np.where(excess < 0, -1.0, 1.0)  # so that all excesses are positive
    signs = turned * np.where(common * common.sum() < 0, -1.0, 1.0)
    measured, cautious = np.sqrt(variances) / n
    return BinNoise(share, np.abs(excess) / n, measured, cautious, noise * turned, signs)


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
    in up to 8 % of the samples, and the p-value is rather too large.

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


def calibration_error_interval(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    *,
    level: float = 0.95,
    strategy: str = "uniform",
    seed: int = 0,
    blocks: Any = None,
) -> tuple[float, float]:
    """An interval for the population ECE of the network, which its ECE estimates.

    That is the ECE that it would have on infinitely many samples, in the bins of this sample: the
    distance between confidence and accuracy in each bin, weighted by the bin's share of samples. In
    the cases of the benchmark of coverage, with 500 samples or more, the coverage was at least
    ``level``, even if the network is calibrated. With very few samples it may be lower: with ten of
    one confidence it is 92 % in the worst case, where ``level`` is 95 %. The interval accounts for
    the choice of the samples, not for a new training run.

    The upper end is the largest population ECE at which an ECE as low as the observed one still has
    a probability of (1 - level) / 2, if the error is spread over the bins in proportion to their
    noise (a choice, because its true spread is unknown). An ECE below the 16 % quantile of a
    calibrated network's counts as that quantile. The lower end is the ECE minus the noise that may
    be in it; in bins with a clear gap, the noise counts with its sign, and not its absolute value.

    Not knowing the true spread has a price: with gaps of other shapes, the benchmark finds an
    interval 1.1 to 2.8 times as wide as that of an oracle who knows the shape, and widest where all
    error lies in one bin.

    With weights, a bin is as noisy as its summed squared weights say, so a few heavy samples make
    a wide interval. Samples with ``blocks`` count equally: then the noise is that from block to
    block (see the benchmark of blocks for the coverage), and the error is that in the population
    from which the blocks come.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        level: how often the interval is to contain the error, above 0 and below 0.99.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        seed: of the draws of noise; the same seed gives the same interval.
        blocks: (N,), the block of each sample, as a number or text, where samples belong together,
            such as the visits of one patient; at least 10 blocks of equal size, or more unequal
            ones. Without it, the samples are independent.

    Returns:
        Its lower and its upper end, 0 to 1. The ECE itself may lie above the upper end, because of
        its bias.

    Raises:
        ValueError: for bad input, including weights together with blocks.

    Source for the treatment of a lucky sample: Cowan, Cranmer, Gross, Vitells 2011,
    "Power-Constrained Limits", arXiv:1105.3166.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(5_000)
        >>> low, high = calibration_error_interval(p, (rng.random(5_000) < p).astype(int))
        >>> low, high < 0.03
        (0.0, True)
    """
    predictions = taken(probs, labels)
    if blocks is None:
        return error_ends(bin_sums(predictions, n_bins, strategy), (level, level), seed)
    _tail(level)
    unweighted(predictions)
    of_block = block_index(blocks, len(predictions), probs)
    return ends_of_noise(_in_blocks(predictions, n_bins, strategy, of_block, seed), (level, level))


def error_ends(of_bins: np.ndarray, levels: tuple[float, float], seed: int) -> tuple[float, float]:
    """`calibration_error_interval` of samples whose `bin_sums` are known.

    Each end has its own level.
    """
    return ends_of_noise(_independent(of_bins, seed), levels)


def ends_of_noise(noise: BinNoise, levels: tuple[float, float]) -> tuple[float, float]:
    """`error_ends` of bins whose noise is known."""
    tail_below, tail_above = map(_tail, levels)
    # With many bins, noise raises the ECE, so if the noise is overestimated, the end is too low.
    # With few bins, the end is too low if the noise is underestimated.
    high = max(
        _highest(deviation, noise, tail_above) for deviation in (noise.measured, noise.cautious)
    )
    return max(0.0, _lowest(noise, tail_below)), high


def error_against(
    of_bins: np.ndarray, bound: float, levels: tuple[float, float], seed: int
) -> tuple[bool, bool]:
    """Whether the lower of the `error_ends` is above a bound, and whether the upper one is not.

    To ask this takes a tenth of the time in which the ends are found.
    """
    noise = _independent(of_bins, seed)
    tail_below, tail_above = map(_tail, levels)
    too_large = [
        _too_large(deviation, noise, tail_above)(bound)
        for deviation in (noise.measured, noise.cautious)
    ]
    return _lowest(noise, tail_below) > bound, all(too_large)


def debiased_calibration_error_interval(
    probs: Any,
    labels: Any = None,
    n_bins: Any = 15,
    *,
    level: float = 0.95,
    strategy: str = "uniform",
    seed: int = 0,
) -> tuple[float, float]:
    """An interval for the root mean square of the gaps of the bins, without their noise.

    `debiased_calibration_error` estimates this error: that of the network in the population, in the
    bins of this sample. The interval inverts a test: it contains the errors at which a mean square
    like the observed one is unsurprising, in both directions. Each gap is its true value plus
    noise, so the mean square is a weighted noncentral chi-square. How the error is spread over the
    bins is unknown; it is assumed to be where the noise is largest, which is a choice as well. A
    mean square below the 16 % quantile of a calibrated network's counts as that quantile.

    Like that of `calibration_error_interval`, its coverage was ``level``, or close to it, in all
    cases that were tried (see the benchmark of coverage). It accounts for the choice of the
    samples, and takes weights as `calibration_error_interval` does.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        n_bins: the number of bins, M, their edges or "auto", as in `reliability_bins`.
        level: how often the interval is to contain the error, above 0 and below 0.99.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        seed: of the draws of noise; the same seed gives the same interval.

    Returns:
        Its lower and its upper end, 0 to 1. The lower is 0 if the network may be calibrated.

    Raises:
        ValueError: for bad input.

    Example:
        Half of 1,000 forecasts of 0.8 come true.

        >>> low, high = debiased_calibration_error_interval([0.8] * 1000, [0, 1] * 500)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.33)
    """
    return root_square_ends(bin_sums(taken(probs, labels), n_bins, strategy), level, seed)


def root_square_ends(of_bins: np.ndarray, level: float, seed: int) -> tuple[float, float]:
    """`debiased_calibration_error_interval` of samples whose `bin_sums` are known."""
    return root_ends_of_noise(_independent(of_bins, seed), level)


def root_ends_of_noise(noise: BinNoise, level: float) -> tuple[float, float]:
    """`root_square_ends` of bins whose noise is known."""
    tail = _tail(level)
    root = np.sqrt(noise.share)  # so that the mean square of the gaps is a sum of squares
    square = float(np.sum((noise.excess / root) ** 2))
    deviations = noise.measured / root, noise.cautious / root
    ends = [_root_ends(square, each, noise.draws, tail) for each in deviations]
    return min(low for low, _ in ends), max(high for _, high in ends)


def share_ends(share: Any, n: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of a share that is ``share`` in ``n`` samples.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle, half = 2 * n * share + z**2, z * (z**2 + 4 * n * share * (1 - share)) ** 0.5
    low, high = (middle - half) / (2 * (n + z**2)), (middle + half) / (2 * (n + z**2))
    return np.where(share > 0, low, 0.0), np.where(share < 1, high, 1.0)


def _tail(level: float) -> float:
    """The probability of missing on one side."""
    if not (isinstance(level, (int, float, np.number)) and 0 < level < 0.99):
        raise ValueError(f"level: expected a number above 0 and below 0.99, found {level!r}")
    return (1 - level) / 2


def bin_sums(predictions: Predictions, n_bins: Any, strategy: str) -> np.ndarray:
    """The sums that the intervals need, as `tally` has them; those of several sets add up."""
    confidences, correct, weights = weighted_predictions(predictions)
    bins = count_or_edges(n_bins, len(correct) if weights is None else effective_size(weights))
    weights, dtype = unequal(weights), dtype_name(predictions.scores)
    _, index = edges_and_index(confidences, bins, strategy, dtype, weights)
    return tally(confidences, correct, index, count_of(bins), weights)


def tally(
    confidences: np.ndarray,
    correct: np.ndarray,
    index: np.ndarray,
    size: int,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Sums over the samples of each bin: float64, (5, size), or (9, size) with weights.

    They are the sums of w, of w times correct, of w times the confidence c, of
    w^2 (c - correct)^2 and of w^2 c (1 - c), where the weight w is 1 if there are none. Weights add
    the sums of w^2, of w^2 times correct and of w^2 c, and the number of samples.
    """
    c, hits = confidences.astype(np.float64), correct.astype(np.float64)
    first, noise = [hits, c], [(c - hits) ** 2, c * (1 - c)]
    if weights is None:
        terms = [None, *first, *noise]
    else:
        squared = weights**2
        terms = [weights, *(weights * term for term in first), *(squared * term for term in noise)]
        terms += [squared, *(squared * term for term in first), None]
    return sums_per_bin(index, terms, size)


def squared_sums(of_bins: np.ndarray) -> np.ndarray:
    """The sums of w^2, of w^2 times correct and of w^2 c, (3, M); without weights w^2 is w."""
    return of_bins[5:8] if len(of_bins) > 5 else of_bins[:3]


def noise_of_means(of_bins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the noise of the mean excess in each bin is made of; every bin has a sample.

    Returns:
        Kish's effective number of samples, which without weights is their number; the mean squared
        deviation from the mean excess, times that number; and the mean variance of a calibrated
        network. Both means are over w^2, as in the variance of a weighted mean.
    """
    masses, hits, expected, squares, expected_squares = of_bins[:5]
    squared, squared_hits, squared_expected = squared_sums(of_bins)
    means = (expected - hits) / masses
    around = squares - 2 * means * (squared_expected - squared_hits) + squared * means**2
    effective = masses**2 / squared
    return (
        effective,
        effective * np.maximum(around, 0) / squared,
        np.maximum(expected_squares / squared, 0),
    )


def _in_blocks(
    predictions: Predictions, n_bins: Any, strategy: str, of_block: np.ndarray, seed: int
) -> BinNoise:
    """The noise of samples that come in blocks."""
    bins = count_or_edges(n_bins, len(predictions))
    confidences, correct, index = binned(predictions, bins, strategy)
    return block_noise(as_chances(confidences), correct, index, of_block, generator(seed), _DRAWS)


def _independent(of_bins: np.ndarray, seed: int) -> BinNoise:
    """The noise of samples that are independent, of each bin that has some.

    The first deviation is that of the samples and two added ones with the variance of a calibrated
    network, because a few samples estimate their variance badly. For the second, four are added,
    two of them with the largest possible error: if all samples are correct, the next may not be.
    """
    of_bins = of_bins[:, of_bins[0] > 0]
    masses, hits, expected = of_bins[:3]
    effective, around_mean, calibrated = noise_of_means(of_bins)
    measured = (around_mean + ADDED * calibrated) / (effective - 1 + ADDED)
    cautious = (around_mean + 2) / (effective + 4)
    means, n = (expected - hits) / masses, masses.sum()
    share = masses / n
    # The weight of the samples that fall into a bin varies as well.
    squared = squared_sums(of_bins)[0]
    of_share = (means / n) ** 2 * (squared * (1 - 2 * share) + squared.sum() * share**2)
    first, second = (
        np.sqrt(share**2 * within / effective + of_share) for within in (measured, cautious)
    )
    draws = generator(seed).standard_normal((_DRAWS, len(share)))
    signs = np.ones(len(share))  # of independent noise they make no difference
    return BinNoise(share, share * means, first, second, draws, signs)


def _too_high(noise: BinNoise) -> np.ndarray:
    """Draws of a bound of the ECE's excess over the population ECE.

    |mu + noise| - |mu| is at most |noise|; and if mu is so large that its sign is clear, it is the
    noise itself, up to that sign.
    """
    reach = 2 * NormalDist().inv_cdf(1 - _SLIP / (2 * len(noise.excess))) * noise.cautious
    clear = np.abs(noise.excess) > reach
    return np.asarray(np.where(clear, noise.draws, np.abs(noise.draws)) @ noise.cautious)


def _lowest(noise: BinNoise, tail: float) -> float:
    """The lowest error at which so high an ECE has a probability of ``tail``; below 0 if none."""
    ece = float(mean_excess(noise.excess, 1))
    return float(ece - np.quantile(_too_high(noise), 1 - tail + _SLIP))


def _highest(deviation: np.ndarray, noise: BinNoise, tail: float) -> float:
    """The largest error at which so low an ECE has a probability of ``tail``."""
    if not deviation.any():  # all confidences are 0 or 1, and all predictions are correct
        return float(mean_excess(noise.excess, 1))
    return _lowest_beyond(_too_large(deviation, noise, tail))


def _too_large(deviation: np.ndarray, noise: BinNoise, tail: float) -> Callable[[float], bool]:
    """Whether so low an ECE has a probability below ``tail`` at an error.

    An ECE lower than that of most calibrated networks is luck, because no network is better than
    calibrated. It counts as the 16 % quantile of theirs, so that luck never empties an interval.
    """
    ece = float(mean_excess(noise.excess, 1))
    if not deviation.any():
        return lambda error: error >= ece
    shares = noise.signs * deviation / deviation.sum()
    drawn = noise.draws * deviation
    ece = max(ece, float(np.quantile(np.abs(drawn).sum(axis=1), _LUCK)))
    return lambda error: _is_above(np.abs(error * shares + drawn).sum(axis=1), tail, ece)


def _is_above(values: np.ndarray, part: float, bound: float) -> bool:
    """Whether their quantile is above a bound; counting is a tenth of the price of sorting."""
    rank, lower = part * (len(values) - 1), np.count_nonzero(values <= bound)
    if lower <= np.floor(rank) or lower > np.ceil(rank):
        return bool(lower <= rank)
    return bool(np.quantile(values, part) > bound)


def _root_ends(
    square: float, deviation: np.ndarray, noise: np.ndarray, tail: float
) -> tuple[float, float]:
    """The root mean squares at which a square as high, or as low, has probability ``tail``.

    A vector of that length is added to the noise, in the direction of the widest noise.
    """
    noise = noise * deviation
    along, of_noise = noise[:, deviation.argmax()], (noise**2).sum(axis=1)

    def quantile(error: float, part: float) -> float:
        return float(np.quantile(error * (error + 2 * along) + of_noise, part))

    low = 0.0
    if quantile(0, 1 - tail) < square:
        low = _lowest_beyond(lambda error: quantile(error, 1 - tail) >= square)
    square = max(square, quantile(0, _LUCK))
    return low, _lowest_beyond(lambda error: quantile(error, tail) > square)


def _lowest_beyond(beyond: Callable[[float], bool]) -> float:
    """The lowest error, 0 to 1, that is ``beyond``, as all higher ones are; 1 if none is."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        error = (low + high) / 2
        low, high = (low, error) if beyond(error) else (error, high)
    return high


def z_of_blocks(confidences: np.ndarray, correct: np.ndarray, index: np.ndarray) -> float:
    """Spiegelhalter's z of samples whose block has a number, (N,); NaN without a variance."""
    from scipy.special import ndtri, stdtr

    freedom = effective_blocks(index) - 1
    lean = 1 - 2 * confidences
    surprise = np.bincount(index, lean * (correct - confidences))
    most = np.bincount(index, np.abs(lean) * np.sqrt(confidences * (1 - confidences)))
    spread = float(surprise @ surprise + ADDED * (most**2).mean()) ** 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.divide(surprise.sum(), spread))
    tail = stdtr(freedom, -abs(ratio))
    if tail > 0 or not np.isfinite(ratio):
        return float(np.copysign(ndtri(tail), ratio))
    # So small a tail takes thousands of blocks, for which Wallace's approximation is exact enough.
    size = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(ratio**2 / freedom))
    return float(np.copysign(size, ratio))
