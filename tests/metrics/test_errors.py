"""Errors of bins, against formulas written out in float64."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from calib_utils import metrics
from calib_utils.metrics import (
    adaptive_calibration_error,
    classwise_calibration_error,
    debiased_calibration_error,
    reliability_bins,
)
from calib_utils.metrics.errors import debiased_squared_error
from calib_utils.predictions import as_predictions
from calib_utils.predictions.gate import taken
from tests.metrics.metric_cases import BIN_COUNTS, DTYPES, draw, n_bins_drawn, predictions


def squares_written_out(confidences, labels, edges):
    """(debiased, plain) mean square of the gaps of bins with two samples or more."""
    debiased, plain, n = 0.0, 0.0, 0
    for low, high in itertools.pairwise(edges):
        inside = (low < confidences) & (confidences <= high)
        if inside.sum() > 1:
            gaps = (confidences - labels)[inside]
            plain += len(gaps) * gaps.mean() ** 2
            debiased += len(gaps) * (gaps.mean() ** 2 - gaps.var(ddof=1) / len(gaps))
            n += len(gaps)
    return debiased / n, plain / n


def forecasts(n, seed=0):
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    return confidences, (rng.random(n) < confidences**2).astype(int)


@pytest.mark.parametrize("n_bins", [1, 2, 7, 15, 100])
@pytest.mark.parametrize("n", [40, 3_000])
def test_debiased_calibration_error_follows_the_formula(n, n_bins):
    confidences, labels = forecasts(n, seed=n_bins)
    uniform = np.linspace(0, 1, n_bins + 1)
    square, _ = squares_written_out(confidences, labels, uniform)
    found = debiased_squared_error(taken(confidences, labels), n_bins, "uniform")
    assert found == pytest.approx(square, abs=1e-13)
    error = debiased_calibration_error(confidences, labels, n_bins)
    assert error == pytest.approx(max(square, 0) ** 0.5, abs=1e-7)


def test_debiased_calibration_error_of_equal_mass_follows_the_formula():
    confidences, labels = forecasts(1_000)
    edges = reliability_bins(confidences, labels, 8, "quantile").edges
    edges[0] = -1
    square, _ = squares_written_out(confidences, labels, edges)
    found = debiased_calibration_error(confidences, labels, 8, strategy="quantile")
    assert found == pytest.approx(square**0.5, abs=1e-12)


# Four forecasts, how often each is given, and how often it comes true: two in each half.
FORECASTS = [(0.2, 0.1, 0.5), (0.4, 0.3, 0.3), (0.7, 0.4, 0.2), (0.9, 0.2, 0.9)]


def test_debiased_squared_error_is_right_on_average_over_all_sets_of_four_samples():
    """Each of the 8^4 sets counts with its probability: no chance is left."""
    outcomes = [(c, 1, given * true) for c, given, true in FORECASTS]
    outcomes += [(c, 0, given * (1 - true)) for c, given, true in FORECASTS]
    gaps = []
    for half in (FORECASTS[:2], FORECASTS[2:]):
        weights = np.array([given for _, given, _ in half])
        gaps.append(np.dot(weights, [c - true for c, _, true in half]) / weights.sum())
    found = of_labels = expected = 0.0
    for drawn in itertools.product(outcomes, repeat=4):
        confidences, labels, chances = map(np.array, zip(*drawn, strict=True))
        chance, upper = chances.prod(), np.sum(confidences > 0.5)
        counts = np.array([4 - upper, upper])
        held = np.where(counts > 1, counts, 0)
        expected += chance * np.dot(held, np.square(gaps)) / held.sum()
        square = debiased_squared_error(taken(confidences, labels), 2, "uniform")
        found += chance * square
        # What subtracting the variance of the labels would give in place of this.
        for m, n in enumerate(held):
            if n:
                inside = (confidences > 0.5) == m
                gap, rate = (confidences - labels)[inside].mean(), labels[inside].mean()
                of_labels += chance * n / held.sum() * (gap**2 - rate * (1 - rate) / (n - 1))
    assert found == pytest.approx(expected, abs=1e-13)
    assert of_labels == pytest.approx(expected, abs=0.01)
    assert abs(of_labels - expected) > 1e-4


def test_debiased_calibration_error_says_where_no_bin_holds_two_samples():
    with pytest.raises(ValueError, match=r"^n_bins: expected a bin with two samples .*fewer bins"):
        debiased_calibration_error([0.1, 0.9], [0, 1], 2)
    with pytest.raises(ValueError, match=r"^n_bins: .*found none"):
        debiased_calibration_error([0.1], [0])
    assert debiased_calibration_error([0.1, 0.9], [0, 1], 1) == 0


def written_out(confidences, correct, n_bins):
    """(ECE, MCE) from the formulas of the paper, for confidences of float32 or float64."""
    edges = (np.arange(n_bins + 1) / n_bins).astype(confidences.dtype)
    expected, widest = [], 0.0
    for m in range(1, n_bins + 1):
        inside = (edges[m - 1] < confidences) & (confidences <= edges[m])
        if m == 1:
            inside |= confidences == 0
        if inside.any():
            mean_confidence = math.fsum(confidences[inside].tolist()) / inside.sum()
            gap = abs(math.fsum(correct[inside].tolist()) / inside.sum() - mean_confidence)
            expected.append(inside.sum() / len(confidences) * gap)
            widest = max(widest, gap)
    return math.fsum(expected), widest


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_errors_of_bins_of_equal_mass_follow_the_formulas(n_bins):
    probs, labels, _ = draw(3000, 4, dtype=np.float32)
    bins = metrics.reliability_bins(*metrics.top_label(probs, labels), n_bins, "quantile")
    widest = np.nanmax(np.abs(bins.accuracy - bins.confidence))
    found = metrics.maximum_calibration_error(probs, labels, n_bins, "quantile")
    assert found == pytest.approx(widest, abs=1e-15)
    errors = []
    for k in range(4):
        order = np.argsort(probs[:, k])
        gaps = (probs[:, k].astype(float) - (labels == k))[order]
        # No two are equal. Place m (N - 1) / M is the last in its bin.
        last = (np.arange(1, n_bins) * 2999) // n_bins
        parts = np.split(gaps, last + 1)
        errors.append(sum(abs(part.sum()) for part in parts) / 3000)
    found = metrics.classwise_calibration_error(probs, labels, n_bins, "quantile")
    assert found == pytest.approx(np.mean(errors), abs=1e-12)
    both = np.stack([1 - probs[:, 0], probs[:, 0]], axis=1)
    one = metrics.classwise_calibration_error(probs[:, 0], labels % 2, n_bins, "quantile")
    two = metrics.classwise_calibration_error(both, labels % 2, n_bins, "quantile")
    assert one == pytest.approx(two, abs=1e-12)


@pytest.mark.parametrize("n_bins", BIN_COUNTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_equal_bins_follow_the_formulas(n_bins, dtype):
    probs, labels, _ = draw(5000, 7, dtype=dtype)  # several blocks of rows
    correct = probs.argmax(axis=1) == labels
    ece, mce = written_out(probs.max(axis=1), correct, n_bins)
    assert metrics.expected_calibration_error(probs, labels, n_bins) == pytest.approx(
        ece, abs=1e-12
    )
    assert metrics.maximum_calibration_error(probs, labels, n_bins) == pytest.approx(mce, abs=1e-12)
    classwise = np.mean([written_out(probs[:, k], labels == k, n_bins)[0] for k in range(7)])
    ours = metrics.classwise_calibration_error(probs, labels, n_bins)
    assert ours == pytest.approx(classwise, abs=1e-12)
    ece, mce = written_out(probs[:, 0], labels == 1, n_bins)
    binary = probs[:, 0], (labels == 1).astype(int), n_bins
    assert metrics.expected_calibration_error(*binary) == pytest.approx(ece, abs=1e-12)
    assert metrics.maximum_calibration_error(*binary) == pytest.approx(mce, abs=1e-12)


def test_classwise_calibration_error_counts_classes_that_never_occur():
    probs = np.array([[0.6, 0.3, 0.1]] * 4)
    # Gaps 0.4, 0.3 and 0.1: two of the classes are never the label.
    ece = metrics.classwise_calibration_error(probs, [0, 0, 0, 0], 10)
    assert ece == pytest.approx(0.8 / 3)


@pytest.mark.parametrize("n_bins", [5, 10, 15])
@pytest.mark.parametrize("dtype", DTYPES)
def test_classwise_calibration_error_of_the_positive_class_is_that_of_two_columns(dtype, n_bins):
    positive = torch.linspace(0, 1, 1001, dtype=torch.float64).to(getattr(torch, dtype))
    labels = torch.arange(1001) % 2
    both = torch.stack([1 - positive, positive], dim=1)
    one = metrics.classwise_calibration_error(positive, labels, n_bins)
    two = metrics.classwise_calibration_error(both, labels, n_bins)
    assert one == pytest.approx(two, abs=1e-12)


def test_expected_calibration_error_sums_a_million_float32_exactly():
    # Calibrated, so that what rounding adds to the sums would show.
    rng = np.random.default_rng(0)
    confidences = (0.3 + 0.7 * rng.random(1_000_000)).astype(np.float32)
    labels = (rng.random(1_000_000) < confidences).astype(np.int64)
    ece, mce = written_out(confidences, labels, 15)
    assert abs(metrics.expected_calibration_error(confidences, labels) - ece) < 1e-12
    assert abs(metrics.maximum_calibration_error(confidences, labels) - mce) < 1e-12


SCALARS = [
    metrics.expected_calibration_error,
    metrics.maximum_calibration_error,
    metrics.classwise_calibration_error,
    metrics.brier_score,
    metrics.negative_log_likelihood,
    metrics.accuracy,
]


NUMBERS = [*SCALARS, metrics.debiased_calibration_error, metrics.smooth_calibration_error]


@pytest.mark.parametrize("metric", [metrics.expected_calibration_error, metrics.accuracy])
@pytest.mark.parametrize("dtype", DTYPES)
def test_metrics_are_floats_equal_in_every_kind_of_array(metric, dtype):
    probs, labels, _ = draw(400, 6)
    tensor = torch.from_numpy(probs).to(getattr(torch, dtype))
    value = metric(tensor, torch.from_numpy(labels))
    assert type(value) is float
    assert metric(tensor.requires_grad_(), labels.astype(np.uint8)) == value
    if dtype != "bfloat16":
        array = tensor.detach().numpy()
        assert metric(array, labels) == value
        assert metric(np.asfortranarray(array), labels) == value
        assert metric(np.repeat(array, 2, axis=0)[::2], labels.astype(np.int32)) == value
        assert metric(array.astype(array.dtype.newbyteorder()), labels) == value
    if dtype == "float64":
        assert metric(probs.tolist(), labels.tolist()) == value
    assert value == pytest.approx(metric(probs, labels), abs=0.02)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("metric", NUMBERS)
def test_metrics_take_tensors_on_a_gpu(metric):
    probs, labels, _ = draw(400, 6, dtype=np.float32)
    tensors = torch.from_numpy(probs).cuda(), torch.from_numpy(labels).cuda()
    assert metric(*tensors) == metric(probs, labels)
    confidences, correct = metrics.top_label(*tensors)
    bins = metrics.reliability_bins(confidences, correct)
    assert all(array.device == tensors[0].device for array in (confidences, correct, *bins))


@settings(deadline=None, max_examples=150)
@given(predictions(), n_bins_drawn)
def test_errors_of_equal_bins_follow_the_formulas_whatever_the_ties(drawn, n_bins):
    probs, labels = drawn
    ece, mce = written_out(probs.max(axis=1), probs.argmax(axis=1) == labels, n_bins)
    assert metrics.expected_calibration_error(probs, labels, n_bins) == pytest.approx(
        ece, abs=1e-12
    )
    assert metrics.maximum_calibration_error(probs, labels, n_bins) == pytest.approx(mce, abs=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "baseline_calibration_error",
        "calibration_error_interval",
        "calibration_test",
        "debiased_calibration_error",
        "debiased_calibration_error_interval",
        "expected_calibration_error",
        "maximum_calibration_error",
    ],
)
def test_metrics_take_equal_edges_for_their_number(name):
    rng = np.random.default_rng(0)
    probs = rng.random(1_000)
    predictions = as_predictions(probs, (rng.random(1_000) < probs).astype(int))
    function = getattr(metrics, name)
    expected = function(predictions, n_bins=10)
    assert function(predictions, n_bins=np.arange(11) / 10) == expected
    assert function(predictions, n_bins="auto") == expected  # 10 is the cube root of 1,000


RNG = np.random.default_rng(0)


PROBS = RNG.dirichlet(np.ones(4), 600)


LABELS = RNG.integers(4, size=600)


TOP, RIGHT = PROBS.max(axis=1), PROBS.argmax(axis=1) == LABELS


def test_adaptive_calibration_error_is_its_definition():
    """Ten bins of 60 for each class, in the order of its probability."""
    gaps = []
    for k, column in enumerate(PROBS.T):
        for rows in np.split(np.argsort(column), 10):
            gaps.append(abs(column[rows].mean() - (LABELS[rows] == k).mean()))
    found = adaptive_calibration_error(PROBS, LABELS, n_bins=10)
    assert found == pytest.approx(np.mean(gaps), abs=1e-12)
    of_classes = classwise_calibration_error(PROBS, LABELS, 10, "quantile")
    assert found == pytest.approx(of_classes, abs=1e-12)
    tied = adaptive_calibration_error([[0.6, 0.4]] * 6 + [[0.1, 0.9]] * 4, [0] * 10, n_bins=5)
    assert tied == pytest.approx((0.4 + 0.9) / 2)
    with pytest.raises(ValueError, match=r"^probs: expected those of all classes"):
        adaptive_calibration_error(as_predictions(confidence=TOP, correct=RIGHT))
