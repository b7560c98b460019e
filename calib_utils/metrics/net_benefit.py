"""The decision curve: what acting on probabilities is worth, at any price of acting in vain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from calib_utils._arrays import dtype_name, to_numpy
from calib_utils.metrics.bins import rounded
from calib_utils.metrics.confidences import float_pairs
from calib_utils.predictions import taken

__all__ = ["DecisionCurve", "decision_curve"]


class DecisionCurve(NamedTuple):
    """What `decision_curve` found.

    Attributes:
        thresholds: (M,), from which probability on one acts, above 0 and below 1.
        net_benefit: (M,), of acting from there on; at most the share of positives.
        treat_all: (M,), of acting in all cases. Acting in none has a net benefit of 0.

    Example:
        >>> curve = decision_curve([0.1, 0.3, 0.6, 0.9], [0, 1, 0, 1], thresholds=[0.25, 0.75])
        >>> curve.net_benefit.round(4).tolist(), curve.treat_all.round(4).tolist()
        ([0.4167, 0.25], [0.3333, -1.0])
    """

    thresholds: np.ndarray
    net_benefit: np.ndarray
    treat_all: np.ndarray


def decision_curve(probs: Any, labels: Any = None, thresholds: Any = None) -> DecisionCurve:
    r"""The net benefit of acting where the probability is at least a threshold t.

    Whoever acts from a chance of t on, and on no lower one, holds t to be the chance at which gain
    and harm are even: to act in vain costs t / (1 - t) of what it gains to act where it is needed.
    Measured in cases in which it was needed, acting on the model is worth

    .. math::

        \text{net benefit}(t)
        = \frac{\text{true positives}}{n}
        - \frac{\text{false positives}}{n} \cdot \frac{t}{1 - t}

    A model is of use at t if that is more than 0, which is what not acting is worth, and more than
    acting in all cases. Calibrated probabilities never fall below either, but for chance; others
    may. It depends on how frequent the positives are, here and where the model is used.

    Args:
        probs: (N,), of the positive class, as in the source; or (N, K), of which the confidence in
            the predicted class counts: then to act is to rely on the prediction, and in vain where
            that is wrong.
        labels: (N,), integers from 0 to K - 1; none where ``probs`` are ``Predictions``.
        thresholds: (M,), above 0 and below 1; 0.01, 0.02, ..., 0.99 by default.

    Raises:
        ValueError: for bad input.

    Source: Vickers and Elkin 2006, "Decision curve analysis: a novel method for evaluating
    prediction models".

    Example:
        >>> curve = decision_curve([0.8] * 10, [1] * 6 + [0] * 4, thresholds=[0.5, 0.75])
        >>> curve.net_benefit.round(4).tolist()  # six needed it; four did not, at 1 and at 3 each
        [0.2, -0.6]
    """
    places = np.arange(1, 100) / 100 if thresholds is None else to_numpy(thresholds, "thresholds")
    places = places.astype(np.float64)
    bad = ~((places > 0) & (places < 1))
    if places.ndim != 1 or bad.any():
        found = places[bad][0] if bad.any() else f"shape {places.shape}"
        raise ValueError(f"thresholds: expected (M,) above 0 and below 1, found {found}; try [0.2]")
    predictions = taken(probs, labels)
    confidences, correct, weights = float_pairs(predictions)
    order = np.argsort(confidences)
    # From here on one acts. What 0.7 is in float32 is not below 0.7.
    first = np.searchsorted(confidences[order], rounded(places, dtype_name(predictions.scores)))
    odds = places / (1 - places)
    total = weights.sum()

    def above(masses: np.ndarray) -> np.ndarray:
        return np.append(np.cumsum(masses[order][::-1])[::-1], 0.0)[first] / total

    benefit = above(weights * correct) - odds * above(weights * ~correct)
    share = weights @ correct / total
    return DecisionCurve(places, benefit, share - odds * (1 - share))
