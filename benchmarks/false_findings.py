"""How often groups of networks that do not differ are found to differ, in one run.

    python -m benchmarks.false_findings       # about ten minutes

makes up two groups of networks of the same quality, compares them, and writes to
``benchmarks/results/false_findings.json`` how often the p value is below 0.05. It should be once
in twenty. A photograph may be hard for all networks, for those of a group, or for one: the three
parts of a normal number, which must be low enough for the answer to be right. The accuracy and the
overconfidence of each network differ from those of the others by its seed.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import datetime
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, ttest_ind

from calib_utils.metrics import expected_calibration_error
from calib_utils.records import ExperimentRecord
from calib_utils.report import compare
from calib_utils.training.devices import processor_name
from tools.sources.atomic import write_text

RESULTS = Path(__file__).parent / "results" / "false_findings.json"
SEEDS, SPREADS, METRICS = (2, 3, 4, 5), (0.0, 0.02, 0.06), ("error", "ece")
IMAGES, SETS, REPEATS, SEED = 500, 1_000, 100, 0
ACCURACY, OVERCONFIDENCE = 0.4, 0.05
FOR_ALL, FOR_GROUP, FOR_ONE = 0.5, 0.2, 0.3  # the parts of what makes a photograph hard


def two_groups(
    seeds: int, spread: float, n: int, rng: np.random.Generator
) -> list[list[ExperimentRecord]]:
    """Records of networks whose accuracies and overconfidences are drawn with that deviation."""
    for_all = rng.standard_normal(n)
    groups = []
    for group in ("first", "second"):
        for_group = rng.standard_normal(n)
        runs = []
        for seed in range(seeds):
            accuracy, too_sure = rng.normal([ACCURACY, OVERCONFIDENCE], spread)
            ease = norm.ppf(np.clip(accuracy, 0.01, 0.99)) + (
                FOR_ALL**0.5 * for_all + FOR_GROUP**0.5 * for_group
            )
            chance = norm.cdf(ease / FOR_ONE**0.5)
            correct = rng.random(n) < chance
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
    seeds: int, spread: float, metric: str, *, sets: int, n: int = IMAGES, seed: int = SEED
) -> dict[str, float]:
    """How often each way to compare finds a difference between groups that have none."""
    rng = np.random.default_rng([seed, seeds, round(1e6 * spread), METRICS.index(metric)])
    found: dict[str, list[bool]] = {}
    for _ in range(sets):
        first, second = two_groups(seeds, spread, n, rng)
        joint = compare(first, second, metric, repeats=REPEATS)
        values = [[getattr(run, metric) for run in runs] for runs in (first, second)]
        for_seeds = bool(ttest_ind(*values, equal_var=False).pvalue < 0.05)
        for_images = bool(abs(joint.mean) > norm.ppf(0.975) * joint.of_images)
        for name, rejected in (
            ("calib_utils", joint.p_value < 0.05),
            ("other seeds only", for_seeds),
            ("other images only", for_images),
            ("each of the two", for_seeds and for_images),
        ):
            found.setdefault(name, []).append(rejected)
    return {name: float(np.mean(rejected)) for name, rejected in found.items()}


def main() -> None:
    rows = []
    for metric in METRICS:
        for spread in SPREADS:
            for seeds in SEEDS:
                rates = rejections(seeds, spread, metric, sets=SETS)
                rows.append({"metric": metric, "spread": spread, "seeds": seeds, "rates": rates})
                print(json.dumps(rows[-1]), flush=True)
    results = {
        **{"sets": SETS, "images": IMAGES, "repeats": REPEATS, "seed": SEED},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "threads": 1,
        "cpu": processor_name(),
        "versions": {"python": platform.python_version(), "numpy": version("numpy")},
        "rows": rows,
    }
    write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
