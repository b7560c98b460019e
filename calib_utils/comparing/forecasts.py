"""Comparisons of forecasts: averages of networks, temperatures, corrupted images."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib_utils.comparing.comparison import RunDifference, check_repeats, joined
from calib_utils.metrics.bins import uniform_index
from calib_utils.metrics.intervals import resampled_gaps
from calib_utils.predictions.checks import check_several
from calib_utils.records import Forecast

# The names of a grid's comparisons: which networks, averaged or each alone, scaled where.
_NAMED = {
    "single-at-T": ("ordinary", False, "after"),
    "average-of-scaled": ("ordinary", True, "before"),
    "average-at-T": ("ordinary", True, "after"),
    "mirrored-at-T": ("mirrored", False, "after"),
    "smoothed-at-T": ("smoothed", False, "after"),
}
_METRICS = ("error", "nll", "ece")


def compare_forecasts(
    forecasts: Sequence[Forecast],
    first: str,
    second: str,
    metric: str = "ece",
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> RunDifference:
    """Compare a metric of two forecasts that the same networks make, or networks of equal seeds.

    As in `compare`, the seeds that both forecasts have are compared in pairs, others are left out,
    and one interval combines two sources of randomness. For images it uses the standard deviation
    of the difference over bootstrap samples of the test images. For seeds it uses the jackknife:
    each seed is left out once from both forecasts, and the variance is (n - 1) / n times the sum of
    the squared changes, for n seeds with n - 1 degrees of freedom. For a mean of single networks
    this is :math:`s^2 / n` of the paired differences; for the average of their probabilities no
    simpler rule is known, and the jackknife's variance tends to be too large. The interval is too
    short only if a few networks differ wildly in their NLL.

    Args:
        forecasts: of one grid and protocol, as `calib_utils.records.load_forecasts` reads them.
        first: "single-at-T", "average-of-scaled", "average-at-T", "mirrored-at-T" or
            "smoothed-at-T", followed for corrupted images by ", severity 5" or similar: the mean
            over the kinds of corruption. Single networks are represented by their mean.
        second: a different one.
        metric: "error", "nll" or "ece".
        repeats: the number of bootstrap samples of the test images, at least 100.
        seed: of the draws.

    Raises:
        ValueError: if there is no such metric or forecast, or the arrays it needs were not kept.

    Source: Efron and Stein 1981, "The jackknife estimate of variance"; Efron and Tibshirani 1993,
    "An Introduction to the Bootstrap", chapter 11.

    Example:
        >>> compare_forecasts([], "single-at-T", "average-at-T", "nll")
        Traceback (most recent call last):
        ValueError: first: there is no forecast 'single-at-T' among the forecasts
    """
    if metric not in _METRICS:
        raise ValueError(f"metric: expected one of {', '.join(_METRICS)}, found {metric!r}")
    check_repeats(repeats)
    forecasts = check_several(forecasts, "forecasts", Forecast, "what load_forecasts reads")
    sides = [_Side(forecasts, name, what) for name, what in ((first, "first"), (second, "second"))]
    seeds = sorted(set(sides[0].seeds) & set(sides[1].seeds))
    if len(seeds) < 2:
        raise ValueError(
            f"second: expected at least two seeds that both forecasts have, found {seeds}; one "
            "network does not show how much networks vary"
        )
    of_each = [side.sets(seeds, metric) for side in sides]
    drawn = resampled_gaps(of_each[0] + of_each[1], repeats, seed)
    parted = np.split(drawn, [len(of_each[0])], axis=1)
    of_images = float((parted[1].mean(axis=1) - parted[0].mean(axis=1)).std(ddof=1))

    def difference(seeds: list[int]) -> float:
        return sides[1].mean(seeds, metric) - sides[0].mean(seeds, metric)

    without_one = [difference([s for s in seeds if s != left]) for left in seeds]
    freedom = len(seeds) - 1
    over_seeds = [(float(np.var(without_one)) * freedom, freedom)]
    return joined(difference(seeds), over_seeds, of_images)


class _Side:
    """One side of a comparison: the forecasts that it is the mean of."""

    def __init__(self, forecasts: Sequence[Forecast], name: str, what: str) -> None:
        found = re.fullmatch(r"(?P<base>[\w-]+)(, severity (?P<severity>[1-5]))?", str(name))
        if not found or found["base"] not in _NAMED:
            raise ValueError(f"{what}: expected one of {', '.join(_NAMED)}, found {name!r}")
        networks, self.averaged, self.scaled = _NAMED[found["base"]]
        severity = int(found["severity"] or 0)
        self.name, self.what = name, what
        own = [one for one in forecasts if (one.networks, one.severity) == (networks, severity)]
        self.seeds = sorted({seed for one in own for seed in one.members})
        self.corruptions = sorted({one.corruption for one in own})
        self.by_place = {(one.corruption, one.scaled, one.members): one for one in own}
        if not own:
            raise ValueError(f"{what}: there is no forecast {name!r} among the forecasts")

    def chosen(self, seeds: Sequence[int]) -> list[Forecast]:
        """The forecasts of the networks of these seeds."""
        members = [tuple(seeds)] if self.averaged else [(seed,) for seed in seeds]
        places = [
            (corruption, self.scaled if len(m) > 1 else "after", m)
            for corruption in self.corruptions
            for m in members
        ]
        if missing := [place for place in places if place not in self.by_place]:
            raise ValueError(
                f"{self.what}: {self.name!r} needs the seeds {missing[0][2]}, scaled "
                f"{missing[0][1]}, of {missing[0][0] or 'clean'} images, which are not there"
            )
        return [self.by_place[place] for place in places]

    def mean(self, seeds: Sequence[int], metric: str) -> float:
        return float(np.mean([getattr(one, metric) for one in self.chosen(seeds)]))

    def sets(self, seeds: Sequence[int], metric: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """The bins and gaps that give the metric; error and NLL have one bin."""
        sets = []
        for one in self.chosen(seeds):
            losses, confidences, correct = one.losses, one.confidences, one.correct
            if losses is None or confidences is None or correct is None:
                raise ValueError(
                    f"{self.what}: {self.name!r} has no losses of each image, which are kept of "
                    "clean images and of severity 5"
                )
            bins = np.zeros(len(losses), np.int64)
            if metric == "ece":
                bins = uniform_index(confidences, 15, "float16")
                excess = confidences.astype(np.float64) - correct
            else:
                excess = losses.astype(np.float64) if metric == "nll" else 1.0 - correct
            sets.append((bins, excess))
        return sets
