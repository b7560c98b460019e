"""The decision curve: the value of acting on probabilities, at any cost of a false positive."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_utils.metrics.bins import rounded
from calib_utils.metrics.confidences import float_pairs
from calib_utils.predictions import dtype_name, taken, to_numpy

__all__ = ["DecisionCurve", "decision_curve"]


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
    places = np.arange(1, 100) / 100 if thresholds is None else to_numpy(thresholds, "thresholds")
    places = places.astype(np.float64)
    bad = ~((places > 0) & (places < 1))
    if places.ndim != 1 or not places.size or bad.any():
        found = places[bad][0] if bad.any() else f"shape {places.shape}"
        raise ValueError(f"thresholds: expected (M,) above 0 and below 1, found {found}; try [0.2]")
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
