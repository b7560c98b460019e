"""Is a metric higher at one level of a factor than at another, or was it chance?

There are two sources of randomness: another seed would have given different networks, and
different test images would have given different numbers for the same networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from calib_utils.comparing.pairs import Difference
from calib_utils.comparing.seeds import Spread
from calib_utils.metrics.bins import mean_excess, uniform_index
from calib_utils.metrics.intervals import resampled_gaps
from calib_utils.predictions.checks import check_count
from calib_utils.records import ExperimentRecord
from calib_utils.records.grids import check_records
from calib_utils.records.names import METRICS

_FEWEST_DRAWS = 100
_ROUNDING = 1e-6  # of a stored number, because confidences are float32
_LEAST = -100.0  # the logarithm of the smallest p value that is distinguished from 0
# The array of each metric that a record must have besides its first confidences.
_PER_IMAGE = {
    "nll": "losses",
    "nll_scaled": "losses_scaled",
    "ece_scaled": "confidences_scaled",
}


@dataclass(frozen=True)
class RunDifference(Difference):
    """How much higher a metric is in a second group of runs than in a first one.

    Each source of randomness has an interval of its own, and the squared half-width of the joint
    interval is the sum of their squares. If each spread is estimated from the runs compared, such
    an interval is not too short, however much larger one source is than the others (Banerjee 1960).
    A single standard error with Satterthwaite's degrees of freedom would be too short, above all at
    the small p values that a correction for multiple comparisons requires.

    Attributes:
        mean: of the second group minus that of the first, over paired runs if there are pairs.
        standard_error: of both sources together, the root of the sum of the squares of the two
            below; NaN if there are fewer than two pairs, or two runs in a group.
        freedom: the degrees of freedom of the part of seeds, or the fewest of its ``parts``.
        of_seeds: the part of the standard error that is due to seeds; NaN as above.
        of_images: the part that is due to the test images; NaN if the records lack the numbers of
            each image, and the standard error is then that of seeds alone.
        parts: where the part of seeds has several sources of its own, such as two groups that are
            not paired, the standard error and the degrees of freedom of each; empty otherwise.

    Source: Banerjee 1960, "Approximate confidence interval for linear functions of means of k
    populations when the population variances are not equal".

    Example:
        >>> found = RunDifference(0.05, 0.013, 2, of_seeds=0.012, of_images=0.005)
        >>> low, high = found.interval()
        >>> round(low, 4), round(high, 4), found.p_value > 0.05
        (-0.0026, 0.1026, True)
    """

    of_seeds: float
    of_images: float
    parts: tuple[tuple[float, float], ...] = ()

    def _half_width(self, p: float) -> float:
        over_seeds = self.parts or ((self.of_seeds, self.freedom),)
        halves = [stdtrit(freedom, p / 2) * error for error, freedom in over_seeds]
        return float(np.hypot.reduce([*halves, ndtri(p / 2) * np.nan_to_num(self.of_images)]))

    @property
    def p_value(self) -> float:
        """The probability of a difference at least as large, in either direction, if the true one
        is 0, or an upper bound of it.

        0 to 1; NaN without a standard error. The interval of level 1 - p ends at 0.
        """
        if not self.standard_error > 0 or self.mean == 0:
            return super().p_value
        from scipy.optimize import brentq

        def too_wide(log_p: float) -> float:
            return self._half_width(float(np.exp(log_p))) - abs(self.mean)

        return float(np.exp(brentq(too_wide, _LEAST, 0))) if too_wide(_LEAST) > 0 else 0.0


def check_repeats(repeats: int) -> None:
    """Raise a ValueError unless there are enough draws to estimate the noise."""
    if check_count(repeats, "repeats", "1000 is usual") < _FEWEST_DRAWS:
        raise ValueError(
            f"repeats: expected at least {_FEWEST_DRAWS}, found {repeats}; fewer draws do not "
            "estimate a standard deviation"
        )


def compare(
    first: Iterable[ExperimentRecord],
    second: Iterable[ExperimentRecord],
    metric: str = "ece",
    *,
    spread: Spread | None = None,
    repeats: int = 1000,
    seed: int = 0,
) -> RunDifference:
    """Compare the mean of a metric on the test images in two groups of runs.

    Runs that share a seed see the images in the same order, and start from the same weights as far
    as their first layers agree; some are even the same training, with weights from a different
    epoch. Such runs are compared in pairs, seed by seed, and runs without a partner are left out,
    because the effect of a seed on both runs cancels in the difference. Groups without a common
    seed are compared as independent, each with the spread of its own runs.

    One interval and one p value combine two sources of randomness, as in `RunDifference`. For
    seeds, the squared standard error is :math:`s^2 / n` with the standard deviation s of the n
    paired differences, and Student's t has n - 1 degrees of freedom; without pairs, each group has
    an interval of this kind. For images, bootstrap samples of them are drawn, the same for all
    runs, and the standard deviation of the difference over these samples is used with a normal
    distribution.

    The seeds are assumed to be independent, and the paired differences (or the runs of a group) to
    be normal. Nothing is assumed about the correlation of the two runs of a pair. Some noise of the
    images is in both parts, so the interval tends to be too long rather than too short; the page of
    benchmarks counts how often a difference is found although there is none.

    A third source of randomness, the choice of the training images, is not included if all runs
    used the same ones.

    An ECE is compared as measured on this number of images, where it is biased upwards, most of all
    if the true one is small.

    A setting may change nothing, such as early stopping where the last epoch is the best one. Where
    all pairs have the same predictions, the difference is 0 with a standard error of 0.

    Args:
        first: runs that differ only in their seed.
        second: the same, at a different level of a factor.
        metric: "error", "ece" (15 bins) or "nll", or "ece_scaled" or "nll_scaled", after
            temperature scaling. Older records have the predictions for each image only for the
            first two; for the others the interval is then that for seeds, on these images.
        spread: of the metric over seeds, from `pooled_spread`, where the two groups alone have too
            few runs to estimate it; only for groups with a common seed.
        repeats: the number of bootstrap samples of the test images, at least 100.
        seed: of the draws.

    Raises:
        ValueError: if there is no such metric or too few draws; a group is empty or its runs
            differ in more than their seed; a run occurs twice; the runs have different test
            images; a spread is given for groups without a common seed; or a stored number does
            not follow from the predictions.

    Source: Student 1908, "The probable error of a mean"; Banerjee 1960, as in `RunDifference`;
    Efron and Tibshirani 1993, "An Introduction to the Bootstrap".

    Example:
        >>> from calib_utils.records import by_level, load_grid
        >>> levels = by_level(load_grid("width", "core"))
        >>> narrow, wide = levels[12], levels[48]
        >>> difference = compare(narrow, wide, "error", repeats=100)
        >>> low, high = difference.interval()
        >>> low < difference.mean < high
        True
    """
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, found {metric!r}")
    check_repeats(repeats)
    groups = checked_groups(first, second)
    values = [np.array([getattr(record, metric) for record in runs]) for runs in groups]
    mean = float(values[1].mean() - values[0].mean())
    same = [_predictions(run) for run in groups[0]] == [_predictions(run) for run in groups[1]]
    if same and (values[0] == values[1]).all():
        return RunDifference(0.0, 0.0, float("inf"), of_seeds=0.0, of_images=0.0)
    if spread is not None:
        check_common_seed(groups, "spread")
        of_seeds = [part_of_seeds(groups, spread)]
    elif min(map(len, groups)) < 2:
        nan = float("nan")
        return RunDifference(mean, nan, nan, of_seeds=nan, of_images=nan)
    else:
        samples = [values[1] - values[0]] if _paired(groups) else values
        of_seeds = [(float(x.var(ddof=1)) / len(x), len(x) - 1) for x in samples]
    (drawn,) = drawn_differences(*groups, [metric], repeats, seed)
    return joined(mean, of_seeds, float(drawn.std(ddof=1)))


def check_common_seed(groups: Sequence[Sequence[ExperimentRecord]], name: str) -> None:
    """A pooled spread leaves out what a seed does to all trainings: that cancels only in pairs."""
    if not _paired(groups):
        raise ValueError(
            f"{name}: expected groups with a common seed, found the seeds {_seeds(groups[0])} and "
            f"{_seeds(groups[1])}; a pooled spread is that of pairs, so compare runs of equal seeds"
        )


def part_of_seeds(
    groups: Sequence[Sequence[ExperimentRecord]], spread: Spread
) -> tuple[float, int]:
    """The variance of a difference of means over pairs, and its degrees of freedom."""
    return spread.variance * sum(1 / len(runs) for runs in groups), spread.freedom


def joined(mean: float, over_seeds: Sequence[tuple[float, int]], of_images: float) -> RunDifference:
    """A difference, its variances over seeds with the degrees of freedom, and that over images."""
    parts = tuple((part**0.5, freedom) for part, freedom in over_seeds if part > 0)
    of_seeds = sum(part for part, _ in over_seeds)
    variance = of_seeds + float(np.nan_to_num(of_images)) ** 2
    return RunDifference(
        mean,
        variance**0.5 if variance > 0 else float("nan"),
        min((freedom for _, freedom in parts), default=float("inf")),
        of_seeds=of_seeds**0.5,
        of_images=of_images,
        parts=parts if len(parts) > 1 else (),
    )


def _predictions(run: ExperimentRecord) -> tuple[bytes, bytes]:
    return run.confidences.tobytes(), run.correct.tobytes()


def _seeds(runs: Sequence[ExperimentRecord]) -> list[int]:
    return [run.seed for run in runs]


def _paired(groups: Sequence[Sequence[ExperimentRecord]]) -> bool:
    return _seeds(groups[0]) == _seeds(groups[1])


def _in_pairs(
    first: list[ExperimentRecord], second: list[ExperimentRecord]
) -> tuple[list[ExperimentRecord], list[ExperimentRecord]]:
    """The runs whose seed is in both groups, in one order; all runs if there is no such seed."""
    if not (shared := set(_seeds(first)) & set(_seeds(second))):
        return first, second

    def chosen(runs: list[ExperimentRecord]) -> list[ExperimentRecord]:
        return sorted((run for run in runs if run.seed in shared), key=lambda run: run.seed)

    return chosen(first), chosen(second)


def drawn_differences(
    first: Sequence[ExperimentRecord],
    second: Sequence[ExperimentRecord],
    metrics: Sequence[str],
    repeats: int,
    seed: int,
) -> np.ndarray:
    """The difference of each metric on each bootstrap sample of the test images (metrics, repeats).

    NaN if an older record lacks the numbers of each image.
    """
    runs = [*first, *second]
    needed = [_PER_IMAGE[metric] for metric in metrics if metric in _PER_IMAGE]
    if any(getattr(run, name) is None for run in runs for name in needed):
        return np.full((len(metrics), repeats), np.nan)
    sets = [_bins_and_excess(run, metric) for metric in metrics for run in runs]
    drawn = resampled_gaps(sets, repeats, seed).T.reshape(len(metrics), len(runs), repeats)
    return drawn[:, len(first) :].mean(axis=1) - drawn[:, : len(first)].mean(axis=1)


def _bins_and_excess(record: ExperimentRecord, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """The bins and gaps that give the metric; error and NLL have one bin, with the loss as gap."""
    one_bin = np.zeros(len(record.correct), np.int64)
    if metric == "error":
        return one_bin, 1.0 - record.correct
    if metric == "overconfidence":  # plus 1, since the gap of a bin has no sign
        return one_bin, 1.0 + np.asarray(record.confidences, np.float64) - record.correct
    if metric in ("nll", "nll_scaled"):
        return one_bin, getattr(record, _PER_IMAGE[metric]).astype(np.float64)
    scaled = metric == "ece_scaled"
    stored = record.confidences_scaled if scaled else record.confidences
    confidences = np.asarray(stored, np.float32)
    excess = confidences.astype(np.float64) - record.correct
    return uniform_index(confidences, 15, "float16" if scaled else "float32"), excess


def checked_groups(
    first: Iterable[ExperimentRecord], second: Iterable[ExperimentRecord]
) -> tuple[list[ExperimentRecord], list[ExperimentRecord]]:
    groups = _in_pairs(_checked_group(first, "first"), _checked_group(second, "second"))
    _check_together([*groups[0], *groups[1]])
    return groups


def _checked_group(records: Iterable[ExperimentRecord], name: str) -> list[ExperimentRecord]:
    runs = check_records(records, name)
    if not runs:
        raise ValueError(f"{name}: expected at least one run, found none")
    made = [(run.network, run.value, run.training_images, run.recipe) for run in runs]
    for run, settings in zip(runs, made, strict=True):
        if settings != made[0]:
            raise ValueError(
                f"{name}: expected runs that differ only in their seed, found {runs[0].name} and "
                f"{run.name}, which were trained differently; by_level puts runs into groups"
            )
    seeds = _seeds(runs)
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            f"{name}: expected runs with different seeds, found the seeds {seeds}; give each "
            "training once"
        )
    return runs


def _check_together(runs: Sequence[ExperimentRecord]) -> None:
    """Check that the runs can be paired by their test images, and agree with their records."""
    seen: dict[tuple[bytes, bytes], ExperimentRecord] = {}
    for run in runs:
        if (run.dataset, len(run.correct)) != (runs[0].dataset, len(runs[0].correct)):
            raise ValueError(
                f"second: expected the same test images in all runs, found "
                f"{len(runs[0].correct)} of {runs[0].dataset} in {runs[0].name}, "
                f"{len(run.correct)} of {run.dataset} in {run.name}"
            )
        predictions = _predictions(run)
        twin = seen.get(predictions)
        if twin is not None and not (twin.seed == run.seed and twin.recipe != run.recipe):
            raise ValueError(
                f"second: expected different runs, found the same predictions in {twin.name} "
                f"and {run.name}; give each training once"
            )
        seen[predictions] = run
        for metric in ("error", "ece"):
            bins, excess = _bins_and_excess(run, metric)
            given, stored = (
                mean_excess(np.bincount(bins, excess), len(excess)),
                getattr(run, metric),
            )
            if not abs(given - stored) < _ROUNDING:
                raise ValueError(
                    f"{run.name}: its record has {metric} {stored:.6g}, its predictions give "
                    f"{given:.6g}; the record is not of these predictions"
                )
