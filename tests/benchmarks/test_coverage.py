"""The benchmark of coverage: its intervals against the plain ones, on rows."""

import inspect

import numpy as np
import pytest
from scipy.stats import bootstrap

from benchmarks import coverage as benchmark
from calib_utils.metrics import (
    debiased_calibration_error,
    expected_calibration_error,
    smooth_calibration_error,
)
from calib_utils.predictions import as_predictions

# SciPy before 1.15 calls it otherwise.
RNG = "rng" if "rng" in inspect.signature(bootstrap).parameters else "random_state"


def drawn(n, seed=0):
    """Counts of cells, and the same as rows."""
    right = benchmark.chances_right(benchmark.CONFIDENCES, 0.15)
    counts = np.random.default_rng(seed).multinomial(n, np.concatenate([1 - right, right]) / 60)
    return counts, *benchmark.samples_of(counts)


def test_the_ece_of_counts_is_that_of_rows():
    counts, probs, right = drawn(400)
    assert benchmark.errors_of(counts) == pytest.approx(expected_calibration_error(probs, right))


def test_a_large_sample_has_the_error_and_the_root_mean_square():
    chances = benchmark.chances_of_counts(0.07)
    assert benchmark.errors_of(chances) == pytest.approx(0.07)
    samples = benchmark.samples_of(np.round(1e6 * chances).astype(int))
    gaps, masses = (benchmark.in_bins(chances * of) for of in (benchmark.EXCESS, 1))
    found = benchmark.root_mean_square(gaps, masses)
    assert found == pytest.approx(debiased_calibration_error(*samples), abs=5e-4)
    assert found > 0.07


def test_the_bootstraps_are_those_of_rows():
    counts, *rows = drawn(400)
    found = benchmark.bootstraps(counts, np.random.default_rng(0))
    given = {"paired": True, "n_resamples": 1_000, "vectorized": False}

    def ece(probs, right):  # SciPy draws floats
        return expected_calibration_error(probs, right.astype(int))

    for method in ("percentile", "basic", "BCa"):
        given |= {"method": method, RNG: np.random.default_rng(1)}
        theirs = bootstrap(rows, ece, **given).confidence_interval
        assert tuple(found[f"{method} bootstrap"]) == pytest.approx(tuple(theirs), abs=0.008)


def test_the_triangle_is_as_wide_as_the_noise_of_one_bin():
    counts = np.zeros(120, int)
    counts[[30, 90]] = 1_800, 1_200  # 3,000 of one confidence, two fifths right
    low, high = benchmark.triangle(counts, np.random.default_rng(0))
    assert (low + high) / 2 == pytest.approx(benchmark.CONFIDENCES[30] - 0.4)
    assert (high - low) / 2 == pytest.approx(1.96 * np.sqrt(0.24 / 3_000), rel=0.1)


def test_the_normal_interval_is_around_the_debiased_square():
    squares, reaches = [], []
    for seed in range(300):
        counts, *rows = drawn(2_000, seed=seed)
        squares.append(debiased_calibration_error(*rows) ** 2)
        low, high = benchmark.normal_root(counts)
        assert (low**2 + high**2) / 2 == pytest.approx(squares[-1], abs=1e-12)
        reaches.append((high**2 - low**2) / 2)
    assert np.mean(reaches) == pytest.approx(1.96 * np.std(squares), rel=0.15)


def test_all_errors_of_the_libraries_are_the_one_that_is_set():
    """In bins of equal mass, and smoothed: all gaps have one sign."""
    everyone = benchmark.confidences_of_record()
    right = benchmark.chances_right(everyone, 0.02)
    probs, labels = np.tile(everyone, 2), np.repeat([0, 1], len(everyone))
    weights = np.concatenate([1 - right, right])
    given = as_predictions(probs, labels, sample_weight=weights)
    binned = expected_calibration_error(given, strategy="quantile")
    assert binned == pytest.approx(0.02, abs=1e-6)
    assert smooth_calibration_error(given) == pytest.approx(0.02, abs=1e-6)


def test_the_weighted_error_is_that_of_rows():
    counts, probs, right = drawn(500)
    weights = np.tile(benchmark.mean_weights(benchmark.CONFIDENCES), 2)
    given = as_predictions(probs, right, sample_weight=benchmark.mean_weights(probs))
    expected = expected_calibration_error(given)
    assert benchmark.errors_of(counts * weights) == pytest.approx(expected)
    found = benchmark.of_weighted(counts, np.random.default_rng(0))
    (low, high), (low_of_all, high_of_all), (_, drawn_high) = found.values()
    assert low < expected < high
    assert low_of_all < 0.15 < high_of_all
    assert high - low > high_of_all - low_of_all
    assert expected < drawn_high


@pytest.mark.parametrize("shape", benchmark.HOSTILE)
def test_the_hostile_shapes_have_their_error(shape):
    everyone, gaps = benchmark.hostile_shape(shape)
    edges = np.arange(1, benchmark.HOSTILE[shape]) / benchmark.HOSTILE[shape]
    index = np.searchsorted(edges, everyone, side="left")
    error = np.abs(np.bincount(index, 0.005 * gaps)).sum() / len(everyone)
    assert error == pytest.approx(0.005)
    assert ((everyone - 0.005 * gaps >= 0) & (everyone - 0.005 * gaps <= 1)).all()
    of_bins = np.bincount(index, gaps)
    if shape == "alternating":
        assert (np.sign(of_bins[1:-1]) == -np.sign(of_bins[2:])).all()
    if shape == "one bin":
        assert (np.abs(of_bins) > 1e-9).sum() == 1
    if shape == "99 % correct":
        assert everyone.mean() == pytest.approx(0.99, abs=0.001)


def test_an_oracle_finds_the_size_of_what_it_knows():
    """Of a normal number of unit variance around the error, cut at 0."""
    errors = np.linspace(0, 10, 101)
    quantiles = np.array([errors - 1.96, errors + 1.96])
    found = benchmark.oracle_ends(np.array([1.0, 5.0]), errors, quantiles)
    assert found == pytest.approx(np.array([[0, 2.96], [3.04, 6.96]]))
