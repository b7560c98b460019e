"""Scores of probabilities against labels, and accuracy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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
from calib_utils._masks import HUGE, check_maskable_logits, log_of_probs, look_like_probs
from calib_utils._numbers import check_number
from calib_utils._reading import read

__all__ = ["accuracy", "brier_score", "negative_log_likelihood"]


def brier_score(
    probs: Any,
    labels: Any,
    *,
    sample_weight: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    rescale: bool = False,
) -> float:
    """The squared distance between probabilities and one-hot labels, averaged over samples.

    It sums over all classes, so with two classes it is twice what
    `sklearn.metrics.brier_score_loss` gives by default, which looks at the positive class only.

    Args:
        probs: (N, K), or (N,) for the positive class: the same as its form of two columns.
        labels: (N,), integers from 0 to K - 1.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.
        classes: (K,), what the labels call the class of each column; of (N,), the negative and the
            positive class.
        positive: of (N,), what the labels call the positive class.
        rescale: whether rows that rounding took from a sum of one are divided by it, which a
            warning counts.

    Returns:
        0 (right and certain) to 2 (wrong and certain).

    Raises:
        ValueError: for bad input.

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".

    Example:
        >>> round(brier_score([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0]), 4)
        0.37
    """
    probs, labels = read(probs, labels, classes, positive, rescale)
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


def negative_log_likelihood(
    logits: Any,
    labels: Any,
    *,
    inputs: str = "logits",
    sample_weight: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
    rescale: bool = False,
) -> float:
    """The mean of -log of the probability that the softmax gives to the label.

    It is best computed from logits, in float64: in probabilities of float32 a confident mistake
    has been rounded to zero, and its logarithm is lost. A probability of zero counts as the
    distance from 1 to the next number below in its type, 6e-8 in float32 and 1e-16 in float64.

    Args:
        logits: (N, K), where -inf masks a class; or (N,), the log-odds of the positive class.
        labels: (N,), integers from 0 to K - 1.
        inputs: "logits", or "probs" for probabilities in their place, as in `accuracy`.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.
        classes: (K,), what the labels call the class of each column; of (N,), the negative and the
            positive class.
        positive: of (N,), what the labels call the positive class.
        rescale: whether rows of probabilities that rounding took from a sum of one are divided
            by it, which a warning counts.

    Returns:
        0 or more, in nats; infinite if the class of a label is masked.

    Raises:
        ValueError: for bad input, among it NaN and +inf.

    Warns:
        UserWarning: if the logits look like probabilities.

    Example:
        >>> logits = [[0.0, 0.0], [0.0, 0.0]]
        >>> round(negative_log_likelihood(logits, labels=[0, 1]), 4)
        0.6931
    """
    _check_inputs(inputs)
    from_probs = inputs == "probs"
    name = "logits (inputs='probs')" if from_probs else "logits"
    logits, labels = read(logits, labels, classes, positive, rescale and from_probs, name)
    array = float_scores(logits, name)
    n = len(array)
    labels = check_labels(labels, n, 2 if array.ndim == 1 else array.shape[1])
    weights = _weights(sample_weight, n)
    if not from_probs:
        array = check_maskable_logits(logits, HUGE)
        for doubt in look_like_probs(array):
            warnings.warn(doubt, stacklevel=2)
        blocks = row_blocks(array)
    else:
        checked = checked_blocks(array, tolerance(logits), name)
        blocks = ((rows, log_of_probs(block)) for rows, block in checked)
    total = 0.0
    for rows, block in blocks:
        if block.ndim == 1:
            losses = np.logaddexp(0, np.where(labels[rows] == 1, -1.0, 1.0) * block)
        else:
            scores = np.subtract(block, block.max(axis=1, keepdims=True), dtype=np.float64)
            of_labels = scores[np.arange(len(block)), labels[rows]]
            losses = np.log(np.exp(scores).sum(axis=1)) - of_labels
        held = weights[rows] > 0  # else 0 times infinity
        total += (weights[rows][held] * losses[held]).sum()
    return float(total / weights.sum())


def accuracy(
    probs_or_logits: Any,
    labels: Any,
    *,
    threshold: float = 0.5,
    sample_weight: Any = None,
    classes: Sequence[Any] | None = None,
    positive: Any = None,
) -> float:
    """Which part of the predictions is right.

    Args:
        probs_or_logits: (N, K), whose first largest column is the predicted class, and where
            -inf masks one; or (N,), scores of the positive class, predicted above ``threshold``.
        labels: (N,), integers from 0 to K - 1.
        threshold: of scores (N,): 0.5 for probabilities, and 0 for log-odds, such as
            `negative_log_likelihood` takes.
        sample_weight: (N,), how much each sample counts beside the others, 0 or more.
        classes: (K,), what the labels call the class of each column; of (N,), the negative and the
            positive class.
        positive: of (N,), what the labels call the positive class.

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
    check_number(threshold, "threshold", advice="; try 0.5")
    probs_or_logits, labels = read(probs_or_logits, labels, classes, positive, False, name)
    array = float_scores(probs_or_logits, name)
    if array.ndim == 1:
        # Scores at one half are probabilities: log-odds would be compared in silence.
        scores = (check_probs if threshold == 0.5 else check_logits)(probs_or_logits, name)
        predicted = (scores > threshold).astype(np.int64)
    else:
        checked = check_maskable_logits(array, HUGE, name)
        predicted = np.concatenate([block.argmax(axis=1) for _, block in row_blocks(checked)])
    labels = check_labels(labels, len(array), 2 if array.ndim == 1 else array.shape[1])
    weights = _weights(sample_weight, len(array))
    return float(weights @ (predicted == labels) / weights.sum())


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    return np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)


def _check_inputs(inputs: str) -> None:
    if inputs not in ("logits", "probs"):
        raise ValueError(f"inputs: expected 'logits' or 'probs', found {inputs!r}")
