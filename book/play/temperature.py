"""Turn the temperature of ResNet-34: `python -m book.play.temperature TARGET`.

Twice: on the test images, for the first page, where one looks at the bars alone, and on the
validation images, on which the chapter on methods for many classes looks for the temperature.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from book.resnet34 import resnet34
from calib_utils.metrics import (
    accuracy,
    baseline_calibration_error,
    expected_calibration_error,
    negative_log_likelihood,
    reliability_bins,
    top_label,
)
from calib_utils.recalibration import TemperatureScaling
from calib_utils.records import PredictionRecord
from tools.finishing import interactive as ui
from tools.finishing.interactive import FEW, percent

NAMES = ["mean confidence", "accuracy", "ECE", "baseline ECE", "NLL"]
TEMPERATURES = np.linspace(0.5, 2.5, 101)


def stops(fitted: float) -> np.ndarray:
    """The temperatures of the slider, the fitted one among them."""
    return np.sort(np.append(TEMPERATURES, fitted))


def turned(record: PredictionRecord, T: float) -> np.ndarray:
    """The record's probabilities at temperature T."""
    return TemperatureScaling(temperature=T).predict_proba(record.logits)


def measured(probs: np.ndarray, record: PredictionRecord, T: float) -> tuple[float, ...]:
    """Mean confidence, accuracy, ECE, its baseline, and NLL."""
    return (
        probs.max(axis=1).mean(),
        accuracy(probs, record.labels),
        expected_calibration_error(probs, record.labels),
        baseline_calibration_error(probs).mean,
        negative_log_likelihood(record.logits / T, record.labels, inputs="logits"),
    )


def printed(numbers: tuple[float, ...]) -> list[str]:
    """What was measured, as the figure says it."""
    *shares, nll = numbers
    return [*map(percent, shares), f"{nll:.3f}"]


def knob(at: np.ndarray, plain: int, best: int) -> ui.Json:
    """The slider of all temperatures, with buttons to the two that count."""
    marks = {plain: "as trained: 1.00", best: f"fitted: {at[best]:.2f}"}
    return ui.slider("Temperature T", [f"{T:.2f}" for T in at], plain, marks)


def missed(T: float, fitted: float) -> str:
    off = abs(T - fitted)
    return f"you missed it by {off:.2f}." if off >= 0.005 else "you have found it."


def bars(record: PredictionRecord, fitted: float) -> ui.Json:
    """The first page's: the diagram, and how far confidence and accuracy are apart."""
    at = stops(fitted)
    probs = [turned(record, T) for T in at]
    shares = [
        (
            p.max(axis=1).mean(),
            accuracy(p, record.labels),
            expected_calibration_error(p, record.labels),
        )
        for p in probs
    ]
    sure, right, gaps = zip(*[map(percent, row) for row in shares], strict=True)
    plain, best = (int(np.abs(at - T).argmin()) for T in (1, fitted))
    frames = (ui.frame(reliability_bins(*top_label(p, record.labels))) for p in probs)
    words = [
        f"You stopped at {T:.2f}, with a mean gap of {gap}. Fitted on other images, the "
        f"temperature is {at[best]:.2f}, with {gaps[best]}, so {missed(T, at[best])}"
        for T, gap in zip(at, gaps, strict=True)
    ]
    return ui.play(
        ["fig-overview"],
        "ResNet-34 on 10,000 test images",
        "Each bar is the share of correct predictions among those with about the same confidence, "
        "and a hatched piece is the gap between the two. The strip counts the predictions. Turning "
        "the temperature changes how sure the network is, and none of its predictions.",
        "Reliability diagram of ResNet-34 at the chosen temperature, with a strip of counts above "
        "it. Well below the fitted temperature the bars end under the diagonal, well above it they "
        "rise over it.",
        [knob(at, plain, best)],
        [
            ui.at_once(ui.number("sure", sure, [0])),
            ui.at_once(ui.number("right", right, [0])),
            ui.number("mean gap", gaps, [0]),
        ],
        [ui.at_once(ui.diagram(ui.table(frames, [0]), height=270, few=FEW))],
        ui.guess([0], "Where would you stop?", words, [0]),
    )


def search(record: PredictionRecord, fitted: float) -> ui.Json:
    """The play on the validation images: the diagram, and two scores against the temperature."""
    at = stops(fitted)
    probs = [turned(record, T) for T in at]
    numbers = [measured(p, record, T) for p, T in zip(probs, at, strict=True)]
    *_, nlls = zip(*numbers, strict=True)
    _, _, eces, baselines, _ = 100 * np.transpose(numbers)
    columns = dict(zip(NAMES, zip(*map(printed, numbers), strict=True), strict=True))
    plain, best = (int(np.abs(at - T).argmin()) for T in (1, fitted))
    words = [
        f"Your T was {T:.2f}, with an NLL of {nll}. The fitted temperature is {at[best]:.2f}, with "
        f"{columns['NLL'][best]}, so {missed(T, at[best])}"
        for T, nll in zip(at, columns["NLL"], strict=True)
    ]
    marks = [(1, "T = 1"), (fitted, f"T = {fitted:.2f}")]
    across = [(T, f"{T:.1f}") for T in (0.5, 1, 1.5, 2, 2.5)]
    highest = max(eces) * 1.05
    low, high = min(nlls), max(nlls)
    pad = 0.07 * (high - low)
    return ui.play(
        ["fig-nll-and-ece-against-temperature"],
        "ResNet-34, validation images",
        "How confident ResNet-34 is, and how often it is correct, on the validation images of "
        "CIFAR-100 at each temperature. A hatched piece is the gap between accuracy and "
        f"confidence, the strip counts the predictions, and pale bars have fewer than {FEW}. "
        "Dashed: the baseline of the ECE.",
        "Reliability diagram of ResNet-34 at the chosen temperature, with a strip of counts "
        "above it. Beside it the ECE, with its baseline, and the NLL against the temperature, each "
        "one valley, with a dot at the chosen temperature. Well below the fitted temperature the "
        "bars end under the diagonal, well above it they rise over it.",
        [knob(at, plain, best)],
        [
            ui.at_once(ui.number(one, of, [0])) if one in NAMES[:2] else ui.number(one, of, [0])
            for one, of in columns.items()
        ],
        [
            ui.at_once(
                ui.diagram(
                    ui.table(
                        (ui.frame(reliability_bins(*top_label(p, record.labels))) for p in probs),
                        [0],
                    ),
                    few=FEW,
                )
            ),
            ui.lines(
                "ECE in %",
                ui.axis(0.5, 2.5, across),
                ui.axis(0, highest, range(0, int(highest) + 1, 10)),
                [
                    ui.curve(at, baselines, "baseline", "c", digits=2),
                    ui.curve(at, eces, digits=2, moves=True),
                ],
                at=0,
                marks=marks,
            ),
            ui.lines(
                "NLL",
                ui.axis(0.5, 2.5, across, "Temperature T"),
                ui.axis(
                    low - pad,
                    high + pad,
                    [(y / 5, f"{y / 5:.1f}") for y in range(ceil(5 * low), int(5 * high) + 1)],
                ),
                [ui.curve(at, nlls, digits=3, moves=True)],
                at=0,
                marks=[(T, "") for T, _ in marks],
            ),
        ],
        ui.guess([0], "Which temperature has the lowest NLL?", words, [0]),
    )


if __name__ == "__main__":
    held_out, test, scaling = resnet34()
    T = scaling.temperature_
    ui.write(bars(test, T), search(held_out, T))
