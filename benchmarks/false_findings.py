"""How often groups of networks that do not differ are found to differ, and those that do.

    python -m benchmarks.false_findings       # about half an hour

makes up two groups of networks, compares them, and writes how often the p value is below 0.05 to
``benchmarks/results/false_findings.json``: for networks of one quality, where it should be once in
twenty at most, and for a second group that is worse. A photograph may be hard for all networks,
for those of a group, or for one: the three parts of a normal number, which must be low enough for
the answer to be right. The accuracy and the overconfidence of each network differ from those of the
others by its seed. Two runs that share a seed may be alike: they have a part of its effect and of
their luck with photographs in common, as two runs of one training have nearly all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm, t, ttest_rel

from benchmarks.measured import each, on_one_thread, shares, store
from calib_utils.comparing import RunDifference, compare
from calib_utils.metrics import expected_calibration_error
from calib_utils.records import ExperimentRecord

SEEDS, SPREADS, ALIKE, METRICS = (2, 3, 5), (0.0, 0.02, 0.06), (0.0, 0.9), ("error", "ece")
WORSE = 0.04  # of the second group, where there is something to find
IMAGES, SETS, REPEATS, SEED = 500, 1_000, 100, 0
ACCURACY, OVERCONFIDENCE = 0.4, 0.05
FOR_ALL, FOR_GROUP, FOR_ONE = 0.5, 0.2, 0.3  # the parts of what makes a photograph hard


def two_groups(
    seeds: int, spread: float, alike: float, n: int, rng: np.random.Generator, worse: float = 0.0
) -> list[list[ExperimentRecord]]:
    """Records of networks whose accuracies and overconfidences are drawn with that deviation.

    The two runs of a seed have the share ``alike`` of what the seed does to them in common. The
    second group is right less often by ``worse``, and as sure as if it were not.
    """
    for_all = rng.standard_normal(n)
    of_seed, luck = rng.standard_normal((seeds, 2)), rng.random((seeds, n))
    groups = []
    for group, less in (("first", 0.0), ("second", worse)):
        for_group = rng.standard_normal(n)
        runs = []
        for seed in range(seeds):
            effect = alike**0.5 * of_seed[seed] + (1 - alike) ** 0.5 * rng.standard_normal(2)
            accuracy, too_sure = (
                np.array([ACCURACY - less, OVERCONFIDENCE + less]) + spread * effect
            )
            ease = norm.ppf(np.clip(accuracy, 0.01, 0.99)) + (
                FOR_ALL**0.5 * for_all + FOR_GROUP**0.5 * for_group
            )
            chance = norm.cdf(ease / FOR_ONE**0.5)
            correct = np.where(rng.random(n) < alike, luck[seed], rng.random(n)) < chance
            confidences = np.clip(chance + too_sure, 0, 1).astype(np.float32)
            runs.append(record(group, seed, confidences, correct))
        groups.append(runs)
    return groups


def record(group: str, seed: int, confidences: np.ndarray, correct: np.ndarray) -> ExperimentRecord:
    # The probability of the positive class gives the same ECE as the confidence of the answer.
    ece = expected_calibration_error(confidences, correct.astype(int))
    fields: dict[str, Any] = {
        **{"grid": "drawn", "protocol": "drawn", "name": f"{group}.seed-{seed}", "seed": seed},
        **{"network": {"name": "drawn"}, "factor": "group", "value": group, "dataset": "drawn"},
        **{"training_images": 1, "recipe": {}, "history": [], "temperature": 1.0, "nll": 0.0},
        **{"confidences": confidences, "correct": correct, "error": 1 - correct.mean()},
        **{"ece": ece, "nll_scaled": 0.0, "ece_scaled": 0.0},
        **{"versions": {}, "hardware": "", "date": ""},
    }
    return ExperimentRecord(**fields)


def rejections(
    seeds: int,
    spread: float,
    alike: float,
    metric: str,
    *,
    sets: int,
    n: int = IMAGES,
    seed: int = SEED,
    worse: float = 0.0,
) -> dict[str, float]:
    """How often each way to compare finds a difference."""
    key = [seed, seeds, round(1e6 * spread), round(100 * alike), METRICS.index(metric)]
    rng = np.random.default_rng([*key, round(1e6 * worse)])
    found = []
    for _ in range(sets):
        groups = two_groups(seeds, spread, alike, n, rng, worse)
        paired = compare(groups[0], groups[1], metric, repeats=REPEATS)
        values = [np.array([getattr(run, metric) for run in runs]) for runs in groups]
        blocks = unpaired(values, paired.of_images)
        share = (paired.of_seeds / paired.standard_error) ** 4
        freedom = paired.freedom / share if share else np.inf
        together = abs(paired.mean) / paired.standard_error
        only_images = together * paired.standard_error / paired.of_images
        found.append(
            {
                "calib_utils": paired.p_value < 0.05,
                "as if not paired": blocks.p_value < 0.05,
                "one standard error, Satterthwaite": 2 * t.sf(together, freedom) < 0.05,
                "other seeds only": ttest_rel(*values).pvalue < 0.05,
                "other images only": only_images > norm.ppf(0.975),
            }
        )
    return shares(found)


def unpaired(values: list[np.ndarray], of_images: float) -> RunDifference:
    """The difference of two means, with Welch's degrees of freedom for the seeds."""
    parts = [float(x.var(ddof=1)) / len(x) for x in values]
    lost = sum(part**2 / (len(x) - 1) for part, x in zip(parts, values, strict=True))
    return RunDifference(
        float(values[1].mean() - values[0].mean()),
        (sum(parts) + of_images**2) ** 0.5,
        sum(parts) ** 2 / lost if lost else np.inf,
        of_seeds=sum(parts) ** 0.5,
        of_images=of_images,
    )


def main() -> None:
    about = {"sets": SETS, "images": IMAGES, "repeats": REPEATS, "seed": SEED, "worse": WORSE}
    about |= on_one_thread()
    rows = []
    for metric, alike, spread, seeds in each(METRICS, ALIKE, SPREADS, SEEDS):
        row: dict[str, Any] = {"metric": metric, "alike": alike, "spread": spread, "seeds": seeds}
        for which, worse in (("rates", 0.0), ("of_worse", WORSE)):
            row[which] = rejections(seeds, spread, alike, metric, sets=SETS, worse=worse)
        rows.append(row)
    store("false_findings", about | {"rows": rows})


if __name__ == "__main__":
    main()
