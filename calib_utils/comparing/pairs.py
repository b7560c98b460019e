"""Do two predictions of the same samples differ, or two methods on the same splits?

A sample that is hard for one is usually hard for the other. They are therefore compared in pairs,
sample by sample, so that the noise that both share cancels in the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, stdtr, stdtrit  # scipy.stats takes a second to import

from calib_utils._numerics import effective_size
from calib_utils.metrics.bins import binned
from calib_utils.metrics.blocks import block_index, effective_blocks
from calib_utils.predictions import Predictions
from calib_utils.predictions.checks import (
    check_count,
    check_finite,
    check_n_bins,
    check_pair,
    check_rows,
    check_share,
)
from calib_utils.predictions.gate import taken, unweighted
from calib_utils.predictions.labels import check_sample_weight, check_zeros_and_ones

_LEAST_FREEDOM = 1e-9  # of weights, of which one may count for nearly all


@dataclass(frozen=True)
class Difference:
    """A mean difference, and its uncertainty.

    Attributes:
        mean: of the second minus the first.
        standard_error: of the mean, 0 or more, in its unit; NaN if it is unknown.
        freedom: the degrees of freedom of Student's t distribution, above 0; infinite for the
            normal one.

    Example:
        >>> difference = Difference(mean=0.05, standard_error=0.02, freedom=4)
        >>> low, high = difference.interval()
        >>> round(low, 3), round(high, 3), round(difference.p_value, 3)
        (-0.006, 0.106, 0.067)
    """

    mean: float
    standard_error: float
    freedom: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the true difference.

        Raises:
            ValueError: unless the level lies between 0 and 1.
        """
        check_share(level, "level", 0.95)
        half = self._half_width(1 - level)
        return self.mean - half, self.mean + half

    def _half_width(self, p: float) -> float:
        """Of the interval of level 1 - p."""
        return float(-stdtrit(self.freedom, p / 2)) * self.standard_error

    @property
    def p_value(self) -> float:
        """The probability of a difference at least as large, in either direction, if the true one
        is 0.

        0 to 1; NaN without a standard error. The interval of level 1 - p ends at 0.
        """
        if self.standard_error == 0:  # all differences are equal
            return float(self.mean == 0)
        return float(2 * stdtr(self.freedom, -abs(self.mean) / self.standard_error))


class McNemar(NamedTuple):
    """How many samples only one of two models predicts correctly.

    Attributes:
        only_first: samples on which only the first is correct.
        only_second: samples on which only the second is correct.
        p_value: the probability of a split at least as uneven, if each such sample is equally
            likely to be on either side; above 0 to 1.

    Example:
        >>> McNemar(only_first=3, only_second=14, p_value=0.0127).p_value < 0.05
        True
    """

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first: Any, second: Any) -> McNemar:
    """McNemar's exact test: is one model more accurate than the other, on the same samples?

    Only samples on which exactly one of the two is correct distinguish them. Under the null
    hypothesis that both are equally accurate, each of these favours either one with probability
    1/2, and the p value is the two-sided one of that binomial distribution. Samples that belong
    together are not independent votes: for these use `paired_difference` with ``blocks``.

    Args:
        first: (N,), whether the first is correct on each sample.
        second: the same of the second, on the same samples in the same order.

    Raises:
        ValueError: for bad input, including unequal numbers of samples.

    Source: McNemar 1947, "Note on the sampling error of the difference between correlated
    proportions or percentages"; in its exact form.

    Example:
        >>> first = [True] * 90 + [False] * 10
        >>> second = [True] * 85 + [False] * 5 + [True] * 10
        >>> found = mcnemar(first, second)
        >>> found.only_first, found.only_second, round(found.p_value, 3)
        (5, 10, 0.302)
    """
    first, second = check_pair(first, second)
    check_zeros_and_ones(first, "first")
    check_zeros_and_ones(second, "second")
    only_first, only_second = int((first > second).sum()), int((second > first).sum())
    apart = only_first + only_second
    p_value = min(1.0, 2 * float(bdtr(min(only_first, only_second), apart, 0.5)))
    return McNemar(only_first, only_second, p_value)


def paired_difference(
    first: Any, second: Any, *, blocks: Any = None, sample_weight: Any = None
) -> Difference:
    """The difference of two means over the same samples, such as of two NLLs.

    Its standard error is that of the mean of the N differences, with N - 1 degrees of freedom.
    It accounts for the choice of the samples, not for a new training of a model. With ``blocks``
    it is the jackknife's, which leaves each block out once: the degrees of freedom are one less
    than the number of blocks, counted as that of blocks of equal size. With weights the means are
    weighted, and Kish's effective size takes the place of N.

    Args:
        first: (N,), a number for each sample, such as the negative log-likelihood of its label,
            or whether the prediction is correct.
        second: the same of another model, on the same samples in the same order.
        blocks: (N,), the block of each sample, where samples belong together, as in
            `calib_utils.metrics.calibration_error_interval`.
        sample_weight: (N,), 0 or more, how much each sample counts; not together with blocks.

    Raises:
        ValueError: for bad input, including fewer than two samples or unequal numbers of them.

    Sources: Student 1908, "The probable error of a mean"; MacKinnon, Nielsen and Webb 2023,
    "Cluster-robust inference: a guide to empirical practice", for the jackknife of blocks.

    Example:
        >>> difference = paired_difference([0.1, 2.0, 0.4, 1.1], [0.3, 2.1, 0.7, 1.3])
        >>> round(difference.mean, 3), round(difference.p_value, 3)
        (0.2, 0.016)
    """
    rows, (first, second) = first, check_pair(first, second)
    if sample_weight is not None:
        if blocks is not None:
            raise ValueError(
                "sample_weight: expected without blocks, found both; samples in blocks count alike"
            )
        check_rows(rows, sample_weight, "sample_weight", "first")
        return _of_weighted(second - first, check_sample_weight(sample_weight, len(first)))
    if blocks is None:
        return _of_mean(second - first, 1 / len(first))
    return _of_blocks(second - first, block_index(blocks, len(first), rows, "first"))


