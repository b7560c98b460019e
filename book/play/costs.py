"""What it costs to accept a network's predictions: `python -m book.play.costs TARGET`."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from book.resnet34 import resnet34
from calib_utils.metrics import top_label
from tools.finishing import interactive as ui

ERROR_COSTS = [2, 3, 5, 10, 20]
THRESHOLDS = np.arange(50, 101) / 100


def bill(
    confidences: np.ndarray, correct: np.ndarray, error_cost: float, threshold: float
) -> tuple[int, float, float, float]:
    """How many predictions are accepted, what each should cost and does cost, and the total.

    Each prediction that is not accepted costs 1, for a check.
    """
    accepted = confidences > threshold
    expected = error_cost * float((1 - confidences[accepted]).sum())
    paid = error_cost * int((~correct[accepted]).sum())
    n = int(accepted.sum())
    each = max(n, 1)
    return n, expected / each, paid / each, paid + len(correct) - n


def costs() -> ui.Json:
    """As trained and at T, for each cost of an error and each threshold."""
    _, test, scaling = resnet34()
    confidences, correct = top_label(softmax(test.logits, axis=1), test.labels)
    softer = scaling.predict_proba(test.logits).max(axis=1)
    bills = [
        [[bill(one, correct, cost, t) for t in THRESHOLDS] for cost in ERROR_COSTS]
        for one in (confidences, softer)
    ]
    totals = [[[one[3] / 1000 for one in of_cost] for of_cost in of] for of in bills]
    before, after = ([one for of_cost in of for one in of_cost] for of in bills)

    def each(of: list[tuple[int, float, float, float]]) -> list[str]:
        return [f"{one[1]:.2f}, {one[2]:.2f}" if one[0] else "none" for one in of]

    rule = [1 - 1 / cost for cost in ERROR_COSTS]
    up = ui.axis(4, 37, (10, 20, 30))
    learned = []
    for error_cost, chow, of_cost in zip(ERROR_COSTS, rule, bills[1], strict=True):
        *_, by_rule = bill(softer, correct, error_cost, chow)
        for t, (*_, total) in zip(THRESHOLDS, of_cost, strict=True):
            more = f"{abs(total - by_rule):,} {'more' if total > by_rule else 'less'} than"
            learned.append(
                f"Above {t:.2f}, the recalibrated network costs {total:,}. That is "
                f"{more if total != by_rule else 'as much as'} with {chow:.4g}, the threshold "
                "that follows from the two costs by Chow's rule."
            )
    return ui.play(
        ["fig-cost-threshold"],
        "Accept or check 10,000 predictions",
        "The total cost, by the threshold above which predictions are accepted, for the network as "
        "trained and at its fitted temperature. A check costs 1. Dotted: the threshold of Chow's "
        "rule, which follows from the cost of an error. Each: the cost of an accepted prediction "
        "as the confidences predict it, and as it is. Total: the cost of all images.",
        "Total cost against the threshold, as trained and at the fitted temperature. The two "
        "curves meet at a threshold of 1, and are bowls unless an error costs 2. A dashed line is "
        "at the threshold of Chow's rule. At the fitted temperature the bowl is lowest near it.",
        [
            ui.slider("An error costs", ERROR_COSTS, ERROR_COSTS.index(10)),
            ui.slider(
                "Accept above", [f"{t:.2f}" for t in THRESHOLDS], list(THRESHOLDS).index(0.6)
            ),
        ],
        [
            ui.number("each, as trained", each(before), [0, 1]),
            ui.number("each, at T", each(after), [0, 1]),
            ui.number("total, as trained", [f"{one[3]:,}" for one in before], [0, 1]),
            ui.number("total, at T", [f"{one[3]:,}" for one in after], [0, 1]),
        ],
        [
            ui.lines(
                "Total cost (1,000s)",
                ui.axis(0.5, 1, np.arange(5, 11) / 10, "Threshold"),
                up,
                [
                    ui.curve(
                        ui.table([[t, t] for t in rule], [0]), [up["low"], up["high"]], "", "c"
                    ),
                    ui.curve(
                        THRESHOLDS, ui.table(totals[1], [0]), "at T", "w", digits=3, moves=True
                    ),
                    ui.curve(
                        THRESHOLDS,
                        ui.table(totals[0], [0]),
                        "as trained",
                        "b",
                        digits=3,
                        moves=True,
                    ),
                ],
                at=1,
                height=300,
            )
        ],
        ui.guess(
            [1],
            "A check costs 1. Above which confidence would you accept a prediction?",
            learned,
            [0, 1],
        ),
    )


if __name__ == "__main__":
    ui.write(costs())
