"""Scores of probabilities against labels, their parts, the accuracy, and the decision curve."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from calib_utils._numerics import log_losses, log_of_probs, row_blocks, smallest
from calib_utils.metrics.bins import (
    confidence_and_correct,
    float_pairs,
    isotonic_steps,
    rounded,
    weighted_predictions,
)
from calib_utils.predictions import Predictions
from calib_utils.predictions.arrays import dtype_name
from calib_utils.predictions.checks import check_inputs, check_thresholds
from calib_utils.predictions.gate import blocks_of, probs_of, taken
from calib_utils.predictions.scores import check_logits, look_like_probs


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


def accuracy(probs: Any, labels: Any = None, *, inputs: str = "probs") -> float:
    """The share of predictions that are correct.

    Args:
        probs: (N, K), whose first largest column is the predicted class; or (N,), for the positive
            class, which is predicted above one half. With confidences, ``correct`` counts.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        inputs: "probs" or "logits", as in `negative_log_likelihood`.

    Returns:
        0 to 1.

    Raises:
        ValueError: for bad input, such as log-odds in the place of probabilities.

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
    if from_logits:
        checked = _checked_logits(predictions, name)
    if binary:
        positive = checked > 0 if from_logits else probs_of(predictions, name) > 0.5
        correct = positive == (labels == 1)
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
    array = check_logits(predictions.array, name)
    for doubt in look_like_probs(array):
        warnings.warn(doubt, stacklevel=3)
    return array


def _weights(predictions: Predictions) -> np.ndarray:
    weights = predictions.sample_weight
    return np.ones(len(predictions)) if weights is None else np.asarray(weights)


class BrierDecomposition(NamedTuple):
    """The Brier score as ``miscalibration - resolution + uncertainty``.

    Attributes:
        miscalibration: 0 to 1; the decrease of the score if the forecasts are recalibrated.
        resolution: 0 to ``uncertainty``; the mean squared distance of the recalibrated forecasts
            from their mean. It is also called discrimination.
        uncertainty: 0 to 1/4; the score of a forecast that always gives the base rate.

    Example:
        >>> parts = BrierDecomposition(0.0625, 0.125, 0.25)
        >>> parts.miscalibration - parts.resolution + parts.uncertainty
        0.1875
    """

    miscalibration: float
    resolution: float
    uncertainty: float


def brier_decomposition(
    probs: Any,
    labels: Any = None,
) -> BrierDecomposition:
    """The Brier score in three parts: how miscalibrated, how informative, and how hard the task is.

    The score is the mean of :math:`(c - y)^2`, confidence minus correctness. The recalibrated
    forecasts are the increasing function of the confidence with the lowest score on these same
    samples, the isotonic regression. No bins need to be chosen, therefore, and each part is at
    least 0; but even calibrated forecasts get a little miscalibration in a finite sample.

    A strictly increasing function of the confidences changes only the miscalibration. For (N, K),
    temperature scaling is not such a function, because it may change the order of two predictions.

    Args:
        probs: (N, K), of which only the confidence in the predicted class is scored, unlike in
            `brier_score`; or (N,), the probability of the positive class, whose score is then half
            of `brier_score`.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.

    Returns:
        The three parts.

    Raises:
        ValueError: for bad input.

    Example:
        Two forecasts of 0.9 and two of 0.3, each group half correct: the forecasts are not
        informative, and after recalibration they are all one half.

        >>> parts = brier_decomposition([0.9, 0.9, 0.3, 0.3], [1, 0, 1, 0])
        >>> [round(part, 3) for part in parts]
        [0.1, 0.0, 0.25]

    Source: Murphy 1973, "A new vector partition of the probability score"; the recalibration
    from Dimitriadis, Gneiting, Jordan 2021, "Stable reliability diagrams for probabilistic
    classifiers" (CORP).
    """
    confidences, correct, weights = weighted_predictions(taken(probs, labels))
    steps = isotonic_steps(confidences, correct, weights)
    total = float(steps.masses.sum())
    best = _spread(steps.positives, steps.masses)
    flat = _spread(steps.positives.sum(), total)
    distance = np.subtract(confidences, correct, dtype=np.float64)
    distance *= distance
    distance *= 1 if weights is None else weights
    score = float(distance.sum())
    # Only rounding can make a difference negative.
    return BrierDecomposition(
        max(score - best, 0.0) / total, max(flat - best, 0.0) / total, flat / total
    )


