"""Go through a long training run, epoch by epoch: `python -m book.play.epochs TARGET`."""

from __future__ import annotations

import numpy as np

from calib_utils.metrics import baseline_calibration_error
from calib_utils.records import load_grid
from tools.finishing import interactive as ui
from tools.finishing.interactive import FEW, percent

GRID, PROTOCOL = "nll-and-error", "cpu"


def baseline(sums: list[list[float]]) -> str:
    """That of predictions with the mean confidence of their bin: no others' is higher."""
    counts, _, summed = map(np.asarray, sums)
    confidences = np.repeat(summed[counts > 0] / counts[counts > 0], counts[counts > 0].astype(int))
    highest = percent(baseline_calibration_error(confidences).mean)
    return f"\N{LESS-THAN OR EQUAL TO}\N{NO-BREAK SPACE}{highest}"


def epochs() -> ui.Json:
    """The diagram after each epoch of the first run, and its numbers against the epoch."""
    run, *others = sorted(load_grid(GRID, PROTOCOL), key=lambda run: run.seed)
    history, drops = run.history, run.recipe["milestones"]
    last = len(history)
    across = [(epoch, str(epoch)) for epoch in (1, *range(20, last + 1, 20))]
    marks = [(drop + 0.5, "") for drop in drops]
    stops = [drops[0], drops[0] + 1, last]

    def panel(title: str, key: str, unit: int, ticks: range, label: str = "") -> ui.Json:
        rows = [[unit * entry[key] for entry in one.history] for one in (*others, run)]
        pad = 0.08 * np.ptp(rows)
        return ui.lines(
            title,
            ui.axis(0, last + 1, across, label),
            ui.axis(np.min(rows) - pad, np.max(rows) + pad, ticks),
            [
                *(ui.curve(range(1, last + 1), y, "", "c", digits=2) for y in rows[:-1]),
                ui.curve(range(1, last + 1), ui.table(rows[-1:]), digits=3, moves=True),
            ],
            at=0,
            marks=marks,
            height=150 if label else 120,
        )

    return ui.play(
        ["fig-nll"],
        f"One training run, {last} epochs",
        f"One of the training runs, seed {run.seed}, from its first epoch to its last. Choose an "
        "epoch to see how the network then did on the test images. At the dotted lines the "
        "learning rate is divided by ten. A hatched piece is the gap between accuracy and "
        "confidence, the strip counts the predictions in each bar, and pale bars have fewer than "
        f"{FEW}." + " Dashed: the other seeds." * bool(others),
        "Reliability diagram of the network after the chosen epoch. Beside it the test NLL, the "
        "test error and the ECE against the epoch, with a dot at the chosen one. All three fall "
        "sharply at the first drop of the learning rate. Then NLL and ECE rise, and the error "
        "stays nearly flat.",
        [
            ui.slider(
                "Epoch", range(1, last + 1), drops[0], {stop - 1: f"epoch {stop}" for stop in stops}
            )
        ],
        [
            ui.number("test error", [percent(one["test_error"]) for one in history], [0]),
            ui.number("NLL", [f"{one['test_nll']:.2f}" for one in history], [0]),
            ui.number("ECE", [percent(one["test_ece"]) for one in history], [0]),
            ui.number("baseline", [baseline(one["test_bins"]) for one in history], [0]),
        ],
        [
            ui.diagram(
                ui.table([ui.frame_of_sums(one["test_bins"]) for one in history], [0]),
                height=390,
                few=FEW,
                relative=True,
            ),
            panel("NLL", "test_nll", 1, range(10)),
            panel("Test error in %", "test_error", 100, range(50, 100, 20)),
            panel("ECE in %", "test_ece", 100, range(0, 101, 10), "Epoch"),
        ],
    )


if __name__ == "__main__":
    ui.write(epochs())
