"""Between which numbers the calibration error of a network lies, given finitely many samples.

The ECE of a sample is a sum over bins of |S|, where S is the bin's mean excess of confidence over
correctness, over all samples. S misses the true mu of its bin by noise of a known size, and the
absolute value turns noise into error: where mu is small against the noise, |S| is too large. So
the ECE is too high by an amount that depends on the truth, and a bootstrap, which adds noise
once more, moves the interval the wrong way. Here each end is the answer to a question about the
truth instead: how small, and how large, may the error be so that an ECE like the one that was
seen is still no surprise?
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from calib_utils._arrays import dtype_name
from calib_utils._numbers import check_n_bins
from calib_utils.metrics.bins import edges_and_index, mean_excess, sums
from calib_utils.metrics.confidences import confidence_and_correct
from calib_utils.metrics.resampling import generator
from calib_utils.predictions import Predictions, taken, unweighted

__all__ = ["calibration_error_interval", "debiased_calibration_error_interval"]

_DRAWS = 2_000  # of the noise: what they add to the ends is small beside the interval
_SLIP = 0.005  # the chance that some bin without a clear gap is taken for one that has it
_LUCK = NormalDist().cdf(-1)  # a calibrated network shows a lower ECE this often
_ADDED = 2  # samples of a calibrated network, in the spread of each bin
_HALVINGS = 17  # of the range of an end: to a hundred thousandth


def calibration_error_interval(
    probs: Any,
    labels: Any = None,
    n_bins: int = 15,
    *,
    level: float = 0.95,
    strategy: str = "uniform",
    seed: int = 0,
) -> tuple[float, float]:
    """An interval for the binned calibration error of the network, which its ECE estimates.

    The error is that of the network on all samples that there could be, in the bins of this
    sample: the mean over the bins of the distance between confidence and accuracy. In repeated
    samples, in all cases that were tried, the interval holds it as often as ``level`` says, and
    often more, also where the network is calibrated, and the error 0: see the benchmark of
    coverage. It speaks about the choice of the samples, not about another training run.

    Upper end: the largest error such that an ECE as low as the one seen has a chance of
    (1 - level) / 2, if the error is spread over the bins in proportion to their noise (a choice,
    since nobody knows how it is spread); an ECE lower than the 16 % point of a calibrated
    network's counts as that point. Lower end: the ECE less the noise that may be in it; the noise
    counts as such, without the absolute value, in the bins whose gap is clear.

    It takes no weights: that the interval holds the error was measured for samples that count
    alike.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; none where ``probs`` are ``Predictions``.
        n_bins: how many bins, M.
        level: how often the interval is to hold the error, above 0 and below 0.99.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        seed: of the draws of noise; the same seed gives the same interval.

    Returns:
        Its lower and its upper end, 0 to 1. The ECE itself may lie above the upper end, if it is
        too high by more than that.

    Raises:
        ValueError: for bad input.

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
    predictions = unweighted(taken(probs, labels))
    return error_ends(bin_sums(predictions, n_bins, strategy), (level, level), seed)


def error_ends(of_bins: np.ndarray, levels: tuple[float, float], seed: int) -> tuple[float, float]:
    """`calibration_error_interval` of samples whose `bin_sums` are known.

    Each end is that of the interval of its own level.
    """
    tail_below, tail_above = map(_tail, levels)
    _, excess, measured, cautious = _noise(of_bins)
    ece = float(mean_excess(excess, 1))
    noise = generator(seed).standard_normal((_DRAWS, len(excess)))
    low = ece - np.quantile(_too_high(excess, cautious, noise), 1 - tail_below + _SLIP)
    # Where bins are many, the noise lifts the ECE: too large a guess of it, and the end is too
    # low. Where they are few, too small a guess makes it so.
    high = max(_highest(ece, deviation, noise, tail_above) for deviation in (measured, cautious))
    return max(0.0, float(low)), high


def debiased_calibration_error_interval(
    probs: Any,
    labels: Any = None,
    n_bins: int = 15,
    *,
    level: float = 0.95,
    strategy: str = "uniform",
    seed: int = 0,
) -> tuple[float, float]:
    """An interval for the root mean square of the gaps of the bins, without their noise.

    That error `debiased_calibration_error` estimates: of the network on all samples that there
    could be, in the bins of this sample. The interval is a test turned round: it holds the errors
    at which a mean square like the one seen is no surprise, to either side. Gaps are noise
    around their truth, so their mean square is a weighted noncentral chi-square. How the error
    is spread over the bins is not known; it is taken to be where the noise is widest, which is
    a choice as well. A mean square lower than the 16 % point of a calibrated network's counts as
    that point.

    Like `calibration_error_interval` it held the error as often as ``level`` says, or about as
    often, wherever that was tried (see the benchmark of coverage), speaks about the choice of
    the samples, and takes no weights.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; none where ``probs`` are ``Predictions``.
        n_bins: how many bins, M.
        level: how often the interval is to hold the error, above 0 and below 0.99.
        strategy: "uniform" or "quantile", as in `reliability_bins`.
        seed: of the draws of noise; the same seed gives the same interval.

    Returns:
        Its lower and its upper end, 0 to 1. The lower is 0 where the network may be calibrated.

    Raises:
        ValueError: for bad input.

    Example:
        Half of 1,000 forecasts of 0.8 come true.

        >>> low, high = debiased_calibration_error_interval([0.8] * 1000, [0, 1] * 500)
        >>> round(low, 2), round(high, 2)
        (0.27, 0.33)
    """
    predictions = unweighted(taken(probs, labels))
    return root_square_ends(bin_sums(predictions, n_bins, strategy), level, seed)


