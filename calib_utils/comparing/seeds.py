"""The spread of a metric over seeds, estimated from all trainings of a protocol together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from calib_utils.records import ExperimentRecord
from calib_utils.records.grids import check_records


@dataclass(frozen=True)
class Spread:
    """How far runs lie apart that differ in nothing but their seed.

    Attributes:
        variance: of a single run, without what its seed does to all trainings alike.
        freedom: the degrees of freedom from which it was estimated.

    Example:
        >>> round(100 * Spread(variance=0.005**2, freedom=28).variance ** 0.5, 3)
        0.5
    """

    variance: float
    freedom: int


def pooled_spread(
    records: Iterable[ExperimentRecord],
    metric: str | Callable[[ExperimentRecord], float] = "ece",
) -> Spread:
    """The spread over seeds that several trainings have in common.

    Three runs at a level say almost nothing about the spread at that level. But fifteen trainings
    with the same three seeds leave 28 degrees of freedom once the mean of each training and of each
    seed is taken out, if the spread is about the same in all of them. Where it is not, comparisons
    of two steady trainings are too careful, and those of two unsteady ones not careful enough.
    What a seed does to all trainings alike cancels only in pairs of one seed, so the spread is not
    for runs of different seeds.

    Args:
        records: the runs of one or more grids. A training that stands in several grids counts once,
            as does one with the same metric at each seed, such as an early stopping that never
            stopped. Seeds that not all trainings have are left out.
        metric: an attribute of the records, or a function of one.

    Raises:
        ValueError: if there are fewer than two trainings, or than two seeds that all of them have.

    Source: the residual mean square of a two-way layout, Fisher 1925, "Statistical Methods for
    Research Workers", chapter VIII.

    Example:
        >>> from calib_utils.records import load_grid
        >>> found = pooled_spread(load_grid("weight-decay", "core"), "ece")
        >>> found.freedom, found.variance**0.5 < 0.01
        (4, True)
    """
    trainings = list(by_training(records).values())
    shared = set.intersection(*(set(runs) for runs in trainings)) if trainings else set()
    value = metric if callable(metric) else lambda run: float(getattr(run, metric))
    x = np.array([[value(runs[seed]) for seed in sorted(shared)] for runs in trainings])
    x = np.unique(x, axis=0) if len(shared) else x
    if min(x.shape) < 2:
        raise ValueError(
            "records: expected at least two different trainings and two seeds that all have, found "
            f"{len(x)} and {len(shared)}"
        )
    left = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    freedom = (x.shape[0] - 1) * (x.shape[1] - 1)
    return Spread(float((left**2).sum()) / freedom, freedom)


def by_training(
    records: Iterable[ExperimentRecord],
) -> dict[str, dict[int, ExperimentRecord]]:
    """For each training, whatever grids it stands in, its records by their seed.

    Args:
        records: the runs of one or more grids.

    Returns:
        The runs in the order in which they came; the keys are texts with all settings.

    Raises:
        ValueError: if something else is among the records.

    Example:
        >>> from calib_utils.records import load_grid
        >>> trainings = by_training(load_grid("width", "core") + load_grid("depth", "core"))
        >>> len(trainings), list(next(iter(trainings.values())))
        (4, [0, 1, 2])
    """
    trainings: dict[str, dict[int, ExperimentRecord]] = {}
    for run in check_records(records, "records"):
        settings = [run.network, run.dataset, run.training_images, run.recipe]
        trainings.setdefault(json.dumps(settings, sort_keys=True), {}).setdefault(run.seed, run)
    return trainings
