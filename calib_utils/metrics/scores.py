"""Scores of probabilities against labels, and accuracy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from calib_utils._numerics import HUGE, log_losses, log_of_probs, row_blocks, smallest
from calib_utils.metrics.confidences import confidence_and_correct
from calib_utils.predictions import (
    Predictions,
    blocks_of,
    check_inputs,
    check_maskable_logits,
    check_number,
    look_like_probs,
    probs_of,
    taken,
)

__all__ = ["accuracy", "brier_score", "negative_log_likelihood"]


def brier_score(probs: Any, labels: Any = None) -> float:
    """The squared distance between probabilities and one-hot labels, averaged over samples.

    It sums over all classes, so with two classes it is twice what
    `sklearn.metrics.brier_score_loss` gives by default, which looks at the positive class only.

    Args:
        probs: (N, K), or (N,) for the positive class, which counts as two columns. For confidences,
            both outcomes count as well.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        0 (certain and correct) to 2 (certain and wrong).

    Raises:
        ValueError: for bad input.

    Source: Brier 1950, "Verification of forecasts expressed in terms of probability".

    Example:
        >>> round(brier_score([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0]), 4)
        0.37
    """
    predictions = taken(probs, labels)
    labels, weights = predictions.labels, _weights(predictions)
    total = 0.0
    for rows, block in blocks_of(predictions):
        distance = block.astype(np.float64)
        if block.ndim == 1:
            distance -= labels[rows]
            total += 2 * float(np.vdot(weights[rows] * distance, distance))
        else:
            distance[np.arange(len(block)), labels[rows]] -= 1
            total += float(np.vdot(weights[rows, None] * distance, distance))
    return float(total / weights.sum())


def negative_log_likelihood(probs: Any, labels: Any = None, *, inputs: str = "probs") -> float:
    """The mean of -log of the probability of the label, also called cross-entropy or log loss.

    It is best computed from logits, in float64: in probabilities of float32 a confident mistake
    may have been rounded to zero, and its logarithm is lost. A probability of exactly 0 counts as
    the smallest number of its type, 6e-8 in float16, 1e-45 in float32 (and in bfloat16) and 5e-324
    in float64; for (N,), a probability of exactly 1 counts as the next number below it, in the half
    types as that of float32.

    Args:
        probs: (N, K), or (N,) for the positive class.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        inputs: "probs", or "logits" for logits in their place: (N, K), where -inf masks a class, or
            (N,), the log-odds of the positive class. ``Predictions`` carry this themselves.

    Returns:
        0 or more, in nats; infinite if the class of a label is masked.

    Raises:
        ValueError: for bad input, including NaN and +inf.

    Warns:
        UserWarning: if the logits look like probabilities.

    Example:
        >>> round(negative_log_likelihood([[0.5, 0.5], [0.5, 0.5]], labels=[0, 1]), 4)
        0.6931
        >>> round(negative_log_likelihood([[1.0, 1.0]], labels=[0], inputs="logits"), 4)
        0.6931
    """
    predictions, name = _of_either(probs, labels, inputs)
    labels, weights = predictions.labels, _weights(predictions)
    if predictions.inputs == "logits":
        blocks = row_blocks(_checked_logits(predictions, name))
    else:
        checked = blocks_of(predictions, name)
        zero = smallest(predictions.array)
        blocks = ((rows, log_of_probs(block, zero)) for rows, block in checked)
    total = 0.0
    for rows, block in blocks:
        losses = log_losses(block, labels[rows])
        kept = weights[rows] > 0  # otherwise 0 times infinity
        total += (weights[rows][kept] * losses[kept]).sum()
    return float(total / weights.sum())


def accuracy(
    probs: Any, labels: Any = None, *, inputs: str = "probs", threshold: float | None = None
) -> float:
    """The share of predictions that are correct.

    Args:
        probs: (N, K), whose first largest column is the predicted class; or (N,), for the positive
            class, predicted above ``threshold``. With confidences, ``correct`` counts.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        inputs: "probs" or "logits", as in `negative_log_likelihood`.
        threshold: of (N,); 0.5 for probabilities and 0 for log-odds by default.

    Returns:
        0 to 1.

    Raises:
        ValueError: for bad input, such as log-odds in the place of probabilities, or a threshold
            for predictions that need none.

    Warns:
        UserWarning: if the logits look like probabilities.

    Example:
        >>> accuracy([[0.9, 0.1], [0.4, 0.6]], labels=[0, 0])
        0.5
        >>> accuracy([-2.0, 0.3, 4.0], labels=[0, 1, 1], inputs="logits")
        1.0
    """
    predictions, name = _of_either(probs, labels, inputs)
    labels, weights = predictions.labels, _weights(predictions)
    from_logits, binary = predictions.inputs == "logits", predictions.kind == "binary"
    if threshold is None:
        threshold = 0.0 if from_logits else 0.5
    elif not binary:
        raise ValueError(
            f"threshold: expected for scores (N,) of the positive class only, found {threshold!r} "
            f"for {predictions!r}; leave it out"
        )
    check_number(threshold, "threshold", advice="; try 0.5")
    if from_logits:
        checked = _checked_logits(predictions, name)
    if binary:
        values = checked if from_logits else probs_of(predictions, name)
        correct = (values > threshold) == (labels == 1)
    elif from_logits:
        predicted = np.concatenate([block.argmax(axis=1) for _, block in row_blocks(checked)])
        correct = predicted == labels
    else:
        _, correct = confidence_and_correct(predictions, name)
    return float(weights @ correct / weights.sum())


def _of_either(probs: Any, labels: Any, inputs: str) -> tuple[Predictions, str]:
    """Predictions of probabilities or of logits, and what errors call their scores."""
    check_inputs(inputs)
    if inputs == "probs" and isinstance(probs, Predictions):
        inputs = probs.inputs
    name = f"probs (inputs={inputs!r})"
    return taken(probs, labels, inputs=inputs, name=name), name


def _checked_logits(predictions: Predictions, name: str) -> np.ndarray:
    array = check_maskable_logits(predictions.array, HUGE, name)
    for doubt in look_like_probs(array):
        warnings.warn(doubt, stacklevel=3)
    return array


def _weights(predictions: Predictions) -> np.ndarray:
    weights = predictions.sample_weight
    return np.ones(len(predictions)) if weights is None else np.asarray(weights)
