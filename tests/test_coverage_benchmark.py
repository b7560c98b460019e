"""The benchmark of coverage: its intervals against the plain ones, on rows."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import bootstrap

from calib_utils.metrics import expected_calibration_error, expected_calibration_interval

PATH = Path(__file__).parents[1] / "benchmarks/coverage.py"
SPEC = importlib.util.spec_from_file_location("coverage_benchmark", PATH)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)

CONFIDENCES = (np.arange(60) + 0.5) / 60
EXCESS = np.concatenate([CONFIDENCES, CONFIDENCES - 1])


def rows(n=400, error=0.15, seed=0):
    """Counts of cells, and the same as rows."""
    parts = np.full(60, 1 / 60)
    right = benchmark.chances_right(CONFIDENCES, parts, error)
    both = np.concatenate([parts * (1 - right), parts * right])
    counts = np.random.default_rng(seed).multinomial(n, both)
    return (
        counts,
        np.repeat(np.tile(CONFIDENCES, 2), counts),
        np.repeat(np.arange(120) > 59, counts),
    )


def test_the_truth_has_the_error():
    parts = benchmark.cells_of_record()
    right = benchmark.chances_right(CONFIDENCES, parts, 0.07)
    assert parts.sum() == pytest.approx(1)
    assert right.min() >= 0
    assert benchmark.errors_of(1e4 * np.r_[parts * (1 - right), parts * right], EXCESS) == (
        pytest.approx(0.07)
    )


def test_the_ece_of_counts_is_that_of_rows():
    counts, probs, right = rows()
    expected = expected_calibration_error(probs, right.astype(int))
    assert benchmark.errors_of(counts, EXCESS) == pytest.approx(expected)


def test_the_bootstraps_are_those_of_rows():
    counts, probs, right = rows()
    found = benchmark.bootstraps(counts, EXCESS, np.random.default_rng(0))
    low, high = expected_calibration_interval(probs, right.astype(int))
    assert found["percentile bootstrap"] == pytest.approx((low, high), abs=0.005)

    def ece(probs, right):
        return expected_calibration_error(probs, right.astype(int))

    for ours, method in (("basic bootstrap", "basic"), ("BCa bootstrap", "BCa")):
        theirs = bootstrap(
            *[(probs, right)],
            ece,
            paired=True,
            n_resamples=1_000,
            vectorized=False,
            method=method,
            rng=np.random.default_rng(1),
        ).confidence_interval
        assert tuple(found[ours]) == pytest.approx(tuple(theirs), abs=0.008)


def test_the_triangle_is_as_wide_as_the_noise_of_one_bin():
    counts = np.zeros(120, int)
    counts[[30, 90]] = 1_800, 1_200  # 3,000 of one confidence, two fifths right
    low, high = benchmark.triangle(counts, EXCESS, np.random.default_rng(0))
    assert (low + high) / 2 == pytest.approx(CONFIDENCES[30] - 0.4)
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(0.24 / 3_000), rel=0.1)


def test_measures_each_interval():
    found = benchmark.measure(300, 0.0, benchmark.cells_of_record(), 4)
    assert len({row["name"] for row in found}) == len(found) == 5
    assert all(0 <= row["coverage"] <= 1 and row["width"] > 0 for row in found)
    by_name = {row["name"]: row["coverage"] for row in found}
    assert by_name["calib_utils"] == by_name["triangle inequality"] == 1
    assert by_name["percentile bootstrap"] == 0
