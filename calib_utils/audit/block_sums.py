"""The sums over bins of rows that belong together, such as the visits of one patient.

What is known of a bin then varies from block to block, and not from row to row: so where sums of
squares would be taken over rows, they are taken over what each block has in the bin.
"""

from __future__ import annotations

import numpy as np

from calib_utils.audit.bin_sums import BinSums

__all__ = ["sums_of_blocks"]


def sums_of_blocks(
    confidences: np.ndarray, correct: np.ndarray, index: np.ndarray, size: int, blocks: np.ndarray
) -> BinSums:
    """The sums of `BinSums` as it has them of rows with weights, (9, size).

    Where those of weights are over rows, these are over blocks: of the square of the excess of
    confidence, of the largest variance that a calibrated block can have, whose rows are all correct
    or all wrong, and of the number of rows times itself, the correct ones, and the confidence.

    Args:
        confidences, correct, index: (n,), of each row, with its bin.
        size: the number of bins.
        blocks: (n,), the number of each row's block, from 0.
    """
    pairs, inverse = np.unique(blocks * size + index, return_inverse=True)
    of_rows = (
        None,
        correct.astype(np.float64),
        confidences,
        np.sqrt(confidences * (1 - confidences)),
    )
    n, hits, expected, spread = (np.bincount(inverse, each) for each in of_rows)
    terms = [n, hits, expected, (expected - hits) ** 2, spread**2, n**2, n * hits, n * expected, n]
    return BinSums(np.stack([np.bincount(pairs % size, each, minlength=size) for each in terms]))
