"""Every recalibrator on every network, as tables: `python -m book.tables.recalibrators TARGET`."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from calib_utils._files import write_text
from calib_utils.comparing import Difference, Markdown, holm, signed, table
from calib_utils.records import Recalibrated, load_recalibrated

REFERENCE = "temperature"


def mean_ranks(networks: Sequence[Sequence[Recalibrated]], score: str) -> dict[str, float]:
    """Each method's mean rank over networks, 1 for the lowest score; ties share a rank."""
    methods = [row.method for row in networks[0]]
    ranks = [rankdata([getattr(row, score) for row in rows]) for rows in networks]
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True))


def by_network(rows: Iterable[Recalibrated]) -> list[list[Recalibrated]]:
    """The rows of each network, in the order of the file."""
    found: dict[str, list[Recalibrated]] = {}
    for row in rows:
        found.setdefault(row.network, []).append(row)
    return list(found.values())


def difference(mean: float, error: float, images: float) -> Difference:
    """An NLL minus that of temperature scaling; if infinite, without an interval."""
    return Difference(mean, error, images - 1)


def mean_differences(
    rows: Sequence[Recalibrated], errors: dict[str, float]
) -> dict[str, Difference]:
    """The mean NLL of each method minus that of temperature scaling."""
    networks = by_network(rows)
    nll = {
        row.method: np.mean([one[k].nll for one in networks]) for k, row in enumerate(networks[0])
    }
    images = rows[0].bins[0].sum()
    return {
        method: difference(float(value - nll[REFERENCE]), errors[method], images)
        for method, value in nll.items()
        if method != REFERENCE
    }


def verdict(found: Difference, adjusted: float) -> str:
    """Better or worse than temperature scaling, corrected for multiple comparisons."""
    if math.isinf(found.mean):
        return "worse"
    if not adjusted < 0.05:
        return "undecided"
    size = ", by less than 0.0001" if abs(found.mean) < 1e-4 else ""
    return ("worse" if found.mean > 0 else "better") + size


def loss(value: float, digits: int = 4) -> str:
    return "∞" if math.isinf(value) else f"{value:.{digits}f}"


def apart(found: Difference, digits: int = 4) -> str:
    if math.isinf(found.mean):
        return "∞"
    low, high = found.interval()
    return f"{signed(found.mean, digits)} \N{PLUS-MINUS SIGN} {(high - low) / 2:.{digits}f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def methods_table(of_sets: dict[str, tuple[list[Recalibrated], dict[str, float]]]) -> Markdown:
    """For each data set a row for each method, the lowest mean rank by NLL first."""
    found = {
        (name, method): one
        for name, (rows, errors) in of_sets.items()
        for method, one in mean_differences(rows, errors).items()
    }
    # An infinite difference has no p-value, but counts as a comparison.
    adjusted = dict(zip(found, holm([one.p_value for one in found.values()]), strict=True))
    lines = []
    for name, (rows, _) in of_sets.items():
        by_nll, by_brier = (mean_ranks(by_network(rows), score) for score in ("nll", "brier"))
        for method in sorted(by_nll, key=by_nll.__getitem__):
            line = [name, method, f"{by_nll[method]:.1f}", f"{by_brier[method]:.1f}"]
            key = name, method
            line += (
                [apart(found[key]), verdict(found[key], adjusted[key])]
                if key in found
                else ["0", "the reference"]
            )
            own = [row for row in rows if row.method == method]
            line += [
                percent(float(np.mean([getattr(r, k) for r in own]))) for k in ("ece", "baseline")
            ]
            lines.append(line)
    head = ["images", "method", "rank by NLL", "rank by Brier", "NLL minus temperature's"]
    return table([*head, "verdict", "ECE, %", "baseline, %"], lines)


def networks_table(of_sets: dict[str, list[Recalibrated]]) -> Markdown:
    """A row for each network and method, the lowest NLL of a network first."""
    lines = []
    for name, rows in of_sets.items():
        for network in by_network(rows):
            (at_t,) = [row for row in network if row.method == REFERENCE]
            for row in sorted(network, key=lambda one: one.nll):
                found = difference(row.nll - at_t.nll, row.nll_error, row.bins[0].sum())
                line = [name, row.network, row.method, loss(row.nll)]
                line += ["0" if row is at_t else apart(found, 3), f"{row.brier:.4f}"]
                line += map(percent, (row.ece, row.baseline, row.accuracy))
                lines.append(line)
    head = ["images", "network", "method", "NLL", "minus temperature's", "Brier"]
    return table([*head, "ECE, %", "baseline, %", "accuracy, %"], lines)


def captioned(name: str, caption: str, made: Markdown, option: str = "") -> str:
    return f":::{{table}} {caption}\n:name: tab-{name}\n{option}\n{made}\n:::"


def page() -> str:
    of_100, made = load_recalibrated("public", "cifar100")
    of_10, made_10 = load_recalibrated("public", "cifar10")
    ours, own = load_recalibrated("course", "cifar100")
    errors = [one["errors_of_mean"] for one in (made, made_10)]
    public = {"CIFAR-100": (of_100, errors[0]), "CIFAR-10": (of_10, errors[1])}
    count = len(by_network(of_100)) + len(by_network(of_10))
    stopped = sorted({row.method for row in (*of_100, *of_10, *ours) if row.warned})
    parts = [
        captioned(
            "recalibrators",
            f"Each method on {count} public networks: means over those of each data set.",
            methods_table(public),
        ),
        captioned(
            "recalibrated-networks",
            "Each method on each network.",
            networks_table(
                {"CIFAR-100": of_100, "CIFAR-10": of_10, "CIFAR-100, the course's": ours}
            ),
            ":class: long\n",
        ),
        f"A fit of {', '.join(stopped)} had no optimum for at least one network, and was stopped "
        f"early. Networks: {made['networks']}; logits: {made['logits']}; fitted "
        f"{made['fits']}. The course's were fitted {own['fits']}. Computed on {made['date']}: "
        f"{made['hardware']}, {', '.join(map(' '.join, made['versions'].items()))}.",
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    write_text(Path(sys.argv[1]), page())
