"""Push a forecast of rain to be bold or timid: `python -m book.play.rain TARGET`."""

from __future__ import annotations

import numpy as np

from calib_utils.metrics import accuracy
from tools.finishing import interactive as ui
from tools.finishing.interactive import percent

POWERS = np.arange(2, 31) / 10
N_DAYS = 10_000


def days() -> tuple[np.ndarray, np.ndarray]:
    """The chance of rain on each day, and whether it rained: those of the first chapter."""
    rng = np.random.default_rng(seed=0)
    chance = rng.integers(1, 10, size=N_DAYS) / 10
    return chance, rng.random(N_DAYS) < chance


def push(p: np.ndarray, power: float) -> np.ndarray:
    """Away from one half with a power above 1, towards it with one below."""
    return p**power / (p**power + (1 - p) ** power)


def rain() -> ui.Json:
    """How often it rains, by forecast, and what the forecasts are worth."""
    chance, rained = days()
    labels = rained.astype(int)
    chances, group = np.unique(chance, return_inverse=True)
    counts = np.bincount(group)
    often = np.bincount(group, rained) / counts
    forecasts = [push(chances, power) for power in POWERS]
    gaps = [float(counts @ np.abs(one - often) / N_DAYS) for one in forecasts]
    spreads = [float(np.sqrt(one * (1 - one))[group].mean()) for one in forecasts]
    accuracies = [accuracy(one[group], labels) for one in forecasts]
    confidences = [float(np.maximum(one, 1 - one)[group].mean()) for one in forecasts]
    known = {"Timid": 0.5, "Honest": 1, "Bold": 2}
    marks = {list(POWERS).index(power): f"{who}: {power:.1f}" for who, power in known.items()}
    shares = (0, 0.2, 0.4, 0.6, 0.8, 1)
    across = (0.5, 1, 1.5, 2, 2.5, 3)
    places = [(1, "Honest")]
    unit = ui.axis(0, 1, shares, "Forecast")
    return ui.play(
        ["fig-three-forecasters"],
        "Bold or timid",
        "How often it rained, by forecast, as a power pushes the forecasts away from "
        "50\N{NO-BREAK SPACE}% or towards it. On the dashed diagonal the two are equal. The "
        "standard deviation is that of the event if the forecast were true; the lower its mean, "
        "the sharper the forecasts.",
        "How often it rained against the forecast, with the diagonal. With a power above 1 the "
        "curve is flatter than the diagonal, with one below 1 it is steeper. Beside it the mean "
        "gap, lowest at a power of 1, and the mean standard deviation at the forecasts, which "
        "falls as the power rises.",
        [ui.slider("Power", [f"{p:.1f}" for p in POWERS], list(POWERS).index(2), marks)],
        [
            ui.number("accuracy", [percent(share, 0) for share in accuracies], [0]),
            ui.number("confidence", [percent(share, 0) for share in confidences], [0]),
            ui.number("mean gap", [f"{gap:.3f}" for gap in gaps], [0]),
            ui.number("standard deviation", [f"{one:.2f}" for one in spreads], [0]),
        ],
        [
            ui.lines(
                "Frequency of rain",
                unit,
                ui.axis(0, 1, shares),
                [
                    ui.curve([0, 1], [0, 1], "calibrated", "c"),
                    ui.curve(ui.table(forecasts, [0]), often, dots="o+"),
                ],
                height=330,
            ),
            ui.lines(
                "Mean gap",
                ui.axis(0.2, 3, across),
                ui.axis(0, 0.25, (0, 0.1, 0.2)),
                [ui.curve(POWERS, gaps, moves=True)],
                at=0,
                marks=places,
            ),
            ui.lines(
                "Standard deviation",
                ui.axis(0.2, 3, across, "Power"),
                ui.axis(0, 0.6, (0, 0.2, 0.4)),
                [ui.curve(POWERS, spreads, moves=True)],
                at=0,
                marks=places,
            ),
        ],
    )


if __name__ == "__main__":
    ui.write(rain())
