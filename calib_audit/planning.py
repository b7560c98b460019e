"""How many rows does a report need before there are any?"""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv, ndtri

from calib_audit.bin_sums import BinSums
from calib_audit.formatting import two_digits
from calib_audit.measures import larger_error
from calib_audit.parts import WITHIN, allowed, outcome_of
from calib_utils.predictions import check_count

__all__ = ["rows_for"]

_DRAWS = 10_000  # of the gaps of all groups
_SHARE = 0.8  # of them that are to be found within the tolerance
_SPREAD = 2 / 3  # of the variance of an event that is left when its score is known
_FEWEST = 10  # positives, or negatives, in a group
_BINS = 15
_ALL = np.arange(_BINS)[:, None]
_MOST = 10**9


def rows_for(
    tolerance: float,
    rate: float,
    groups: int = 1,
    *,
    relative_tolerance: float = 0.25,
    seed: int = 0,
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
        relative_tolerance: as `report` has it.
        seed: of the random draws.

    Raises:
        ValueError: if an argument is out of its range.

    Example:
        >>> rows_for(0.05, rate=0.3) < rows_for(0.05, rate=0.3, groups=5)
        True
    """
    for name, value in (("tolerance", tolerance), ("rate", rate)):
        if not 0 < value < 1:
            raise ValueError(f"{name}: expected above 0 and below 1, found {value!r}; try 0.02")
    if not 0 < relative_tolerance <= 1:
        raise ValueError(
            f"relative_tolerance: expected above 0 and up to 1, found {relative_tolerance!r}"
        )
    check_count(groups, "groups", "1 is all rows alone")
    limit = allowed(tolerance, relative_tolerance, rate)
    n = 100.0
    while outcome_of(larger_error(_typical(n, rate), seed), limit) != WITHIN:
        if n > _MOST:
            raise ValueError(f"tolerance: even {_MOST:,} rows would not do; try a larger one")
        n *= 2**0.125
    if groups > 1:
        edge = min(rate + limit, 1.0)  # as `gap_of` takes the noise
        each = edge * (1 - edge) * _SPREAD * (_far(groups, seed) / limit) ** 2
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


def _far(groups: int, seed: int) -> float:
    """How many standard errors the tolerance has to be for all groups to be found within it."""
    gaps = np.abs(np.random.default_rng(seed).normal(size=(_DRAWS, groups)))
    gaps.sort(axis=1)
    # Holm compares the smallest of the p values with 0.05 / groups, and the largest with 0.05.
    needed = (gaps - ndtri(0.05 / np.arange(groups, 0, -1))).max(axis=1)
    return float(np.quantile(needed, _SHARE))
