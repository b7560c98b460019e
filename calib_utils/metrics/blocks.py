"""The noise of bins from block to block of samples that belong together.

Blocks are samples that belong together: the days of one race, the visits of a patient, frames
of a video. Such samples tell us less than as many independent ones, because what surprises us in
one of them surprises us in all. So the noise of a bin is measured from block to block, and not from
sample to sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_utils._numerics import effective_size
from calib_utils.predictions.labels import check_blocks

_FEWEST = 10  # blocks of equal size; see the benchmark of blocks
ADDED = 2  # blocks, or samples, of a calibrated network, added to the variance of each bin


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
