"""Guess what a suspect does, then see its runs: `python -m book.play.suspects TARGET`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from calib_utils.experiments import plan_grid, planned_comparisons
from calib_utils.metrics import baseline_calibration_error
from calib_utils.records import ExperimentRecord, load_grid
from calib_utils.records.names import level_name
from tools.finishing import interactive as ui

PROTOCOL = "core"
SUSPECTS = {
    "depth": "Depth (blocks in a stage)",
    "width": "Width (channels)",
    "batch-norm": "Batch normalisation",
    "weight-decay": "Weight decay",
    "training-time": "Training time (epochs)",
    "augmentation": "Augmentation",
    "training-images": "Training images",
}
GUESSES = "falls", "stays", "rises"
STAYS = 0.5  # points: a smaller change than this counts as none
SIGNS = "osd"  # of the seeds, as in the figures of the chapter
ARROW = "\N{NARROW NO-BREAK SPACE}\N{RIGHTWARDS ARROW}\N{NARROW NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
COUNTS = "zero", "one", "two", "three", "four", "five", "six"


class Change(NamedTuple):
    """Two levels that the plan compares, and the runs at them and between them.

    Attributes:
        suspect: what is changed.
        levels: from the first of the two to the second, in the order of the plan.
        runs: by seed and level.
        pairs: for each seed with both, the run at the first and at the second.
    """

    suspect: str
    levels: list[Any]
    runs: dict[tuple[int, Any], ExperimentRecord]
    pairs: list[tuple[ExperimentRecord, ExperimentRecord]]


def changes() -> list[Change]:
    """Those of which at least one seed has been trained at both levels."""
    found = []
    for grid, suspect in SUSPECTS.items():
        of_grid = {(run.seed, run.value): run for run in load_grid(grid, PROTOCOL)}
        seeds = sorted({seed for seed, _ in of_grid})
        order = list(dict.fromkeys(run.value for run in plan_grid(grid, PROTOCOL)))
        compared = [(one.first, one.second) for one in planned_comparisons(grid, PROTOCOL)]
        for first, second in dict.fromkeys(compared):
            start, end = order.index(first), order.index(second)
            levels = order[start : end + 1] if start < end else order[end : start + 1][::-1]
            runs = {place: run for place, run in of_grid.items() if place[1] in levels}
            ends = [(runs.get((seed, first)), runs.get((seed, second))) for seed in seeds]
            pairs = [(a, b) for a, b in ends if a and b]
            if pairs:
                found.append(Change(suspect, levels, runs, pairs))
    return found


def name(level: Any) -> str:
    words = level_name(level)
    return f"{int(words):,}" if words.isdigit() else words


def baseline(run: ExperimentRecord) -> float:
    return baseline_calibration_error(run.confidences).mean


def points(pairs: list[tuple[ExperimentRecord, ExperimentRecord]], metric: str) -> np.ndarray:
    """How much higher the metric is at the second level, for each seed."""
    return np.array([100 * (getattr(b, metric) - getattr(a, metric)) for a, b in pairs])


def moved(found: np.ndarray) -> str:
    """Which of the guesses is right."""
    mean = found.mean()
    return GUESSES[1 + (mean >= STAYS) - (mean <= -STAYS)]


def told(what: str, found: np.ndarray) -> str:
    """How far a metric went, and in how many seeds which way."""
    mean, seeds = found.mean(), len(found)
    stays = moved(found) == "stays"
    rises = 2 * (found > 0).sum() >= seeds if stays else mean > 0
    ways = int(((found > 0) == rises).sum())
    which = "each" if ways == seeds else COUNTS[ways]
    where = f"{which} of the {COUNTS[seeds]} seeds" if seeds > 1 else "the one seed"
    average = " on average" if seeds > 1 else ""
    if stays:
        way = "higher" if rises else "lower"
        change = f"{mean:+.1f}".replace("-", MINUS)
        return f"{what} stays ({change} points{average}, {way} in {where})"
    return f"{what} {GUESSES[2 * rises]} in {where}, by {abs(mean):.1f} points{average}"


def worth(change: Change) -> list[str]:
    """What happened, and what each guess of error and ECE was worth."""
    error, ece = (points(change.pairs, metric) for metric in ("error", "ece"))
    happened = f"{told('The test error', error)}; {told('the ECE', ece)}."
    verdicts = {
        (True, True): "Both are as you guessed.",
        (True, False): "The test error is as you guessed, the ECE is not.",
        (False, True): "The ECE is as you guessed, the test error is not.",
        (False, False): "Neither is as you guessed.",
    }
    return [
        f"{verdicts[a == moved(error), b == moved(ece)]} {happened}"
        for a, b in product(GUESSES, GUESSES)
    ]


def panel(title: str, found: list[Change], curves: list[ui.Json], highest: float) -> ui.Json:
    """An axis from 0 that is the same for all changes; below it the levels of the chosen one."""
    across = [
        ui.axis(
            -0.35,
            len(one.levels) - 0.65,
            [(place, name(level)) for place, level in enumerate(one.levels)],
            one.suspect,
        )
        for one in found
    ]
    ticks = range(0, 101, 5 if highest < 30 else 10)
    up = ui.axis(0, 1.08 * highest, ticks)
    return ui.lines(title, ui.table(across, [0]), up, curves, height=270, begins=True)


def of_seeds(found: list[Change], metric: str) -> list[ui.Json]:
    """For each seed, a dot for each of its networks, and a line that joins them."""
    curves = []
    for seed in sorted({seed for one in found for seed, _ in one.runs}):
        places = [
            [k for k, level in enumerate(one.levels) if (seed, level) in one.runs] for one in found
        ]
        shares = [
            [100 * getattr(one.runs[seed, one.levels[k]], metric) for k in at]
            for one, at in zip(found, places, strict=True)
        ]
        sign = SIGNS[seed % len(SIGNS)]
        of_seed = ui.table(places, [0]), ui.table(shares, [0])
        curves.append(ui.curve(*of_seed, dots=f"{sign}+", digits=2))
    return curves


def baselines(found: list[Change]) -> ui.Json:
    """Their mean at each level that has a run."""
    at = [
        [
            (k, 100 * np.mean([baseline(run) for (_, of), run in one.runs.items() if of == level]))
            for k, level in enumerate(one.levels)
            if any(of == level for _, of in one.runs)
        ]
        for one in found
    ]
    x, y = ([[place[side] for place in of] for of in at] for side in (0, 1))
    return ui.curve(ui.table(x, [0]), ui.table(y, [0]), "baseline", "c", digits=2)


def suspects() -> ui.Json:
    """The runs of each change, once its direction has been guessed."""
    found = changes()

    def ends(of: Callable[[ExperimentRecord], float]) -> list[str]:
        """The means at both levels, of the seeds that have both."""
        means = [100 * np.mean([list(map(of, pair)) for pair in c.pairs], axis=0) for c in found]
        return [ARROW.join(map("{:.1f}".format, one)).replace("-", MINUS) for one in means]

    highest = {
        metric: max(100 * getattr(run, metric) for one in found for run in one.runs.values())
        for metric in ("error", "ece")
    }
    levels = [(name(one.levels[0]), name(one.levels[-1])) for one in found]
    return ui.play(
        ["fig-suspects"],
        "Which suspect does what?",
        "Choose what to change, and guess what becomes of the test error and of the ECE; a mean "
        f"change of less than {STAYS:g} points counts as staying. Each dot is a network, and a "
        "line joins those of one seed. Both axes are the same for all suspects. The numbers are "
        "means over the seeds that have both ends.",
        "Test error and ECE of the networks at the levels of the chosen suspect, with the "
        "baseline ECE. The sentence that follows a guess says how they change.",
        [
            ui.choice(
                "Change",
                [f"{c.suspect}: {a} to {b}" for c, (a, b) in zip(found, levels, strict=True)],
            ),
            ui.choice("Test error", GUESSES, 1),
            ui.choice("ECE", GUESSES, 1),
        ],
        [
            ui.number("test error in %", ends(attrgetter("error")), [0]),
            ui.number("ECE in %", ends(attrgetter("ece")), [0]),
            ui.number("baseline ECE in %", ends(baseline), [0]),
            ui.number("overconfidence", ends(attrgetter("overconfidence")), [0]),
        ],
        [
            panel("Test error in %", found, of_seeds(found, "error"), highest["error"]),
            panel("ECE in %", found, [*of_seeds(found, "ece"), baselines(found)], highest["ece"]),
        ],
        ui.guess(
            [1, 2],
            "What does this change do to the test error and to the ECE?",
            [words for one in found for words in worth(one)],
            [0, 1, 2],
            anew=0,
        ),
    )


if __name__ == "__main__":
    ui.write(suspects())
