"""Pick one of the small networks, and see its diagram: `python -m book.play.networks TARGET`."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np

from calib_utils.metrics import baseline_calibration_error, reliability_bins
from calib_utils.records import by_level, load_grid
from calib_utils.records.names import factor_name, level_name, network_name
from tools.finishing.interactive import (
    FEW,
    WORDS,
    Json,
    axis,
    choice,
    curve,
    diagram,
    frame,
    lines,
    number,
    play,
    slider,
    table,
    write,
)

GRIDS = ("depth", "width", "batch-norm", "weight-decay")
PROTOCOL = "cpu"
TICKS = {"test error": range(0, 101, 5), "ECE": range(0, 101, 2)}


def baseline(confidences: np.ndarray) -> str:
    return WORDS.format(100 * baseline_calibration_error(confidences).mean)


def networks(grid: str) -> Json:
    """Every network of a grid: its diagram, and its place among the others."""
    groups = by_level(load_grid(grid, PROTOCOL))
    kinds = list(dict.fromkeys(kind for kind, _ in groups))
    levels = sorted({level for _, level in groups})
    n_seeds = len(groups[kinds[0], levels[0]])
    factor = factor_name(next(iter(groups.values()))[0].factor)
    records = [groups[k, one][s] for k, one, s in product(kinds, levels, range(n_seeds))]
    names = [level_name(level) for level in levels]
    numeric = not isinstance(levels[0], bool)
    level = slider(factor.capitalize(), names) if numeric else choice(factor.capitalize(), names)
    seed = choice("Seed", [str(seed) for seed in range(n_seeds)])
    kind = [choice("Network", [network_name(kind) for kind in kinds])] if len(kinds) > 1 else []
    first = len(kind)  # the control of the level, after that of the network if there is one
    by, by_kind, by_seed = range(first + 2), range(first), [*range(first), first + 1]
    places = list(range(len(levels)))

    def panel(title: str, metric: str, label: str) -> Json:
        share = {
            (k, s): [100 * getattr(groups[k, one][s], metric) for one in levels]
            for k, s in product(kinds, range(n_seeds))
        }
        low, high = (f(map(f, share.values())) for f in (min, max))
        pad = 0.1 * (high - low)
        others = [
            curve(places, table([share[k, s] for k in kinds], by_kind), "", "c", dots="o", digits=2)
            for s in range(n_seeds)
        ]
        own = curve(places, table(share.values(), by_seed), "", "a", moves=True, digits=2)
        return lines(
            f"{title.capitalize() if title != 'ECE' else title} in %",
            axis(-0.3, len(levels) - 0.7, zip(places, names, strict=True), label),
            axis(low - pad, high + pad, [(y, str(y)) for y in TICKS[title]]),
            [*others, own],
            at=first,
        )

    return play(
        [f"fig-{grid}"],
        f"{len(records)} networks and their diagrams",
        f"Choose a network by {factor} and seed to see how it does on the test images of "
        "CIFAR-100. A dot is a network, the line joins those of one seed. A hatched piece is the "
        f"gap between accuracy and confidence, and pale bars have fewer than {FEW} predictions.",
        "Reliability diagram of the chosen network. Beside it the test error and the ECE of all "
        f"networks against {factor}, with a line through those of the chosen seed.",
        [*kind, level, seed],
        [
            number("test error", [WORDS.format(100 * r.error) for r in records], by),
            number("ECE", [WORDS.format(100 * r.ece) for r in records], by),
            number("baseline ECE", [baseline(r.confidences) for r in records], by),
            number("NLL", [f"{r.nll:.2f}" for r in records], by),
        ],
        [
            diagram(
                table([frame(reliability_bins(r.confidences, r.correct)) for r in records], by),
                few=FEW,
                relative=True,
            ),
            panel("test error", "error", ""),
            panel("ECE", "ece", factor.capitalize()),
        ],
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), [networks(grid) for grid in GRIDS])
