"""Which method recalibrates best, as dots: `python -m book.figures.recalibrators TARGET`.

The mean rank by NLL, and the mean ECE, of each method on the public networks of each data set. The
numbers are those of the table below the picture.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from book.tables.recalibrators import by_network, mean_ranks
from calib_utils.plots import BLUE, GREY, ORANGE
from calib_utils.records import load_recalibrated
from tools.sources.plot_settings import save

LOOK = {"cifar100": ("CIFAR-100", "o", BLUE, -0.13), "cifar10": ("CIFAR-10", "s", ORANGE, 0.13)}


def figure() -> Figure:
    rows = {name: load_recalibrated("public", name)[0] for name in LOOK}
    ranks = {name: mean_ranks(by_network(of), "nll") for name, of in rows.items()}
    methods = sorted(ranks["cifar100"], key=lambda one: sum(of[one] for of in ranks.values()))
    firsts = [min(of, key=of.__getitem__) for of in ranks.values()]

    def mean(name: str, method: str, key: str) -> float:
        own = [getattr(row, key) for row in rows[name] if row.method == method]
        return 100 * float(np.mean(own))

    eces, baselines = (
        {name: [mean(name, method, key) for method in methods] for name in LOOK}
        for key in ("ece", "baseline")
    )
    above = [e > b for name in LOOK for e, b in zip(eces[name], baselines[name], strict=True)]
    # What the page says about the picture.
    bbq = mean("cifar100", "BBQ", "ece") < mean("cifar100", "temperature", "ece")
    worse = ranks["cifar100"]["BBQ"] > ranks["cifar100"]["temperature"]
    if not (firsts[0] != firsts[1] and np.mean(above) > 0.5 and bbq and worse):
        raise SystemExit(f"book/recalibrators.md is no longer true: {firsts=}, {eces=}")

    fig, axes = plt.subplots(2, figsize=(4.8, 7.6), layout="constrained")
    y = np.arange(len(methods))
    for name, (label, marker, colour, shift) in LOOK.items():
        look = {"color": colour, "label": label, "markersize": 5}
        axes[0].plot([ranks[name][one] for one in methods], y + shift, marker, **look)
        axes[1].plot(eces[name], y + shift, marker, **look)
        axes[1].plot(baselines[name], y + shift, "|", color=colour, markersize=8)
    for ax in axes:
        ax.set_yticks(y, methods, fontsize="small")
        ax.grid(axis="y", color=GREY, alpha=0.25, linewidth=0.5)
        ax.invert_yaxis()
    axes[0].set(xlabel="Mean rank by NLL, 1 is the best", xlim=(0, len(methods) + 0.5))
    axes[0].set_xticks(range(1, len(methods) + 1, 3))
    axes[0].legend(fontsize="small")
    marks = [0.2, 0.5, 1, 2, 5, 10, 20, 50]
    axes[1].set(xlabel="Mean ECE (%), logarithmic", xscale="log")
    axes[1].set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes[1].minorticks_off()
    return fig


if __name__ == "__main__":
    save(figure)
