"""What a museum pays that trusts its network: `python -m book.play.museum TARGET`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.special import softmax

from calib_utils.metrics import top_label
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import load_record
from tools.finishing.interactive import Json, axis, curve, lines, number, play, slider, table, write

NETWORK = "resnet34-cifar100"
PRICES = [2, 3, 5, 10, 20]
THRESHOLDS = np.arange(50, 101) / 100


def bill(
    confidences: np.ndarray, correct: np.ndarray, price: float, threshold: float
) -> tuple[int, float, float, float]:
    """How many answers are trusted, what each promises to cost and costs, and the whole cost.

    A mistake costs the price, a look at an answer that is not trusted costs 1.
    """
    trusted = confidences > threshold
    promised = price * float((1 - confidences[trusted]).sum())
    paid = price * int((~correct[trusted]).sum())
    n = int(trusted.sum())
    each = max(n, 1)
    return n, promised / each, paid / each, paid + len(correct) - n


def museum() -> Json:
    """Before and after the repair, at each price and threshold."""
    record, held_out = load_record(NETWORK, "test"), load_record(NETWORK, "validation")
    confidences, correct = top_label(softmax(record.logits, axis=1), record.labels)
    scaling = TemperatureScaling().fit(held_out.logits, held_out.labels)
    softer = scaling.predict_proba(record.logits).max(axis=1)
    bills = [
        [[bill(said, correct, price, t) for t in THRESHOLDS] for price in PRICES]
        for said in (confidences, softer)
    ]
    whole = [[[one[3] / 1000 for one in of_price] for of_price in of] for of in bills]
    before, after = ([one for of_price in of for one in of_price] for of in bills)

    def each(of: list[tuple[int, float, float, float]]) -> list[str]:
        return [f"{one[1]:.2f}, {one[2]:.2f}" if one[0] else "none" for one in of]

    rule = [1 - 1 / price for price in PRICES]
    return play(
        ["fig-museum"],
        "A museum with 10,000 photographs",
        "What the museum pays for all photographs, by the threshold above which it trusts the "
        "network, before and after the repair. A look at a photograph costs 1. Dashed: the "
        "threshold that follows from what a mistake costs. Each: what a photograph "
        "that it trusts costs, as promised and in truth. All: the cost of all photographs.",
        "The cost of all photographs against the threshold, before and after the repair. The two "
        "curves are bowls that meet at a threshold of 1. A dotted line stands at the threshold "
        "that the price gives. After the repair the bowl is lowest near it.",
        [
            slider("A mistake costs", [str(price) for price in PRICES], PRICES.index(10)),
            slider("Trust above", [f"{t:.2f}" for t in THRESHOLDS], list(THRESHOLDS).index(0.9)),
        ],
        [
            number("each, before", each(before), [0, 1]),
            number("each, after", each(after), [0, 1]),
            number("all, before", [f"{one[3]:,}" for one in before], [0, 1]),
            number("all, after", [f"{one[3]:,}" for one in after], [0, 1]),
        ],
        [
            lines(
                "Cost in thousands",
                axis(0.5, 1, [(t / 10, str(t / 10)) for t in range(5, 11)], "Threshold"),
                axis(6, 22, [(y, str(y)) for y in range(6, 23, 4)]),
                [
                    curve(table([[t, t] for t in rule], [0]), table([[6, 22]]), "", "c"),
                    curve(THRESHOLDS, table(whole[1], [0]), "after", "a", digits=3, moves=True),
                    curve(THRESHOLDS, table(whole[0], [0]), "before", "b", digits=3, moves=True),
                ],
                at=1,
                height=300,
            )
        ],
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), [museum()])