def root_square_ends(of_bins: np.ndarray, level: float, seed: int) -> tuple[float, float]:
    """`debiased_calibration_error_interval` of samples whose `bin_sums` are known."""
    tail = _tail(level)
    share, excess, *deviations = _noise(of_bins)
    noise = generator(seed).standard_normal((_DRAWS, len(excess)))
    root = np.sqrt(share)  # so that the mean square of the gaps is a sum of squares
    square = float(np.sum((excess / root) ** 2))
    ends = [_root_ends(square, each / root, noise, tail) for each in deviations]
    return min(low for low, _ in ends), max(high for _, high in ends)


def _tail(level: float) -> float:
    """The chance to miss at one side."""
    if not (isinstance(level, (int, float, np.number)) and 0 < level < 0.99):
        raise ValueError(f"level: expected a number above 0 and below 0.99, found {level!r}")
    return (1 - level) / 2


def bin_sums(predictions: Predictions, n_bins: int, strategy: str) -> np.ndarray:
    """All that the intervals need of the samples: float64, (5, M), which may be added up.

    For each bin how many samples it holds, how many of them are right, and the sums of the
    confidence c, of (c - correct)^2, and of c (1 - c).
    """
    n_bins = check_n_bins(n_bins)
    confidences, correct = confidence_and_correct(predictions)
    _, index = edges_and_index(confidences, n_bins, strategy, dtype_name(predictions.scores))
    values = confidences.astype(np.float64)
    squares = np.bincount(index, (values - correct) ** 2, minlength=n_bins)
    promised_squares = np.bincount(index, values * (1 - values), minlength=n_bins)
    return np.stack([*sums(index, confidences, correct, n_bins), squares, promised_squares])


def _noise(of_bins: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of each bin with samples: its share of all n, its summed excess over n, two deviations.

    The first deviation is that of the samples, to which two more are added that spread as those
    of a calibrated network do: a few samples show their own spread badly. For the second four
    are added, two of them as wrong as can be: where all answers are right, the next need not be.
    """
    counts, right, promised, squares, promised_squares = of_bins[:, of_bins[0] > 0]
    means = (promised - right) / counts
    around_mean = np.maximum(squares - counts * means**2, 0)
    added = _ADDED * np.maximum(promised_squares / counts, 0)
    measured = (around_mean + added) / (counts - 1 + _ADDED)
    cautious = (around_mean + 2) / (counts + 4)
    n = counts.sum()
    share = counts / n
    # How many of the next n samples fall into the bin is chance, too.
    of_share = means**2 * (1 - share)
    first, second = (np.sqrt(share * (within + of_share) / n) for within in (measured, cautious))
    return share, share * means, first, second


def _too_high(excess: np.ndarray, deviation: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Draws of a number that the ECE is not further above the truth than.

    |mu + noise| - |mu| is at most |noise|; and where mu is so large that its sign is clear, it is
    the noise itself, up to that sign.
    """
    clear = np.abs(excess) > 2 * NormalDist().inv_cdf(1 - _SLIP / (2 * len(excess))) * deviation
    return np.asarray(np.where(clear, noise, np.abs(noise)) @ deviation)


def _highest(ece: float, deviation: np.ndarray, noise: np.ndarray, tail: float) -> float:
    """The largest error at which so low an ECE has a chance of ``tail``.

    An ECE lower than that of most calibrated networks is luck, not a sign of being better than
    calibrated: it counts as the 16 % point of theirs, so that luck makes no interval empty.
    """
    if not deviation.any():  # all confidences are 0 or 1, and all that they say comes true
        return ece
    shares = deviation / deviation.sum()
    noise = noise * deviation
    ece = max(ece, np.quantile(np.abs(noise).sum(axis=1), _LUCK))
    return _lowest_beyond(
        lambda error: np.quantile(np.abs(error * shares + noise).sum(axis=1), tail) > ece
    )


def _root_ends(
    square: float, deviation: np.ndarray, noise: np.ndarray, tail: float
) -> tuple[float, float]:
    """The root mean squares at which a square as high, or as low, has a chance of ``tail``.

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
