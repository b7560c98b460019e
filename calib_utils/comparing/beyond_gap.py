"""Does a factor make networks overconfident, or does it only let them fit their training images?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from calib_utils.comparing.comparison import (
    RunDifference,
    check_common_seed,
    check_repeats,
    checked_groups,
    drawn_differences,
    joined,
    part_of_seeds,
)
from calib_utils.comparing.seeds import by_training, pooled_spread
from calib_utils.records import ExperimentRecord
from calib_utils.records.grids import check_records


def compare_beyond_gap(
    first: Iterable[ExperimentRecord],
    second: Iterable[ExperimentRecord],
    others: Iterable[ExperimentRecord],
    *,
    metric: str = "ece",
    repeats: int = 1000,
    seed: int = 0,
) -> RunDifference:
    """Compare the part of the ECE that the generalisation gap does not explain.

    A factor may make networks overconfident only because it lets them fit their training images. If
    so, its networks lie on the line on which all others lie: the least-squares line of the mean ECE
    of a training against its mean gap. The ECE less what that line predicts is compared as in
    `compare`, with a spread over seeds that all trainings share. The line's slope is uncertain as
    well, by as much as the other trainings scatter around it, and has an interval of its own:
    Student's t has m - 2 degrees of freedom for m other trainings.

    Args:
        first: runs that differ only in their seed.
        second: the same, at a different level of a factor, with at least one common seed.
        others: the runs of other factors, through which the line goes.
        metric: "ece", or "overconfidence", which has a sign.
        repeats: the number of bootstrap samples of the test images, at least 100.
        seed: of the draws.

    Raises:
        ValueError: as `compare` does; if the metric is neither of the two; if the two groups have
            no common seed; or if the other trainings have fewer than three different gaps.

    Example:
        >>> from calib_utils.records import by_level, load_grid
        >>> levels = by_level(load_grid("weight-decay", "core"))
        >>> pair = levels[0.0], levels[5e-4]
        >>> found = compare_beyond_gap(*pair, load_grid("width", "core"), repeats=100)
        >>> low, high = found.interval()
        >>> low < found.mean < high
        True
    """
    check_repeats(repeats)
    if metric not in ("ece", "overconfidence"):
        raise ValueError(f"metric: expected 'ece' or 'overconfidence', found {metric!r}")
    groups = checked_groups(first, second)
    check_common_seed(groups, "second")
    others = check_records(others, "others")
    means = [
        (
            float(np.mean([run.generalization_gap for run in runs.values()])),
            float(np.mean([getattr(run, metric) for run in runs.values()])),
        )
        for runs in by_training(others).values()
    ]
    if len({gap for gap, _ in means}) < 3:
        raise ValueError(
            f"others: expected trainings with at least three different gaps, found {len(means)}"
        )
    slope, of_slope = _line(means)

    def left(run: ExperimentRecord) -> float:
        return float(getattr(run, metric)) - slope * run.generalization_gap

    gaps = [float(np.mean([run.generalization_gap for run in runs])) for runs in groups]
    mean = float(np.mean([left(run) for run in groups[1]]) - np.mean([left(r) for r in groups[0]]))
    spread = pooled_spread([*groups[0], *groups[1], *others], left)
    of_line = (gaps[1] - gaps[0]) ** 2 * of_slope, len(means) - 2
    # Of the gap, only the error on the test images changes from one sample of them to another.
    measured, errors = drawn_differences(*groups, [metric, "error"], repeats, seed)
    drawn = measured - slope * errors
    return joined(mean, [part_of_seeds(groups, spread), of_line], float(drawn.std(ddof=1)))


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The slope of the least-squares line through points, and its variance."""
    x, y = np.transpose(points)
    centred = x - x.mean()
    slope = float(centred @ y / (centred @ centred))
    left = y - y.mean() - slope * centred
    return slope, float(left @ left / (len(x) - 2) / (centred @ centred))
