"""Do networks differ in what was made of them: averages, temperatures, damaged photographs?"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from calib_utils._checks import check_several
from calib_utils.metrics.bins import uniform_index
from calib_utils.metrics.resampling import resampled_gaps
from calib_utils.records import Forecast
from calib_utils.report.comparison import RunDifference, check_repeats

__all__ = ["compare_forecasts"]

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
    """Compare a metric of two forecasts that the same networks make, or that two groups make.

    As in `compare`, one interval joins two sources of chance. That for images is the spread of
    the difference over sets of test images that are drawn with replacement. That for seeds is the
    jackknife's: each network is left out once, of both forecasts, and the variance is (n - 1) / n
    times the sum of the squares of what this changes, for n networks with n - 1 degrees of
    freedom. For a mean of single networks this is :math:`s^2 / n`; for the average of their
    probabilities no simpler rule is known, and the jackknife's variance is rather too large. Only
    where a few networks differ wildly in their NLL is the interval too short.

    Args:
        forecasts: of one grid and protocol, as `calib_utils.records.load_forecasts` reads them.
        first: "single-at-T", "average-of-scaled", "average-at-T", "mirrored-at-T" or
            "smoothed-at-T", and then, of damaged images, such as ", severity 5": the mean over
            the kinds of damage. Of what is not an average of networks it is the mean over them.
        second: another one.
        metric: "error", "nll" or "ece".
        repeats: how many sets of test images are drawn, at least 100.
        seed: of the draws.

    Raises:
        ValueError: if there is no such metric or forecast, or what of it is needed was not kept.

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
    groups = {side.group: side.seeds for side in sides}
    parts, lost = [], 0.0
    for group, seeds in groups.items():
        changed = [
            sides[1].mean(metric, group, without) - sides[0].mean(metric, group, without)
            for without in seeds
        ]
        n = len(seeds)
        parts.append(float(np.var(changed)) * (n - 1) if n > 1 else float("nan"))
        lost += parts[-1] ** 2 / max(n - 1, 1)
    of_each = [side.sets(metric) for side in sides]
    drawn = resampled_gaps(of_each[0] + of_each[1], repeats, seed)
    parted = np.split(drawn, [len(of_each[0])], axis=1)
    of_images = float((parted[1].mean(axis=1) - parted[0].mean(axis=1)).std(ddof=1))
    variance = sum(parts) + of_images**2
    return RunDifference(
        sides[1].mean(metric) - sides[0].mean(metric),
        variance**0.5,
        variance**2 / lost if lost > 0 else float("inf"),
        of_seeds=sum(parts) ** 0.5,
        of_images=of_images,
    )


class _Side:
    """One side of a comparison: the forecasts that it is the mean of."""

    def __init__(self, forecasts: Sequence[Forecast], name: str, what: str) -> None:
        found = re.fullmatch(r"(?P<base>[\w-]+)(, severity (?P<severity>[1-5]))?", str(name))
        if not found or found["base"] not in _NAMED:
            raise ValueError(f"{what}: expected one of {', '.join(_NAMED)}, found {name!r}")
        networks, self.averaged, self.scaled = _NAMED[found["base"]]
        severity = int(found["severity"] or 0)
        self.name, self.what = name, what
        self.group = "smoothed" if networks == "smoothed" else "ordinary"
        own = [one for one in forecasts if (one.networks, one.severity) == (networks, severity)]
        self.seeds = sorted({seed for one in own for seed in one.members})
        self.corruptions = sorted({one.corruption for one in own})
        self.by_place = {(one.corruption, one.scaled, one.members): one for one in own}
        if not own:
            raise ValueError(f"{what}: there is no forecast {name!r} among the forecasts")

    def chosen(self, group: str = "", without: int | None = None) -> list[Forecast]:
        """The forecasts, of all networks or of all but one of a group."""
        seeds = tuple(s for s in self.seeds if (self.group, s) != (group, without))
        members = [seeds] if self.averaged else [(seed,) for seed in seeds]
        places = [
            (corruption, self.scaled if len(m) > 1 else "after", m)
            for corruption in self.corruptions
            for m in members
        ]
        if missing := [place for place in places if place not in self.by_place]:
            raise ValueError(
                f"{self.what}: {self.name!r} needs the seeds {missing[0][2]}, scaled "
                f"{missing[0][1]}, of {missing[0][0] or 'clean'} images, which are not there; make "
                "them with python -m calib_utils.experiments --forecasts"
            )
        return [self.by_place[place] for place in places]

    def mean(self, metric: str, group: str = "", without: int | None = None) -> float:
        """The metric, of all networks or of all but one of a group."""
        return float(np.mean([getattr(one, metric) for one in self.chosen(group, without)]))

    def sets(self, metric: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """What makes the metric a gap of bins; of error and NLL, of one bin."""
        sets = []
        for one in self.chosen():
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
