"""Interval, baseline, smooth error and diagram beside what a user would take instead, in one run.

Two packages more than the course has are measured where they are installed:
``pip install relplot==1.0.3 uncertainty-calibration==0.1.4``. Then

    python -m benchmarks.uncertainty       # some minutes

writes what it finds to ``benchmarks/results/uncertainty.json``. All runs on one thread; times are
medians of CPU time, in rounds in which each contender has its turn. The predictions are binary and
calibrated, so the true error is 0.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import bootstrap
from sklearn.calibration import CalibrationDisplay

from benchmarks.measured import on_one_thread, store, timed
from calib_utils.metrics import (
    baseline_calibration_error,
    calibration_error_interval,
    debiased_calibration_error_interval,
    smooth_calibration_error,
)
from calib_utils.plots import reliability_diagram

BINS, DRAWS, SAMPLES, MANY = 15, 1_000, 10_000, 1_000_000

Contenders = dict[str, Callable[[], Any]]


def predictions(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities of the positive class, most of them high; and labels."""
    rng = np.random.default_rng(0)
    probs = rng.beta(3, 1, n)
    return probs, (rng.random(n) < probs).astype(int)


def plain_ece(probs: np.ndarray, labels: np.ndarray) -> float:
    """The ECE as one writes it in NumPy."""
    index = np.clip(np.ceil(BINS * probs).astype(int) - 1, 0, BINS - 1)
    return float(np.abs(np.bincount(index, probs - labels)).sum() / len(probs))


def loop_of_rows(probs: np.ndarray, labels: np.ndarray, draws: int) -> np.ndarray:
    """The middle 95 % of the errors of rows drawn with replacement."""
    rng, n = np.random.default_rng(0), len(probs)
    errors = []
    for _ in range(draws):
        rows = rng.integers(n, size=n)
        errors.append(plain_ece(probs[rows], labels[rows]))
    return np.quantile(errors, [0.025, 0.975])


def loop_of_labels(probs: np.ndarray, draws: int) -> tuple[float, float]:
    """The mean and the 95 % point of the errors of drawn labels."""
    rng = np.random.default_rng(0)
    errors = [plain_ece(probs, rng.random(len(probs)) < probs) for _ in range(draws)]
    return float(np.mean(errors)), float(np.quantile(errors, 0.95))


def of_interval(probs: np.ndarray, labels: np.ndarray, draws: int) -> Contenders:
    scipys = {"n_resamples": draws, "paired": True, "vectorized": False, "method": "percentile"}
    contenders: Contenders = {
        "calib_utils, an interval that covers": lambda: calibration_error_interval(probs, labels),
        "calib_utils, of the debiased error": lambda: debiased_calibration_error_interval(
            probs, labels
        ),
        "NumPy loop, percentile bootstrap": lambda: loop_of_rows(probs, labels, draws),
        "scipy.stats.bootstrap, percentile": lambda: (
            bootstrap((probs, labels), plain_ece, **scipys).confidence_interval
        ),
    }
    with suppress(ImportError):
        import calibration  # uncertainty-calibration's

        contenders["uncertainty-calibration, basic bootstrap of 100"] = lambda: (
            calibration.get_calibration_error_uncertainties(probs, labels, p=1, alpha=5)[::2]
        )  # alpha in per cent
    return contenders


def of_baseline(probs: np.ndarray, draws: int) -> Contenders:
    return {
        "calib_utils": lambda: baseline_calibration_error(probs, draws=draws),
        "NumPy loop": lambda: loop_of_labels(probs, draws),
    }


def of_smooth(probs: np.ndarray, labels: np.ndarray) -> Contenders:
    contenders: Contenders = {"calib_utils": lambda: smooth_calibration_error(probs, labels)}
    with suppress(ImportError):
        import relplot

        contenders["relplot"] = lambda: relplot.smECE(probs, labels.astype(float))
    return contenders


def of_large(probs: np.ndarray, labels: np.ndarray) -> Contenders:
    return {
        "calib_utils, an interval that covers": lambda: calibration_error_interval(probs, labels),
        "calib_utils, the baseline": lambda: baseline_calibration_error(probs),
    }


def of_diagram(probs: np.ndarray, labels: np.ndarray) -> Contenders:
    """Reliability diagrams from the call to the bytes of a PNG; that of scikit-learn has no ECE."""

    def png(figure: Any) -> None:
        figure.savefig(io.BytesIO(), format="png")
        plt.close(figure)

    def ours(counts: bool = True) -> float:
        drawn = reliability_diagram(probs, labels, n_bins=BINS, counts=counts)
        png(drawn.ax.figure)
        return drawn.ece

    def theirs() -> tuple[()]:
        png(CalibrationDisplay.from_predictions(labels, probs, n_bins=BINS).figure_)
        return ()

    def with_histogram() -> tuple[()]:
        figure, (above, below) = plt.subplots(2, height_ratios=[3, 1])
        CalibrationDisplay.from_predictions(labels, probs, n_bins=BINS, ax=above)
        below.hist(probs, BINS, range=(0, 1))
        png(figure)
        return ()

    return {
        "calib_utils, with the number of samples in each bin": ours,
        "calib_utils, without these numbers": lambda: ours(counts=False),
        "scikit-learn's CalibrationDisplay, and a histogram below it": with_histogram,
        "scikit-learn's CalibrationDisplay alone": theirs,
    }


def measure_all(samples: int, many: int, draws: int, rounds: int) -> dict[str, list[dict]]:
    """Time and result of each contender; the first is what times are compared with."""
    probs, labels = predictions(samples)
    of_draws = f"{draws:,} draws, {samples:,} predictions"
    sections = {
        f"A 95 % interval: {of_draws}": of_interval(probs, labels, draws),
        f"The baseline, mean and 95 % point: {of_draws}": of_baseline(probs, draws),
        f"The smooth error: {many:,} predictions": of_smooth(*predictions(many)),
        f"Interval and baseline: {10 * many:,} predictions": of_large(*predictions(10 * many)),
        f"A reliability diagram as PNG: {samples:,} predictions": of_diagram(probs, labels),
    }
    return {title: timed(contenders, rounds) for title, contenders in sections.items()}


def main() -> None:
    about = {"bins": BINS} | on_one_thread("scipy", "relplot", "uncertainty-calibration")
    tables = measure_all(SAMPLES, MANY, DRAWS, rounds=5)
    store("uncertainty", {"facts": about, "tables": tables})


if __name__ == "__main__":
    main()
