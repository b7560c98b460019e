"""How well calibrated, and how accurate, predictions are.

``probs`` is (N, K): rows of class probabilities that sum to one. The confidence of a
prediction is the probability of its predicted class, the first of tied maxima. Calibrated
then means that predictions of confidence 0.8 are right four times in five.

With two classes ``probs`` may also be (N,): the probability of the positive class, label 1.
Calibrated then means that of the samples given 0.8, four in five are positive. That is
another question, with another answer: a sample given 0.1 counts as 0.1 here, but the row
[0.9, 0.1] is a prediction of class 0 with confidence 0.9.

Torch tensors on any device, NumPy arrays and lists are welcome. A row may miss a sum of one
by 1e-4 (float32, float64), 2e-3 (float16) or 6e-3 (bfloat16): what a softmax rounded to that
type needs. Bad input raises a ValueError.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils import _binning
from calib_utils._arrays import precision, row_blocks
from calib_utils._binning import ReliabilityBins, reliability_bins, top_label
from calib_utils._checks import (
    check_labels,
    check_logits,
    check_n_bins,
    check_probs,
    checked_blocks,
    float_scores,
    tolerance,
)
from calib_utils.streaming import CalibrationError

__all__ = [
    "CalibrationError",
    "ReliabilityBins",
    "accuracy",
    "brier_score",
    "classwise_calibration_error",
    "expected_calibration_error",
    "expected_calibration_interval",
    "maximum_calibration_error",
    "negative_log_likelihood",
    "reliability_bins",
    "top_label",
]


def expected_calibration_error(
    probs: Any, labels: Any, n_bins: int = 15, strategy: str = "uniform"
) -> float:
    """ECE: the gap between accuracy and confidence in a bin, averaged over the predictions.

    Args:
        probs: (N, K), or (N,) for the positive class; then "accuracy" is the part of the
            samples in a bin that are positive.
        labels: (N,), integers from 0 to K - 1.
        n_bins: how many bins, M.
        strategy: "uniform" or "quantile", as in `reliability_bins`.

    Returns:
        0 (calibrated) to 1. Even calibrated predictions get more than 0 from a finite
        sample, and the more so the more bins there are.

    Raises:
        ValueError: for bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3.
    """
    return _binning.expected_gap(_bins(probs, labels, n_bins, strategy))


def expected_calibration_interval(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    *,
    level: float = 0.95,
    repeats: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Between which numbers the ECE lies, had other samples been drawn: a bootstrap interval.

    Whole samples are drawn with replacement, as many as there are, and the ECE is computed,
    ``repeats`` times over; the interval holds the middle ones. It speaks about the choice of
    the samples, not about another training run. A drawn set is noisier than the set itself,
    and noise adds to the ECE: so the interval of a small ECE reaches further up than down.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1.
        n_bins: how many bins of equal width, M.
        level: the share of the results inside, above 0 and below 1.
        repeats: how many sets are drawn.
        seed: of the draws; the same seed gives the same interval.

    Returns:
        Its lower and its upper end, 0 to 1.

    Raises:
        ValueError: for bad input.

    Source: Efron, Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.
    """
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, found {level!r}; try 0.95")
    if repeats < 1:
        raise ValueError(f"repeats: expected at least 1, found {repeats!r}; try 1000")
    n_bins = check_n_bins(n_bins)
    confidences, correct = _binning.confidence_and_correct(probs, labels)
    bin_of = _binning.uniform_index(confidences, n_bins, precision(probs))
    excess = confidences.astype(np.float64) - correct
    results = _binning.resampled_gaps([(bin_of, excess)], repeats, seed)
    low, high = np.quantile(results, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def maximum_calibration_error(probs: Any, labels: Any, n_bins: int = 15) -> float:
    """MCE: the widest gap between accuracy and confidence of all bins that hold anything.

    A bin with one prediction counts as much as a full one, so the MCE is noisy.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1.
        n_bins: how many bins of equal width, M.

    Returns:
        0 to 1; never less than the expected calibration error.

    Raises:
        ValueError: for bad input.

    Source: Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 5.
    """
    return _binning.maximum_gap(_bins(probs, labels, n_bins, "uniform"))


def classwise_calibration_error(probs: Any, labels: Any, n_bins: int = 15) -> float:
    """The calibration error of each class's probability, averaged over the classes.

    For each class all N probabilities are binned, predicted or not, and compared with how
    often that class occurs. Classes that no label names count too.

    Args:
        probs: (N, K), or (N,) for the positive class: then as its form of two columns.
        labels: (N,), integers from 0 to K - 1.
        n_bins: how many bins of equal width, M.

    Returns:
        0 to 1, and small where classes are many: most probabilities are then near 0.

    Raises:
        ValueError: for bad input.

    Source: Kull et al. 2019, "Beyond temperature scaling: Obtaining well-calibrated
    multi-class probabilities with Dirichlet calibration", section 2.
    """
    array, dtype, n_bins = float_scores(probs, "probs"), precision(probs), check_n_bins(n_bins)
    if array.ndim == 1:
        positive = np.minimum(check_probs(probs), 1)
        array = np.stack([_binning.rounded(1 - positive, dtype), positive], axis=1)
    n, num_classes = array.shape
    labels = check_labels(labels, n, num_classes)
    # For each class and bin: the sum of probabilities, less the number of labels.
    gaps = np.zeros(num_classes * n_bins)
    first_bins = n_bins * np.arange(num_classes)
    for rows, block in checked_blocks(array, tolerance(probs)):
        cells = _binning.uniform_index(block, n_bins, dtype) + first_bins
        of_labels = cells[np.arange(len(block)), labels[rows]]
        gaps += np.bincount(cells.ravel(), block.ravel(), minlength=gaps.size)
        gaps -= np.bincount(of_labels, minlength=gaps.size)
    return float(np.abs(gaps).sum() / (n * num_classes))


def brier_score(probs: Any, labels: Any) -> float:
    """The squared distance between probabilities and one-hot labels, averaged over samples.

    It sums over all classes, so with two classes it is twice what `brier_score_loss` of
    scikit-learn gives by default, which looks at the positive class only.

    Args:
        probs: (N, K), or (N,) for the positive class: the same as its form of two columns.
        labels: (N,), integers from 0 to K - 1.

    Returns:
        0 (right and certain) to 2 (wrong and certain).

    Raises:
        ValueError: for bad input.

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".
    """
    array = float_scores(probs, "probs")
    n = len(array)
    labels = check_labels(labels, n, 2 if array.ndim == 1 else array.shape[1])
    total = 0.0
    for rows, block in checked_blocks(array, tolerance(probs)):
        distance = block.astype(np.float64)
        if block.ndim == 1:
            distance -= labels[rows]
            total += 2 * float(np.vdot(distance, distance))
        else:
            distance[np.arange(len(block)), labels[rows]] -= 1
            total += float(np.vdot(distance, distance))
    return float(total / n)


def negative_log_likelihood(logits: Any, labels: Any) -> float:
    """The mean of -log of the probability that the softmax gives to the label.

    It is computed from logits, in float64: in probabilities of float32 a confident mistake
    has been rounded to zero, and its logarithm is lost.

    Args:
        logits: (N, K); or (N,), the log-odds of the positive class.
        labels: (N,), integers from 0 to K - 1.

    Returns:
        0 or more, in nats.

    Raises:
        ValueError: for bad input, among it infinite logits.
    """
    array = check_logits(logits)
    n = len(array)
    labels = check_labels(labels, n, 2 if array.ndim == 1 else array.shape[1])
    total = 0.0
    for rows, block in row_blocks(array):
        if block.ndim == 1:
            wrong = np.where(labels[rows] == 1, -1.0, 1.0) * block
            total += np.logaddexp(0, wrong).sum()
        else:
            scores = block.astype(np.float64)
            scores -= scores.max(axis=1, keepdims=True)
            of_labels = scores[np.arange(len(block)), labels[rows]]
            total += (np.log(np.exp(scores).sum(axis=1)) - of_labels).sum()
    return float(total / n)


def accuracy(probs_or_logits: Any, labels: Any) -> float:
    """Which part of the predictions is right.

    Args:
        probs_or_logits: (N, K), whose first largest column is the predicted class; or (N,),
            probabilities (not logits) of the positive class, predicted above one half.
        labels: (N,), integers from 0 to K - 1.

    Returns:
        0 to 1.

    Raises:
        ValueError: for bad input, such as logits of shape (N,).
    """
    name = "probs_or_logits"
    array = float_scores(probs_or_logits, name)
    if array.ndim == 1:
        predicted = (check_probs(probs_or_logits, name) > 0.5).astype(np.int64)
    else:
        predicted = check_logits(array, name).argmax(axis=1)
    labels = check_labels(labels, len(array), 2 if array.ndim == 1 else array.shape[1])
    return float(np.mean(predicted == labels))


def _bins(probs: Any, labels: Any, n_bins: int, strategy: str) -> ReliabilityBins:
    n_bins = check_n_bins(n_bins)
    confidences, correct = _binning.confidence_and_correct(probs, labels)
    return _binning.bin_predictions(confidences, correct, n_bins, strategy, precision(probs))
