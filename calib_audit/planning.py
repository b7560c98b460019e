"""How many rows does a verdict take, before there are any, and once there are some?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from calib_audit.bin_sums import CORRECT, COUNT, EXPECTED, SQUARES, BinSums
from calib_audit.formatting import two_digits
from calib_audit.lots import SEED
from calib_audit.measures import larger_error_against
from calib_audit.parts import RELATIVE, allowed, check_limits
from calib_utils.metrics.bins import squared_sums
from calib_utils.metrics.errors import debiased_square
from calib_utils.metrics.intervals import noise_of_means, root_square_ends
from calib_utils.predictions.checks import check_count

_DRAWS = 10_000  # of the gaps of all groups
_SHARE = 0.8  # of them that are to be found within the tolerance
_SPREAD = 2 / 3  # of the variance of an event that is left when its score is known
_FEWEST = 10  # positives, or negatives, in a group
_BINS = 15
_ALL = np.arange(_BINS)[:, None]
_MOST = 10**9
_MOST_STEPS = 40  # of a fourth of an octave: a thousand times as many rows
_LEVELS = 0.8, 0.4  # of the intervals whose ends are the quantiles


def rows_for(
    tolerance: float,
    rate: float,
    groups: int = 1,
) -> int:
    """How many rows show with a probability of 80 % that a calibrated model is within a tolerance.

    The scores of the model are taken to have a beta distribution with the mean ``rate`` and a
    concentration of 2 (uniform for a rate of one half). The result is about the smallest number of
    rows at which four reports in five find all rows, and with them all of the equally large groups,
    within the tolerance. A model with an error of its own takes more.

    Args:
        tolerance: the largest error that is acceptable, above 0 and below 1.
        rate: how often the event happens, above 0 and below 1.
        groups: how many groups are judged as well; 1 for all rows alone.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
        >>> rows_for(0.05, rate=0.3) < rows_for(0.05, rate=0.3, groups=5)
        True
    """
    check_limits(tolerance)
    if not 0 < rate < 1:
        raise ValueError(f"rate: expected above 0 and below 1, found {rate!r}; try 0.02")
    check_count(groups, "groups", "1 is all rows alone")
    limit = allowed(tolerance, RELATIVE, rate)
    n = 100.0
    while not larger_error_against(_typical(n, rate), limit)[1]:
        if n > _MOST:
            raise ValueError(f"tolerance: even {_MOST:,} rows would not do; try a larger one")
        n *= 2**0.125
    if groups > 1:
        edge = min(rate + limit, 1.0)  # as `gap_of` takes the noise
        each = edge * (1 - edge) * _SPREAD * (_far(groups) / limit) ** 2
        n = max(n, groups * each, groups * _FEWEST / min(rate, 1 - rate))
    return two_digits(n)


def _typical(n: float, rate: float) -> list[BinSums]:
    """The sums of ``n`` rows of a calibrated model, whose error only one in five would exceed.

    In each of the two binnings one in ten does, since a report looks at the larger error of both.
    """
    scores = betaincinv(2 * rate, 2 * (1 - rate), (np.arange(20 * _BINS) + 0.5) / (20 * _BINS))
    places = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    found = []
    for bins in (places == np.unique(places)[:, None], np.arange(20 * _BINS) // 20 == _ALL):
        counts = bins.sum(axis=1) * n / len(scores)
        expected = bins @ scores * n / len(scores)
        spread = bins @ (scores * (1 - scores)) * n / len(scores)
        # Of a folded normal: the mean, and what one in ten sums of so many exceeds.
        size = (2 / np.pi) ** 0.5 + 1.28 * ((1 - 2 / np.pi) / len(counts)) ** 0.5
        gaps = size * spread**0.5
        found.append(BinSums(np.stack([counts, expected + gaps, expected, spread, spread])))
    return found


def _far(groups: int) -> float:
    """How many standard errors the tolerance has to be for all groups to be found within it."""
    gaps = np.abs(np.random.default_rng(SEED).normal(size=(_DRAWS, groups)))
    gaps.sort(axis=1)
    # Holm compares the smallest of the p values with 0.05 / groups, and the largest with 0.05.
    needed = (gaps - ndtri(0.05 / np.arange(groups, 0, -1))).max(axis=1)
    return float(np.quantile(needed, _SHARE))


def rows_needed(
    binnings: Sequence[BinSums], tolerance: float
) -> tuple[int | None, int | None, int | None]:
    """About how many rows would decide, and from how many to how many.

    A typical larger sample shows gaps of the mean size that the true ones give with its smaller
    noise, and the result is the first size at which the interval of such a sample decides. The
    middle one takes the gaps of the bins as the true ones, with the noise subtracted from their
    squares. Their true root mean square is not known well, so the range is that of all sizes which
    follow from its 10, 30, 70 and 90 % quantiles, as those of a confidence distribution.

    In ``benchmarks.rows_needed`` the range holds the number that decides for 90 % of the samples,
    but of 500 rows of some models only for 60 %.

    Returns:
        The middle, the fewest and the most; None for more than a thousand times as many as these.
    """
    debiased = [np.fmax(debiased_square(bins.array), 0) ** 0.5 for bins in binnings]
    ends = [[root_square_ends(bins.array, level, SEED) for bins in binnings] for level in _LEVELS]
    cases = [debiased, *(roots for pair in ends for roots in zip(*pair, strict=True))]
    found = [_decided_at(binnings, roots, tolerance) for roots in cases]
    known = [n for n in found if n is not None]
    return found[0], min(known, default=None), None if None in found else max(known)


def _decided_at(
    binnings: Sequence[BinSums], roots: Sequence[float], tolerance: float
) -> int | None:
    """The first number of rows that decides if the root mean squares of the gaps are these."""

    def decides(step: int) -> bool:
        more = [
            _with_more(bins, 2 ** (step / 4), root)
            for bins, root in zip(binnings, roots, strict=True)
        ]
        return any(larger_error_against(more, tolerance))

    step = bisect_left(range(1, _MOST_STEPS + 1), True, key=decides) + 1
    if step > _MOST_STEPS:
        return None
    return two_digits(2 ** (step / 4) * binnings[0].n)


def _with_more(bins: BinSums, times: float, root: float) -> BinSums:
    """The sums that a typical sample of ``times`` as many rows would have.

    Its gaps have this root mean square.
    """
    array = bins.array[:, bins.array[COUNT] > 0]
    counts, squared = array[COUNT], squared_sums(array)[0]
    gaps = (array[EXPECTED] - array[CORRECT]) / counts
    seen = gaps**2 @ counts / counts.sum()
    if seen > 0:
        gaps = gaps * root / seen**0.5
    effective, around, _ = noise_of_means(array)
    within = around / effective
    noise = np.sqrt(np.maximum(within, 1e-12) / (times * effective))
    ratio = gaps / noise  # for the mean of a folded normal: the size of a gap with its noise
    shown = noise * (np.sqrt(2 / np.pi) * np.exp(-(ratio**2) / 2) + ratio * (1 - 2 * ndtr(-ratio)))
    more = array * times
    more[CORRECT] = more[EXPECTED] - shown * more[COUNT]
    more[SQUARES] = (within + shown**2) * times * squared
    if len(more) > 5:
        more[6] = more[7] - shown * more[5]
    return BinSums(more)
