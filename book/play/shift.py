"""Corrupt images, and see which forecasts notice: `python -m book.play.shift TARGET`."""

from __future__ import annotations

from io import BytesIO
from itertools import product

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

from calib_utils.records import Forecast, load_forecasts
from calib_utils.training import CORRUPTIONS, corrupt
from tools.finishing import interactive as ui
from tools.finishing.interactive import FEW, percent

GRID, PROTOCOL = "ensembles", "core"
# Each forecast: of which networks, and whether they are averaged or the first is taken.
FORECASTS = {
    "one network": ("ordinary", False),
    "ensemble of five": ("ordinary", True),
    "label smoothing": ("smoothed", False),
}
SEVERITIES = range(6)


def forecasts() -> dict[tuple[str, int, str], Forecast]:
    """At the temperature of clean images: by corruption, severity and forecast."""
    found, _ = load_forecasts(GRID, PROTOCOL)
    at_T = [one for one in found if one.scaled == "after"]
    chosen = {}
    for kind, severity, (name, (networks, averaged)) in product(
        CORRUPTIONS, SEVERITIES, FORECASTS.items()
    ):
        place = networks, kind if severity else "", severity
        own = [one for one in at_T if (one.networks, one.corruption, one.severity) == place]
        pick = max if averaged else min  # the most members; or one, of the lowest seed
        chosen[kind, severity, name] = pick(own, key=lambda one: (len(one.members), one.members))
    return chosen


def accuracy(one: Forecast) -> float:
    """The accuracy, without the rounding that 1 minus the error would bring."""
    counts, correct, _ = one.bins
    return float(correct.sum() / counts.sum())


def photograph() -> np.ndarray:
    """That of the chapter, as small as the test images, which may not be shown."""
    blocks = load_sample_image("china.jpg")[11:427, 150:566].reshape(32, 13, 32, 13, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)[None]


def corrupted() -> bytes:
    """The photograph with each corruption in a row, by severity, as one image."""
    small, file = photograph(), BytesIO()
    rows = [np.hstack([corrupt(small, one, s)[0] for s in SEVERITIES]) for one in CORRUPTIONS]
    Image.fromarray(np.vstack(rows)).save(file, "WEBP", quality=75, method=6)
    return file.getvalue()


def shift() -> ui.Json:
    """A diagram for each corruption, severity and forecast, and the curves that lead there."""
    chosen = forecasts()
    of_each = list(chosen.values())
    names = list(FORECASTS)
    severities = [(severity, str(severity)) for severity in SEVERITIES]

    def along(kind: str, name: str, value: str) -> list[float]:
        of = [getattr(chosen[kind, severity, name], value) for severity in SEVERITIES]
        return [100 * (1 - share if value == "error" else share) for share in of]

    def own(value: str) -> ui.Json:
        return ui.table([along(*one, value) for one in product(CORRUPTIONS, names)], [0, 2])

    def panel(
        title: str, top: float, ticks: range, curves: list[ui.Json], label: str = ""
    ) -> ui.Json:
        up = ui.axis(0, top, ticks)
        return ui.lines(title, ui.axis(-0.2, 5.2, severities, label), up, curves, at=1)

    highest = max(100 * max(one.confidence, 1 - one.error) for one in of_each)
    others = [
        ui.curve(
            SEVERITIES, ui.table([along(kind, one, "ece") for kind in CORRUPTIONS], [0]), key, "c"
        )
        for one, key in zip(names, ("all three", "", ""), strict=True)
    ]
    return ui.play(
        ["fig-damaged"],
        "Corrupted images",
        "Corrupt the test images of CIFAR-100, and look at the predictions of one network, of an "
        "ensemble of five, or of one that was trained with label smoothing, each at the "
        "temperature of clean images. The hatched pieces are the gaps between accuracy and "
        f"confidence, the strip counts the predictions, and pale bars have fewer than {FEW}. The "
        "photograph, by danielbuechele (CC BY 2.0), is as small as the test images.",
        "Reliability diagram of the chosen forecast. Beside it a photograph with the chosen "
        "corruption, mean confidence and accuracy "
        "against the severity of the chosen corruption, and the ECE of all three forecasts.",
        [
            ui.choice("Corruption", CORRUPTIONS),
            ui.slider("Severity", SEVERITIES, 0, {0: "clean"}),
            ui.choice("Forecast", names),
        ],
        [
            ui.number("accuracy", [percent(accuracy(x)) for x in of_each], [0, 1, 2]),
            ui.number("confidence", [percent(x.confidence) for x in of_each], [0, 1, 2]),
            ui.number("ECE", [percent(x.ece) for x in of_each], [0, 1, 2]),
            ui.number("baseline", [percent(x.baseline) for x in of_each], [0, 1, 2]),
        ],
        [
            ui.diagram(
                ui.table([ui.frame_of_sums(one.bins) for one in of_each], [0, 1, 2]),
                height=360,
                few=FEW,
                relative=True,
            ),
            ui.picture(
                "A photograph",
                corrupted(),
                len(SEVERITIES),
                len(CORRUPTIONS),
                ui.table(((s, k) for k in range(len(CORRUPTIONS)) for s in SEVERITIES), [0, 1]),
            ),
            panel(
                "Share in %",
                1.15 * highest,
                range(0, 101, 20),
                [
                    ui.curve(
                        SEVERITIES, own("confidence"), "confidence", "b", digits=2, moves=True
                    ),
                    ui.curve(SEVERITIES, own("error"), "accuracy", "a", digits=2, moves=True),
                ],
            ),
            panel(
                "ECE in %",
                110 * max(one.ece for one in of_each),
                range(0, 101, 10),
                [*others, ui.curve(SEVERITIES, own("ece"), digits=2, moves=True)],
                "Severity",
            ),
        ],
    )


if __name__ == "__main__":
    ui.write(shift())
