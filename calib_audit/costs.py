"""The cost of wrong decisions: at which threshold should one act on a prediction?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_POINTS = 201


@dataclass(frozen=True)
class Costs:
    """The mean cost of a row if one acts on every prediction at or above a threshold.

    Attributes:
        false_alarm, miss: the price of each.
        thresholds, curve: a grid of thresholds, and the cost at each.
        planned: false_alarm / (false_alarm + miss), the best threshold for calibrated
            predictions, and the cost there.
        lowest: the threshold that is best on these rows, and the cost there, which is a little
            optimistic because the threshold was chosen on the same rows. The threshold is infinite
            if it is best never to act, and a score of 1 would be acted on at a threshold of 1.
        always, never: the cost of acting on all rows, and on none.
    """

    false_alarm: float
    miss: float
    thresholds: np.ndarray
    curve: np.ndarray
    planned: tuple[float, float]
    lowest: tuple[float, float]
    always: float
    never: float


def cost_curve(
    probs: np.ndarray,
    labels: np.ndarray,
    prices: tuple[float, float],
    weights: np.ndarray | None = None,
) -> Costs:
    """The cost against the threshold.

    Args:
        probs: (n,), of the positive class.
        labels: (n,), 0 or 1.
        prices: of a false alarm and of a miss, both above 0.
        weights: (n,), how much each row counts; None if all count alike.

    Raises:
        ValueError: if a price is not a finite number above 0.

    Source: Elkan 2001, "The foundations of cost-sensitive learning", for the best threshold.
    """
    false_alarm, miss = prices
    if not (0 < false_alarm < np.inf and 0 < miss < np.inf):
        raise ValueError(
            f"prices: expected two numbers above 0, of a false alarm and of a miss, found "
            f"{false_alarm} and {miss}"
        )
    planned = false_alarm / (false_alarm + miss)
    order = np.argsort(probs, kind="stable")
    w = np.ones(len(labels)) if weights is None else weights
    ordered, positives, negatives = (each[order] for each in (probs, w * labels, w * (1 - labels)))
    positives_below, negatives_below = (
        np.concatenate([[0.0], np.cumsum(each)]) for each in (positives, negatives)
    )
    total = positives_below[-1] + negatives_below[-1]

    def cost(thresholds: np.ndarray) -> np.ndarray:
        below = np.searchsorted(ordered, thresholds, side="left")  # on these rows one does not act
        missed = positives_below[below]
        alarms = negatives_below[-1] - negatives_below[below]
        return np.asarray((false_alarm * alarms + miss * missed) / total)

    thresholds = np.unique(np.concatenate([np.linspace(0, 1, _POINTS), [planned]]))
    candidates = np.concatenate([np.unique(ordered), [1.0 if ordered[-1] < 1 else np.inf]])
    costs = cost(candidates)
    best = int(costs.argmin())
    at_planned, always, never = cost(np.array([planned, 0.0, np.inf])).tolist()
    return Costs(
        false_alarm=float(false_alarm),
        miss=float(miss),
        thresholds=thresholds,
        curve=cost(thresholds),
        planned=(planned, at_planned),
        lowest=(float(candidates[best]), float(costs[best])),
        always=always,
        never=never,
    )