def _spread(positives: np.ndarray, masses: np.ndarray | float) -> float:
    """The sum of squared distances of outcomes from their mean, that of each step."""
    return float((positives * (1 - positives / masses)).sum())


class DecisionCurve(NamedTuple):
    """What `decision_curve` found.

    Attributes:
        thresholds: (M,), the lowest probabilities that are acted on, above 0 and below 1.
        net_benefit: (M,), of acting on the model; at most the share of positives.
        treat_all: (M,), of acting on all samples. Acting on none has a net benefit of 0.

    Example:
        >>> curve = decision_curve([0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1], thresholds=[0.25, 0.75])
        >>> curve.net_benefit.round(4).tolist(), curve.treat_all.round(4).tolist()
        ([0.4167, 0.25], [0.3333, -1.0])
    """

    thresholds: np.ndarray
    net_benefit: np.ndarray
    treat_all: np.ndarray


def decision_curve(probs: Any, labels: Any = None, thresholds: Any = None) -> DecisionCurve:
    r"""The net benefit of acting on every sample whose probability is at least a threshold t.

    The threshold determines how the two outcomes of acting compare: acting on a negative costs
    t / (1 - t) times what acting on a positive gains. In units of true positives, acting on the
    model is worth

    .. math::

        \text{net benefit}(t)
        = \frac{\text{true positives}}{n}
        - \frac{\text{false positives}}{n} \cdot \frac{t}{1 - t}

    A model is useful at t if its net benefit is higher than that of acting on no sample, which is
    0, and that of acting on all samples. On average, calibrated probabilities never do worse than
    either, whereas miscalibrated ones can. Net benefit depends on how frequent the positives are,
    so the samples should come from where the model will be used.

    Args:
        probs: (N,), of the positive class, as in the source; or (N, K), of which the confidence in
            the predicted class counts: acting then means relying on the prediction, which gains
            where it is correct and costs where it is wrong.
        labels: (N,), integers from 0 to K - 1; omitted if ``probs`` are ``Predictions``.
        thresholds: (M,), above 0 and below 1; 0.01, 0.02, ..., 0.99 by default.

    Raises:
        ValueError: for bad input.

    Source: Vickers and Elkin 2006, "Decision curve analysis: a novel method for evaluating
    prediction models".

    Example:
        >>> curve = decision_curve([0.8] * 10, [1] * 6 + [0] * 4, thresholds=[0.5, 0.75])
        >>> curve.net_benefit.round(4).tolist()  # six positives minus four negatives at 1 or 3
        [0.2, -0.6]
    """
    places = check_thresholds(np.arange(1, 100) / 100 if thresholds is None else thresholds)
    predictions = taken(probs, labels)
    confidences, correct, weights = float_pairs(predictions)
    order = np.argsort(confidences)
    # The first sample to act on. 0.7 in float32 is slightly below 0.7, and counts as 0.7.
    first = np.searchsorted(confidences[order], rounded(places, dtype_name(predictions.scores)))
    odds = places / (1 - places)
    total = weights.sum()

    def above(masses: np.ndarray) -> np.ndarray:
        return np.append(np.cumsum(masses[order][::-1])[::-1], 0.0)[first] / total

    benefit = above(weights * correct) - odds * above(weights * ~correct)
    share = weights @ correct / total
    return DecisionCurve(places, benefit, share - odds * (1 - share))
