"""The parts of a Brier score: miscalibration, resolution and uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_utils.metrics.confidences import weighted_predictions
from calib_utils.metrics.monotone import isotonic_steps
from calib_utils.predictions import taken

__all__ = ["BrierDecomposition", "brier_decomposition"]


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
