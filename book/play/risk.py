"""Accept the predictions of which ResNet-34 is confident: `python -m book.play.risk TARGET`."""

from __future__ import annotations

import numpy as np

from book.resnet34 import resnet34
from calib_utils.metrics import top_label
from calib_utils.recalibration import TemperatureScaling
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

PERCENTS = np.arange(2, 101, 2)
TOO_HIGH = 4.0


def risk() -> ui.Json:
    """Risk and threshold against coverage, at three temperatures."""
    _, test, scaling = resnet34()
    temperatures = {"as trained": 1.0, "fitted": scaling.temperature_, "too high": TOO_HIGH}
    accepted = len(test.labels) * PERCENTS // 100
    errors, thresholds = [], []
    for T in temperatures.values():
        probs = TemperatureScaling(temperature=T).predict_proba(test.logits)
        confidences, correct = top_label(probs, test.labels)
        order = np.argsort(-confidences, kind="stable")
        errors.append(np.cumsum(~correct[order])[accepted - 1])
        thresholds.append(confidences[order][accepted - 1])
    risks = [one / accepted for one in errors]
    shares = range(0, 101, 20)
    across = (0, 20, 40, 60, 80, 100)
    stops = [f"{name}: {T:.2f}" for name, T in temperatures.items()]
    return ui.play(
        ["fig-risk-coverage"],
        "Accept, or abstain",
        "Accept the predictions of which ResNet-34 is the most confident, and reject the rest. The "
        "risk is the error rate among the accepted ones. Between the network as trained and at its "
        "fitted temperature the risk hardly differs, while the threshold does: the same images "
        "have other confidences.",
        "Risk against coverage: from 1\N{NO-BREAK SPACE}% or less it rises to "
        "25\N{NO-BREAK SPACE}%, nearly alike as trained and at the fitted temperature, and "
        "somewhat higher in between at the highest one. Below it the threshold against coverage: "
        "it falls, and it is lower for a higher temperature.",
        [
            ui.slider(
                "Coverage", [f"{p}\N{NO-BREAK SPACE}%" for p in PERCENTS], 24, {24: "a half"}
            ),
            ui.choice("Temperature", stops),
        ],
        [
            ui.number("accepted", [f"{n:,}" for n in accepted], [0]),
            ui.number("errors", [f"{n:,}" for one in errors for n in one], [1, 0]),
            ui.number("risk", [percent(r) for one in risks for r in one], [1, 0]),
            ui.number("threshold", [percent(t) for one in thresholds for t in one], [1, 0]),
        ],
        [
            ui.lines(
                "Risk in %",
                ui.axis(0, 100, across, "Coverage in %"),
                ui.axis(0, 30, range(0, 31, 10)),
                [
                    ui.curve(
                        PERCENTS,
                        ui.table([np.full(len(PERCENTS), 100 * risks[0][-1])]),
                        "random order",
                        "c",
                        digits=2,
                    ),
                    ui.curve(
                        PERCENTS, ui.table([100 * one for one in risks], [1]), digits=2, moves=True
                    ),
                ],
                at=0,
                height=330,
            ),
            ui.lines(
                "Threshold: lowest confidence, in %",
                ui.axis(0, 100, across, "Coverage in %"),
                ui.axis(0, 100, shares),
                [
                    ui.curve(
                        PERCENTS,
                        ui.table([100 * one for one in thresholds], [1]),
                        "",
                        "b",
                        digits=2,
                        moves=True,
                    )
                ],
                at=0,
            ),
        ],
    )


if __name__ == "__main__":
    ui.write(risk())
