"""The first picture on newer ways to train: `python -m book.figures.many_remedies TARGET`.

The NLL of each of them, as trained and at the temperature, sorted by the test error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr

from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.records import by_level, load_grid
from calib_utils.records.names import level_name
from tools.sources.plot_settings import DRAWING


def ways() -> list[tuple[float, float, float, str]]:
    """Test error, NLL as trained and at T, and name of each way to train: the lowest error first.

    Means over the seeds.
    """
    found = []
    for (_, level), runs in by_level(load_grid("remedies", "cpu")).items():
        error, nll, scaled = (
            float(np.mean([getattr(run, name) for run in runs]))
            for name in ("error", "nll", "nll_scaled")
        )
        found.append((error, nll, scaled, level_name(level)))
    return sorted(found)


def main(target: Path) -> None:
    plt.rcParams |= DRAWING
    errors, before, after, names = zip(*ways(), strict=True)
    places = range(len(names))
    ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")[1]
    for place in places:
        arrow = {"arrowstyle": "->", "color": GREY}
        ax.annotate("", (after[place], place), (before[place], place), arrowprops=arrow)
    ax.plot(before, places, "o", color=ORANGE, label="as trained")
    ax.plot(after, places, "s", color=BLUE, label="at T")
    labels = [
        f"{name}, {100 * error:.1f}\N{NO-BREAK SPACE}%"
        for name, error in zip(names, errors, strict=True)
    ]
    ax.set_yticks(places, labels, fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("NLL (nats)")
    ax.legend(loc="lower left", fontsize="small")
    # What the page says about the picture.
    as_trained, at_T = (spearmanr(errors, nlls)[0] for nlls in (before, after))
    if not (
        at_T > max(0.75, as_trained) and all(np.less_equal(after, before)) and len(names) == 15
    ):
        raise SystemExit(f"since-2017.md is no longer true: {as_trained=}, {at_T=}, {ways()=}")
    target.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