def paired_ece_difference(
    first: Predictions, second: Predictions, n_bins: int = 15, *, blocks: Any = None
) -> Difference:
    """The difference of two ECEs over the same samples.

    An ECE is a mean as well: each sample contributes its confidence minus correctness, with the
    sign of the mean gap of its bin. The difference is therefore one of paired means. The signs are
    taken as given, which suits errors well above their baseline; near it the ECE is biased, and no
    interval around it helps.

    Args:
        first: from `calib_utils.predictions.as_predictions`, with labels.
        second: the same of another model, on the same samples in the same order.
        n_bins: the number of bins of equal width.
        blocks: (N,), the block of each sample, as in `paired_difference`.

    Raises:
        ValueError: for bad input, including weights, fewer than two samples or unequal numbers.

    Source: the delta method; Efron 1982, "The Jackknife, the Bootstrap and Other Resampling
    Plans", chapter 6.

    Example:
        >>> from calib_utils.predictions import as_predictions
        >>> correct = [True, True, False, True] * 50
        >>> sure = as_predictions(confidence=[0.95] * 200, correct=correct)
        >>> unsure = as_predictions(confidence=[0.8] * 200, correct=correct)
        >>> difference = paired_ece_difference(sure, unsure)
        >>> round(difference.mean, 3), difference.standard_error < 1e-6
        (-0.15, True)
    """
    sides = [unweighted(taken(one)) for one in (first, second)]
    parts = [_parts_of_ece(one, n_bins) for one in sides]
    difference = paired_difference(*parts, blocks=blocks)
    known = [side.labels for side in sides if side.kind != "confidence"]
    if len(known) == 2 and (known[0] != known[1]).any():
        where = int((known[0] != known[1]).argmax())
        raise ValueError(
            f"second: expected the labels of the first, found {known[1][where]} for "
            f"{known[0][where]} at index {where}; give the same samples in the same order"
        )
    return difference


def _parts_of_ece(predictions: Predictions, n_bins: int) -> np.ndarray:
    """The contribution of each sample to the ECE, which is their mean."""
    confidences, correct, index = binned(predictions, check_n_bins(n_bins), "uniform")
    excess = confidences.astype(np.float64) - correct
    return np.sign(np.bincount(index, excess))[index] * excess


def corrected_difference(differences: Any, n_train: int, n_test: int) -> Difference:
    """The mean of differences over random splits of *one* data set.

    Such splits share most of their samples, so their differences are not independent: the usual
    standard error is too small, and tests with it find differences that do not exist. The
    variance of the mean is therefore taken as (1/J + n_test/n_train) times that of the J
    differences, with J - 1 degrees of freedom.

    Args:
        differences: (J,), for each split the score of the second method minus that of the first.
        n_train: the number of samples of a split on which the methods are fitted.
        n_test: the number of others on which their scores are computed.

    Raises:
        ValueError: for bad input, including fewer than two splits.

    Source: Nadeau and Bengio 2003, "Inference for the Generalization Error", section 3.3.

    Example:
        >>> differences = [0.010, 0.012, 0.008, 0.014, 0.006]
        >>> found = corrected_difference(differences, n_train=1_000, n_test=1_000)
        >>> round(found.mean, 3), round(found.standard_error, 4), found.freedom
        (0.01, 0.0035, 4)
    """
    sizes = [
        check_count(size, name, "give the number of samples", most=2**63 - 1)
        for name, size in (("n_train", n_train), ("n_test", n_test))
    ]
    array = check_finite(differences, "differences")
    return _of_mean(array, 1 / len(array) + sizes[1] / sizes[0])


def _of_mean(differences: np.ndarray, part: float) -> Difference:
    """The mean of differences, whose variance is ``part`` of that of one of them."""
    deviation = float(differences.std(ddof=1))
    return Difference(float(differences.mean()), part**0.5 * deviation, len(differences) - 1)


def _of_weighted(differences: np.ndarray, weights: np.ndarray) -> Difference:
    """The weighted mean of differences; the variance is that of a ratio of two sums."""
    effective = effective_size(weights)
    if effective < 1 + _LEAST_FREEDOM:
        raise ValueError(
            f"sample_weight: expected two weights above 0 or more, of similar size, found "
            f"{np.count_nonzero(weights)} above 0, worth {effective:.3g} equal ones; one sample "
            "does not show how much they vary"
        )
    share = weights / weights.max()
    share /= share.sum()
    mean = float(share @ differences)
    variance = float((share * (differences - mean)) @ (share * (differences - mean)))
    error = (variance * effective / (effective - 1)) ** 0.5
    return Difference(mean, error, effective - 1)


def _of_blocks(differences: np.ndarray, blocks: np.ndarray) -> Difference:
    """The mean of differences that come in blocks, each of which is left out once."""
    sums, sizes = np.bincount(blocks, differences), np.bincount(blocks)
    without = (sums.sum() - sums) / (sizes.sum() - sizes)
    k = len(sizes)
    error = float(np.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum()))
    return Difference(float(differences.mean()), error, effective_blocks(blocks) - 1)
