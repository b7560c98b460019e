"""The sums over bins that the measures need; those of a file's blocks add up.

Rows may have weights. Then the noise of a sum follows from the squared weights, and there are two
ways to count: by rows, and by how many equal rows would be as noisy.

Or rows may belong together, such as the visits of one patient. What is known of a bin then varies
from block to block, and not from row to row: so where sums of squares would be taken over rows,
they are taken over what each block has in the bin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from calib_audit.probabilities import row_sums
from calib_audit.rows import Rows
from calib_utils._numerics import log_losses
from calib_utils.metrics.bins import squared_sums, sums_per_bin

_MOST_KEYS = 1_000
_LEAST, _MOST = np.finfo(np.float64).smallest_subnormal, 1 - np.finfo(np.float64).epsneg
COUNT, CORRECT, EXPECTED, SQUARES, SPREAD = range(5)  # the rows of `BinSums.array`


class BinSums(NamedTuple):
    """Sums over the rows in each of M bins.

    Attributes:
        array: float64, (5, M), or (9, M) with weights, as `calib_utils.metrics.bins.tally` has
            it: of rows that count alike the number of rows, the number of correct ones (or
            positives), and the sums of the confidence c, of (c - correct)^2 and of c (1 - c).
    """

    array: np.ndarray

    @property
    def weighted(self) -> bool:
        """Whether rows count by their weights."""
        return len(self.array) > 5

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.rows.sum())

    @property
    def rows(self) -> np.ndarray:
        """The number of rows in each bin, float64, (M,)."""
        return self.array[8] if self.weighted else self.array[COUNT]

    @property
    def mass(self) -> float:
        """The sum of the weights, which without weights is the number of rows."""
        return float(self.array[COUNT].sum())

    @property
    def effective(self) -> float:
        """Kish's effective size: of how many equal rows a mean would be as noisy.

        Source: Kish 1965, "Survey Sampling", section 11.7.
        """
        if not self.weighted:
            return float(self.n)
        return self.mass**2 / float(squared_sums(self.array)[0].sum())

    @property
    def predicted(self) -> float:
        """The mean confidence."""
        return float(self.array[EXPECTED].sum() / self.mass)

    @property
    def happened(self) -> float:
        """The share of rows that are correct, or positive."""
        return float(self.array[CORRECT].sum() / self.mass)


def heaviness(array: np.ndarray) -> np.ndarray:
    """How heavy the rows of a bin are that are wrong, and those that are right: (2, M).

    It is the mean weight of each, where a row counts by its weight; of all rows of the bin where
    there are none of a kind. Both are 1 without weights, and where negatives were left out, those
    that are left are the heavier ones.
    """
    right, right_squared = array[CORRECT], squared_sums(array)[1]
    both, both_squared = array[COUNT], squared_sums(array)[0]
    found = np.stack([both_squared - right_squared, right_squared])
    masses = np.stack([both - right, right])
    overall = np.divide(both_squared, both, out=np.ones_like(both), where=both > 0)
    return np.divide(found, masses, out=np.stack([overall] * 2), where=masses > 0)


def worth(masses: np.ndarray, rates: np.ndarray, heavy: np.ndarray) -> np.ndarray:
    """How many equal rows have a frequency that varies as much as that of these, (M,).

    Args:
        masses: (M,), the sum of the weights.
        rates: (M,), the expected frequency, 0 to 1.
        heavy: (2, M), as `heaviness` has it.
    """
    return masses / ((1 - rates) * heavy[1] + rates * heavy[0])


def check_few(groups: Mapping[tuple[str, str], Any]) -> None:
    """Refuse a column of groups that has more than a thousand values."""
    for name, n in Counter(name for name, _ in groups).items():
        if n > _MOST_KEYS:
            raise ValueError(
                f"group: expected at most {_MOST_KEYS:,} values, found more in {name!r}; "
                "give a column that divides the rows into few groups"
            )


def confidences_of(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """The confidence in each predicted class and whether it is correct; of one score, the
    probability of the positive class and whether the row is positive.
    """
    if rows.probs.ndim == 1:
        return rows.probs, rows.labels == 1
    predicted = rows.probs.argmax(axis=1)
    top = rows.probs[np.arange(len(predicted)), predicted]
    return top, predicted == rows.labels


def order_of(rows: Rows) -> np.ndarray:
    """What puts rows in the order of their confidence: its log-odds if they are at hand, or the
    probability of the other classes, because confidences of 1 are equal after rounding.
    """
    if rows.logits is None and rows.probs.ndim == 1:
        return confidences_of(rows)[0]
    if rows.logits is None:  # near 1 the others of the row tell more than what is left of 1
        narrow = rows.dtype == "bfloat16"  # which NumPy does not have
        near = (2.0**-8 if narrow else float(np.finfo(rows.dtype).epsneg)) ** 0.75
        top, rest = confidences_of(rows)[0], rows.probs.copy()
        rest[np.arange(len(rest)), rest.argmax(axis=1)] = 0
        return np.asarray(-np.where(top > 1 - near, np.minimum(rest.sum(axis=1), near), 1 - top))
    if rows.logits.ndim == 1:
        return rows.logits
    powers = np.exp(rows.logits - rows.logits.max(axis=1, keepdims=True))
    powers[np.arange(len(powers)), rows.logits.argmax(axis=1)] = 0
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(row_sums(powers)))


def losses(rows: Rows) -> np.ndarray:
    """The negative log-likelihood of each row, (n,), where a probability of 0 is the smallest."""
    if rows.logits is not None:
        return log_losses(rows.logits, rows.labels)
    if rows.probs.ndim == 1:
        kept = inside(rows.probs)
        return np.asarray(-np.log(np.where(rows.labels == 1, kept, 1 - kept)))
    of_label = rows.probs[np.arange(len(rows.labels)), rows.labels]
    return np.asarray(np.log(row_sums(rows.probs)) - np.log(np.maximum(of_label, _LEAST)))


def inside(probs: np.ndarray) -> np.ndarray:
    """Probabilities of 0 and of 1 as the numbers next to them."""
    return np.clip(probs, _LEAST, _MOST)


def briers(rows: Rows) -> np.ndarray:
    """The Brier score of each row, (n,); of one score, its squared distance from the label."""
    if rows.probs.ndim == 1:
        return np.asarray((rows.probs - rows.labels) ** 2)
    distance = rows.probs.copy()
    distance[np.arange(len(rows.labels)), rows.labels] -= 1
    return np.asarray((distance**2).sum(axis=1))


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
    of_rows = [None, correct, confidences, np.sqrt(confidences * (1 - confidences))]
    return added_blocks(sums_per_bin(inverse, of_rows, len(pairs)), pairs % size, size)


def added_blocks(of_blocks: np.ndarray, index: np.ndarray, size: int) -> BinSums:
    """The same, of what each block has in a bin: its number of rows and of correct ones, and the
    sums of the confidence c and of the root of c (1 - c), (4, B), with the bin of each, (B,).
    """
    n, hits, expected, spread = of_blocks
    terms = [n, hits, expected, (expected - hits) ** 2, spread**2, n**2, n * hits, n * expected, n]
    return BinSums(sums_per_bin(index, terms, size))
