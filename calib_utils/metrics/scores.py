"""Scores of probabilities against labels, and accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib_utils._arrays import row_blocks
from calib_utils._checks import (
    check_labels,
    check_logits,
    check_probs,
    check_sample_weight,
    checked_blocks,
    float_scores,
    tolerance,
)

__all__ = ["accuracy", "brier_score", "negative_log_likelihood"]


def brier_score(probs: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """The squared distance between probabilities and one-hot labels, averaged over samples.

    It sums over all classes, so with two classes it is twice what
    `sklearn.metrics.brier_score_loss` gives by default, which looks at the positive class only.

    Args:
        probs: (N, K), or (N,) for the positive class: the same as its form of two columns.
        labels: (N,), integers from 0 to K - 1.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.

    Returns:
        0 (right and certain) to 2 (wrong and certain).

    Raises:
        ValueError: for bad input.

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".

    Example:
        >>> round(brier_score([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0]), 4)
        0.37
    """
    array = float_scores(probs, "probs")
    n = len(array)
    labels = check_labels(labels, n, 2 if array.ndim == 1 else array.shape[1])
    weights = _weights(sample_weight, n)
    total = 0.0
    for rows, block in checked_blocks(array, tolerance(probs)):
        distance = block.astype(np.float64)
        if block.ndim == 1:
            distance -= labels[rows]
            total += 2 * float(np.vdot(weights[rows] * distance, distance))
        else:
            distance[np.arange(len(block)), labels[rows]] -= 1
            total += float(np.vdot(weights[rows, None] * distance, distance))
    return float(total / weights.sum())


def negative_log_likelihood(logits: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """The mean of -log of the probability that the softmax gives to the label.

    It is computed from logits, in float64: in probabilities of float32 a confident mistake
    has been rounded to zero, and its logarithm is lost.

    Args:
        logits: (N, K); or (N,), the log-odds of the positive class.
        labels: (N,), integers from 0 to K - 1.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.

    Returns:
        0 or more, in nats.

    Raises:
        ValueError: for bad input, among it infinite logits.

    Example:
        >>> logits = [[0.0, 0.0], [0.0, 0.0]]
        >>> round(negative_log_likelihood(logits, labels=[0, 1]), 4)
        0.6931
    """
    array = check_logits(logits)
    n = len(array)
    labels = check_labels(labels, n, 2 if array.ndim == 1 else array.shape[1])
    weights = _weights(sample_weight, n)
    total = 0.0
    for rows, block in row_blocks(array):
        if block.ndim == 1:
            wrong = np.where(labels[rows] == 1, -1.0, 1.0) * block
            losses = np.logaddexp(0, wrong)
        else:
            scores = block.astype(np.float64)
            scores -= scores.max(axis=1, keepdims=True)
            of_labels = scores[np.arange(len(block)), labels[rows]]
            losses = np.log(np.exp(scores).sum(axis=1)) - of_labels
        total += (weights[rows] * losses).sum()
    return float(total / weights.sum())


def accuracy(
    probs_or_logits: Any, labels: Any, *, threshold: float = 0.5, sample_weight: Any = None
) -> float:
    """Which part of the predictions is right.

    Args:
        probs_or_logits: (N, K), whose first largest column is the predicted class; or (N,),
            scores of the positive class, predicted above ``threshold``.
        labels: (N,), integers from 0 to K - 1.
        threshold: of scores (N,): 0.5 for probabilities, and 0 for log-odds, such as
            `negative_log_likelihood` takes.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.

    Returns:
        0 to 1.

    Raises:
        ValueError: for bad input, such as log-odds of shape (N,) at the threshold 0.5.

    Example:
        >>> accuracy([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0])
        0.5
        >>> accuracy([-2.0, 0.3, 4.0], labels=[0, 1, 1], threshold=0)
        1.0
    """
    name = "probs_or_logits"
    if not np.isfinite(threshold):
        raise ValueError(f"threshold: expected a finite number, found {threshold!r}; try 0.5")
    array = float_scores(probs_or_logits, name)
    if array.ndim == 1:
        # Scores at one half are probabilities: log-odds would be compared in silence.
        scores = (check_probs if threshold == 0.5 else check_logits)(probs_or_logits, name)
        predicted = (scores > threshold).astype(np.int64)
    else:
        predicted = check_logits(array, name).argmax(axis=1)
    labels = check_labels(labels, len(array), 2 if array.ndim == 1 else array.shape[1])
    weights = _weights(sample_weight, len(array))
    return float(weights @ (predicted == labels) / weights.sum())


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    return np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
