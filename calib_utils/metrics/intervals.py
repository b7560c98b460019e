"""Intervals of a calibration error.

The ECE of a sample is a sum over bins of |S|, where S is the bin's excess of confidence over
correctness, divided by the number of all samples. S differs from the true mu of its bin by noise of
a known size, and the absolute value turns noise into error: if mu is small compared with the noise,
|S| is too large. The ECE is therefore biased upwards by an amount that depends on the truth, and a
bootstrap, which adds noise once more, moves the interval the wrong way. Here each end comes from a
test instead: how small, and how large, may the population ECE be so that an ECE like the observed
one is still unsurprising?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from calib_utils.metrics.baseline import generator
from calib_utils.metrics.bins import (
    as_chances,
    bin_sums,
    binned,
    count_or_edges,
    mean_excess,
    squared_sums,
)
from calib_utils.metrics.blocks import ADDED, BinNoise, block_index, block_noise
from calib_utils.predictions import Predictions
from calib_utils.predictions.gate import taken, unweighted

_DRAWS = 2_000  # of the noise: their own error is small compared with the interval
_SLIP = 0.005  # the chance that some bin without a clear gap is taken for one with a gap
_LUCK = NormalDist().cdf(-1)  # how often a calibrated network gets a lower ECE
_HALVINGS = 17  # of the range of an end: to a hundred thousandth


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
    the benchmark of coverage, with 500 samples or more and a ``level`` of 95 %, no coverage that
    was measured is below 94 %, even if the network is calibrated. With very few samples, or a very
    rare outcome, it may be lower: with one confidence for all it is 91 % in the worst case that was
    tried. The interval accounts for the choice of the samples, not for a new training run.

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
