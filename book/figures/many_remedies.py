"""The first picture on newer ways to train: `python -m book.figures.many_remedies TARGET`.

The NLL of each of them, as trained and at the temperature, sorted by the test error.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.records import by_level, load_forecasts, load_grid
from calib_utils.records.names import level_name
from tools.sources.plot_settings import save

NAMES = {"none": "ordinary", "average": "EMA"}


def ways() -> list[tuple[float, float, float, str]]:
    """Test error, NLL as trained and at T, and name of each way to train: the lowest error first.

    Means over the seeds. Early stopping is left out, because it never stopped: its networks are
    the ordinary ones.
    """
    average = {
        one.scaled: one
        for one in load_forecasts("ensembles", "core")[0]
        if one.networks == "ordinary" and len(one.members) == 5 and not one.corruption
    }
    as_trained, at_T = average["none"], average["after"]
    found = [(as_trained.error, as_trained.nll, at_T.nll, "five averaged")]
    for level, runs in by_level(load_grid("remedies", "core")).items():
        if level == "early-stopping":
            continue
        error, nll, scaled = (
            float(np.mean([getattr(run, name) for run in runs]))
            for name in ("error", "nll", "nll_scaled")
        )
        found.append((error, nll, scaled, NAMES.get(level) or level_name(level)))
    return sorted(found)


def figure() -> Figure:
    errors, before, after, names = zip(*ways(), strict=True)
    places, at_T = range(len(names)), dict(zip(names, after, strict=True))
    fig, ax = plt.subplots(figsize=(4.8, 3.2), layout="constrained")
    for place in places:
        if before[place] - after[place] < 0.03:  # no longer than its head
            continue
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
    first, second, *others, last = sorted(at_T, key=at_T.__getitem__)
    near = [at_T[name] for name in others]
    if not (
        [len(names), first, second, last]
        == [7, "five averaged", "weight decay 0.002", "label smoothing 0.1"]
        and at_T[second] < near[0] - 0.1
        and near[-1] < at_T[last] - 0.1
        and near[-1] - near[0] < 0.05
    ):
        raise SystemExit(f"since-2017.md is no longer true: {ways()=}")
    return fig


if __name__ == "__main__":
    save(figure)
