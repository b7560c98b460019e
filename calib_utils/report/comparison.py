"""Is a metric higher at one level of a factor than at another, or was it chance?

Chance comes in twice: another seed would have given other networks, and other test images
other numbers for the same networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calib_utils._numbers import check_count
from calib_utils.metrics.bins import mean_excess, uniform_index
from calib_utils.metrics.resampling import resampled_gaps
from calib_utils.records import ExperimentRecord
from calib_utils.records.grids import check_records
from calib_utils.records.names import METRICS
from calib_utils.report.pairs import Difference

__all__ = ["RunDifference", "compare"]

_FEWEST_DRAWS = 100
_ROUNDING = 1e-6  # of a stored number: confidences are float32
# What a record must have for each image, besides its first confidences.
_PER_IMAGE = {
    "nll": "losses",
    "nll_scaled": "losses_scaled",
    "ece_scaled": "confidences_scaled",
}


@dataclass(frozen=True)
class RunDifference(Difference):
    """How much higher a metric is in a second group of runs than in a first one.

    Attributes:
        mean: of the second group less that of the first.
        standard_error: of both sources together: the root of the sum of the squares of the two
            below; NaN if a group has fewer than two runs.
        freedom: the degrees of freedom of it.
        of_seeds: the part that other seeds have in the standard error; NaN as above.
        of_images: the part of other test images; NaN where the records lack what it takes, and
            the standard error is that of seeds alone.

    Example:
        >>> found = RunDifference(0.05, 0.013, 3.2, of_seeds=0.012, of_images=0.005)
        >>> found.p_value < 0.05
        True
    """

    of_seeds: float
    of_images: float


def check_repeats(repeats: int) -> None:
    """Raise a ValueError unless so many draws say how much chance there is."""
    if check_count(repeats, "repeats", "1000 is usual") < _FEWEST_DRAWS:
        raise ValueError(
            f"repeats: expected at least {_FEWEST_DRAWS}, found {repeats}; fewer draws do not "
            "show a spread"
        )


def compare(
    first: Iterable[ExperimentRecord],
    second: Iterable[ExperimentRecord],
    metric: str = "ece",
    *,
    repeats: int = 1000,
    seed: int = 0,
) -> RunDifference:
    """Compare the mean of a metric on the test images in two groups of runs.

    One interval and one p value join both sources of chance. The squared standard error is the
    sum of two: Welch's for seeds, :math:`s_1^2 / n_1 + s_2^2 / n_2` from the spread s of the n
    runs of each group, and that for images: sets of images are drawn with replacement, the same for
    all runs, and the difference is computed on each. Student's t has Satterthwaite's degrees of
    freedom; the images, so many of them, take none away.

    How luckily the images fall for one run alone is in both: it moves runs of a group apart, and
    it moves the difference. So it is counted twice, and the interval is rather too long than too
    short. Where nothing differs in truth, the p value falls below 0.05 about once in twenty if
    seeds matter most (with two seeds, 6.5 % were measured), and less often if images do; the page
    of benchmarks has the counts.

    A third source of chance, which part of the training images was used, is in neither if it is
    the same in all runs. And runs with the same seed in both groups count as independent.

    An ECE is compared as it shows on so many images: it is above the true one, most where that
    is small.

    Args:
        first: runs that differ in their seed only.
        second: the same, at another level of a factor.
        metric: "error", "ece" (15 bins) or "nll", or "ece_scaled" or "nll_scaled", at the
            temperature. Older records hold the answers to each image for the first two only; for
            the others the interval is then that for seeds, on these images.
        repeats: how many sets of test images are drawn, at least 100.
        seed: of the draws.

    Raises:
        ValueError: if there is no such metric or too few draws; a group is empty or its runs
            differ in more than their seed; a run stands twice; the runs have not all the same
            test images; or a stored number is not what the answers give.

    Source: Welch 1947, "The generalization of Student's problem"; Satterthwaite 1946, "An
    approximate distribution of estimates of variance components"; Efron and Tibshirani 1993,
    "An Introduction to the Bootstrap".

    Example:
        >>> from calib_utils.records import by_level, load_grid
        >>> levels = by_level(load_grid("width", "cpu"))
        >>> narrow, wide = levels["cifar_resnet", 2], levels["cifar_resnet", 32]
        >>> difference = compare(narrow, wide, "error", repeats=100)
        >>> difference.mean < 0, difference.p_value < 0.001
        (True, True)
    """
    if metric not in METRICS:
        raise ValueError(f"metric: expected one of {', '.join(METRICS)}, found {metric!r}")
    check_repeats(repeats)
    groups = _checked_group(first, "first"), _checked_group(second, "second")
    _check_together([*groups[0], *groups[1]])
    values = [np.array([getattr(record, metric) for record in runs]) for runs in groups]
    mean = float(values[1].mean() - values[0].mean())
    if min(map(len, groups)) < 2:
        nan = float("nan")
        return RunDifference(mean, nan, nan, of_seeds=nan, of_images=nan)
    parts = [float(x.var(ddof=1)) / len(x) for x in values]
    of_images = _spread_over_images(*groups, metric, repeats, seed)
    variance = sum(parts) + float(np.nan_to_num(of_images)) ** 2
    lost = sum(part**2 / (len(x) - 1) for part, x in zip(parts, values, strict=True))
    return RunDifference(
        mean,
        variance**0.5 if variance > 0 else float("nan"),
        variance**2 / lost if lost > 0 else float("inf"),
        of_seeds=sum(parts) ** 0.5,
        of_images=of_images,
    )


def _spread_over_images(
    first: Sequence[ExperimentRecord],
    second: Sequence[ExperimentRecord],
    metric: str,
    repeats: int,
    seed: int,
) -> float:
    """The standard deviation of the difference over drawn sets of test images."""
    per_image = _PER_IMAGE.get(metric)
    if per_image and any(getattr(run, per_image) is None for run in (*first, *second)):
        return float("nan")  # an older record has no number for each image
    sets = [_bins_and_excess(record, metric) for record in (*first, *second)]
    drawn = resampled_gaps(sets, repeats, seed)
    differences = drawn[:, len(first) :].mean(axis=1) - drawn[:, : len(first)].mean(axis=1)
    return float(differences.std(ddof=1))


def _bins_and_excess(record: ExperimentRecord, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """What makes the metric a gap of bins; of error and NLL, one bin, between the loss and 0."""
    one_bin = np.zeros(len(record.correct), np.int64)
    if metric == "error":
        return one_bin, 1.0 - record.correct
    if metric in ("nll", "nll_scaled"):
        return one_bin, getattr(record, _PER_IMAGE[metric]).astype(np.float64)
    scaled = metric == "ece_scaled"
    stored = record.confidences_scaled if scaled else record.confidences
    confidences = np.asarray(stored, np.float32)
    excess = confidences.astype(np.float64) - record.correct
    return uniform_index(confidences, 15, "float16" if scaled else "float32"), excess


def _checked_group(records: Iterable[ExperimentRecord], name: str) -> list[ExperimentRecord]:
    runs = check_records(records, name)
    if not runs:
        raise ValueError(f"{name}: expected at least one run, found none")
    made = [(run.network, run.value, run.training_images, run.recipe) for run in runs]
    for run, settings in zip(runs, made, strict=True):
        if settings != made[0]:
            raise ValueError(
                f"{name}: expected runs that differ in their seed only, found {runs[0].name} and "
                f"{run.name}, which were trained otherwise; by_level puts runs into groups"
            )
    seeds = [run.seed for run in runs]
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            f"{name}: expected runs with different seeds, found the seeds {seeds}; one seed twice "
            "is one training"
        )
    return runs


def _check_together(runs: Sequence[ExperimentRecord]) -> None:
    """That the runs can be paired by their test images, and are what they say they are."""
    seen: dict[bytes, str] = {}
    for run in runs:
        if (run.dataset, len(run.correct)) != (runs[0].dataset, len(runs[0].correct)):
            raise ValueError(
                f"second: expected the same test images in all runs, found "
                f"{len(runs[0].correct)} of {runs[0].dataset} in {runs[0].name}, "
                f"{len(run.correct)} of {run.dataset} in {run.name}"
            )
        answers = run.confidences.tobytes() + run.correct.tobytes()
        if answers in seen:
            raise ValueError(
                f"second: expected different runs, found the same answers in {seen[answers]} and "
                f"{run.name}; one training counts once"
            )
        seen[answers] = run.name
        for metric in ("error", "ece"):
            bins, excess = _bins_and_excess(run, metric)
            given, stored = (
                mean_excess(np.bincount(bins, excess), len(excess)),
                getattr(run, metric),
            )
            if not abs(given - stored) < _ROUNDING:
                raise ValueError(
                    f"{run.name}: its record says {metric} {stored:.6g}, its answers give "
                    f"{given:.6g}; the record is not of these answers"
                )
