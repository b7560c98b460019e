"""Bins, against scikit-learn, formulas and cases by hand."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from sklearn.calibration import calibration_curve

from calib_utils import metrics
from calib_utils.metrics.bins import interpolated, right_closed_index, uniform_index
from calib_utils.predictions import as_predictions
from tests.metrics.metric_cases import BIN_COUNTS, DTYPES, draw, n_bins_drawn, predictions
from tests.predictions.bad_input_cases import BINARY, LABELS, POSITIVE, PROBS, with_value

ERRORS = [
    metrics.expected_calibration_error,
    metrics.maximum_calibration_error,
    metrics.classwise_calibration_error,
]


BINNED = [
    *ERRORS,
    metrics.debiased_calibration_error,
    metrics.calibration_error_interval,
    metrics.calibration_test,
    metrics.debiased_calibration_error_interval,
    metrics.reliability_bins,
]


@pytest.mark.parametrize("n_bins", [0, 15.0, "15", None, True, np.nan, [15], 10**12])
def test_n_bins_refuses_what_is_no_number_of_bins(n_bins):
    for make in (partial(metrics.reliability_bins, POSITIVE, BINARY), metrics.CalibrationError):
        with pytest.raises(ValueError, match=r"^n_bins: expected (an integer|edges that rise)"):
            make(n_bins=n_bins)


@pytest.mark.parametrize("metric", BINNED)
def test_bins_are_refused_by_name(metric):
    with pytest.raises(ValueError, match=r"^n_bins: expected an integer"):
        metric(POSITIVE, BINARY, n_bins=0)
    with pytest.raises(ValueError, match=r"^strategy: expected 'uniform' or 'quantile', found 'x'"):
        metric(POSITIVE, BINARY, strategy="x")


@pytest.mark.parametrize(
    ("confidences", "message"),
    [
        (with_value(POSITIVE, 7, np.nan), "expected values from 0 to 1, found nan at row 7"),
        (with_value(POSITIVE, 7, -0.5), "found -0.5 at row 7; apply a sigmoid"),
        (with_value(POSITIVE, 7, 1.01), "found 1.01 at row 7"),
        (PROBS, r"shape \(N,\), found \(3000, 4\); .*top_label\(probs, labels\)"),
    ],
)
def test_reliability_bins_refuse_bad_confidences(confidences, message):
    with pytest.raises(ValueError, match=f"^confidences: .*{message}"):
        metrics.reliability_bins(confidences, BINARY)


@pytest.mark.parametrize(
    ("correct", "message"),
    [
        (BINARY[:-1], r"expected shape \(3000,\), .*found \(2999,\)"),
        (BINARY[:, None], r"found \(3000, 1\)"),
        (LABELS, r"expected True or False .*found [23] at index \d+; compare"),
        (POSITIVE, "expected True or False"),
        (with_value(BINARY.astype(float), 4, np.nan), "found nan at index 4"),
    ],
)
def test_reliability_bins_refuse_bad_correct(correct, message):
    with pytest.raises(ValueError, match=f"^correct: .*{message}"):
        metrics.reliability_bins(POSITIVE, correct)


def test_reliability_bins_take_zeros_and_ones_for_correct():
    as_booleans = metrics.reliability_bins(POSITIVE, BINARY.astype(bool))
    for dtype in (int, float, np.uint8):
        as_numbers = metrics.reliability_bins(POSITIVE, BINARY.astype(dtype))
        for one, other in zip(as_booleans, as_numbers, strict=True):
            np.testing.assert_array_equal(one, other)


def test_reliability_bins_and_errors_of_ten_samples_by_hand():
    confidences = [0.95, 0.95, 0.9, 0.85, 0.75, 0.7, 0.65, 0.6, 0.45, 0.4]
    correct = [1, 1, 0, 1, 1, 0, 1, 0, 1, 0]
    bins = metrics.reliability_bins(confidences, correct, n_bins=5)
    assert bins.edges.tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1]
    # 0.4 and 0.6 are on an edge: they belong to the bins that end there.
    assert bins.counts.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(bins.accuracy, [np.nan, 0, 1 / 2, 2 / 3, 3 / 4], atol=1e-15)
    np.testing.assert_allclose(bins.confidence, [np.nan, 0.4, 0.525, 0.7, 0.9125], atol=1e-15)
    expected = (0.4 + 0.05 + (2.1 - 2) + (3.65 - 3)) / 10
    assert metrics.expected_calibration_error(confidences, correct, 5) == pytest.approx(expected)
    assert metrics.maximum_calibration_error(confidences, correct, 5) == pytest.approx(0.4)


def test_top_label_takes_the_first_of_tied_maxima():
    probs = np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]])
    confidences, correct = metrics.top_label(probs, [0, 1, 1])
    assert confidences.tolist() == [0.5, 0.5, 0.6]
    assert correct.tolist() == [True, False, True]
    assert metrics.accuracy(probs, [0, 1, 1]) == pytest.approx(2 / 3)
    assert metrics.accuracy(np.array([0.5, 0.5, 0.6]), [0, 0, 1]) == 1
    assert metrics.maximum_calibration_error(probs, [0, 1, 1], 10) == pytest.approx(0.4)
    thirds = np.full((3, 3), 1 / 3, np.float32)
    assert metrics.top_label(thirds, [0, 1, 2])[1].tolist() == [True, False, False]


def test_top_label_keeps_the_probability_of_the_positive_class():
    positive, labels = np.array([0.1, 0.1, 0.1, 0.1]), np.array([0, 0, 0, 1])
    both = np.stack([1 - positive, positive], axis=1)
    assert metrics.expected_calibration_error(positive, labels, 10) == pytest.approx(0.15)
    confidences, correct = metrics.top_label(both, labels)
    assert confidences.tolist() == [0.9] * 4
    assert correct.tolist() == [True, True, True, False]
    confidences, correct = metrics.top_label(positive, labels)
    assert confidences.tolist() == positive.tolist()
    assert correct.tolist() == [False, False, False, True]


def edges_and_next(n_bins, dtype):
    """The edges in ``dtype``, and the number that follows each, as torch tensors."""
    edges = (torch.arange(n_bins + 1, dtype=torch.float64) / n_bins).to(getattr(torch, dtype))
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[edges.itemsize]
    return edges, (edges.view(bits) + 1).view(edges.dtype)


@pytest.mark.parametrize("n_bins", BIN_COUNTS)
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [*(("torch", dtype) for dtype in DTYPES), *(("numpy", dtype) for dtype in DTYPES[:3])],
)
def test_reliability_bins_put_a_confidence_on_an_edge_below(kind, dtype, n_bins):
    edges, following = edges_and_next(n_bins, dtype)
    if kind == "numpy":
        edges, following = edges.numpy(), following.numpy()
    for j in range(n_bins + 1):
        counts = metrics.reliability_bins(edges[j : j + 1], [True], n_bins).counts
        assert int(counts.argmax()) == max(j - 1, 0)
        assert int(counts.sum()) == 1
    for j in range(n_bins):
        counts = metrics.reliability_bins(following[j : j + 1], [True], n_bins).counts
        assert int(counts.argmax()) == j


@pytest.mark.parametrize("n_bins", [*range(1, 131, 7), 14, 15, 49, 100, 101, 128, 512, 1000, 5000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_uniform_index_finds_the_bin_of_every_half_precision_number(dtype, n_bins):
    one = {"float16": 0x3C00, "bfloat16": 0x3F80}[dtype]
    values = torch.arange(one + 1, dtype=torch.int16).view(getattr(torch, dtype)).float().numpy()
    edges = edges_and_next(n_bins, dtype)[0].float().numpy()
    found = uniform_index(values, n_bins, dtype)
    edges_below = (values[::97, None] > edges[1:]).sum(axis=1)
    np.testing.assert_array_equal(found[::97], edges_below)
    np.testing.assert_array_equal(found, right_closed_index(values, edges))


def test_reliability_bins_keep_what_is_rounded_above_one_in_the_last():
    above = np.array([1 + 1e-6, 0.3], np.float32)
    assert metrics.reliability_bins(above, [True, False], 15).counts[-1] == 1
    probs = np.array([[1 + 1e-6, 0], [0.3, 0.7]], np.float32)
    ece = metrics.expected_calibration_error(probs, [1, 1], 15)
    assert ece == pytest.approx((1 + 0.3) / 2, abs=1e-6)
    assert metrics.classwise_calibration_error(above, [1, 0]) == pytest.approx(0.15, abs=1e-6)


def test_reliability_bins_of_equal_mass_end_at_quantiles():
    bins = metrics.reliability_bins([0.1, 0.2, 0.4, 0.8, 0.9], [0, 0, 1, 1, 1], 2, "quantile")
    # The median, 0.4, belongs to the bin below it.
    assert bins.edges.tolist() == [0.1, 0.4, 0.9]
    assert bins.counts.tolist() == [3, 2]
    bins = metrics.reliability_bins([0.8, 0.2, 0.4, 0.1], [0, 0, 1, 1], 2, "quantile")
    np.testing.assert_allclose(bins.edges, [0.1, 0.3, 0.8])
    few = np.array([0.1, 0.4, 0.9])  # between the last two, too
    edges = metrics.reliability_bins(few, [0, 1, 1], 8, "quantile").edges
    np.testing.assert_allclose(edges, np.quantile(few, np.arange(9) / 8))


def test_reliability_bins_of_equal_mass_share_equal_confidences():
    confidences = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 1.0])
    bins = metrics.reliability_bins(confidences, confidences > 0.4, 5, "quantile")
    assert bins.edges.tolist() == [0.1, pytest.approx(0.28), 0.5, 0.5, pytest.approx(0.58), 1.0]
    assert bins.counts.tolist() == [2, 6, 0, 0, 2]
    assert np.isnan(bins.accuracy[2:4]).all()
    assert np.isnan(bins.confidence[2:4]).all()
    same = metrics.reliability_bins(np.full(7, 0.5, np.float32), [True] * 7, 3, "quantile")
    assert same.counts.tolist() == [7, 0, 0]
    assert same.edges.tolist() == [0.5] * 4


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [5, 8, 10, 14, 15, 24])
@pytest.mark.parametrize("rounded", [False, True])
def test_reliability_bins_are_those_of_scikit_learn(strategy, n_bins, rounded):
    # 997 is prime. Where a quantile falls on a sample, scikit-learn's may be rounded below it.
    probs, labels, _ = draw(998, 2, seed=n_bins)
    positive = np.round(8 * probs[:, 1]) / 8 if rounded else probs[:, 1]
    ours = metrics.reliability_bins(positive, labels, n_bins, strategy)
    rate, mean = calibration_curve(labels, positive, n_bins=n_bins, strategy=strategy)
    held = ours.counts > 0
    np.testing.assert_allclose(ours.accuracy[held], rate, atol=1e-12)
    np.testing.assert_allclose(ours.confidence[held], mean, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_label_and_reliability_bins_return_the_kind_that_came_in(dtype):
    probs, labels, _ = draw(50, 3)
    tensor = torch.from_numpy(probs).to(getattr(torch, dtype))
    confidences, correct = metrics.top_label(tensor, labels)
    assert (confidences.dtype, correct.dtype) == (tensor.dtype, torch.bool)
    assert torch.equal(confidences, tensor.max(dim=1).values)
    bins = metrics.reliability_bins(confidences, correct)
    assert all(isinstance(array, torch.Tensor) for array in bins)
    assert [array.dtype for array in bins] == [
        *[torch.float64, torch.int64, torch.float64, torch.float64],
    ]
    if dtype != "bfloat16":
        confidences, correct = metrics.top_label(tensor.numpy(), torch.from_numpy(labels))
        assert (confidences.dtype, correct.dtype) == (tensor.numpy().dtype, np.bool_)
        again = metrics.reliability_bins(confidences, torch.from_numpy(correct))
        assert all(isinstance(array, np.ndarray) for array in again)
        for ours, theirs in zip(again, bins, strict=True):
            np.testing.assert_array_equal(ours, theirs.numpy())


@settings(deadline=None, max_examples=100)
@given(predictions(), n_bins_drawn)
def test_reliability_bins_of_equal_mass_count_what_lies_between_their_edges(drawn, n_bins):
    confidences, correct = metrics.top_label(*drawn)
    bins = metrics.reliability_bins(confidences, correct, n_bins, "quantile")
    assert (np.diff(bins.edges) >= 0).all()
    assert bins.counts.sum() == len(confidences)
    for m in range(n_bins):
        inside = (bins.edges[m] < confidences) & (confidences <= bins.edges[m + 1])
        if m == 0:
            inside |= confidences == bins.edges[0]
        # What lies in the first of two equal edges was counted there and not again.
        assert bins.counts[m] == inside.sum()


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_reliability_bins_take_edges_of_ones_own(kind):
    """An edge belongs to the bin below it, and is rounded to the type of the confidences."""
    probs = np.array([0.0, 0.3, 0.5, 0.6, 0.9, 0.9, 1.0], np.float32)
    labels, edges = [0, 1, 1, 0, 1, 0, 1], kind([0.0, 0.3, 0.9, 1.0])
    predictions = as_predictions(probs, labels)
    bins = metrics.reliability_bins(predictions, n_bins=edges)
    assert bins.counts.tolist() == [2, 4, 1]
    np.testing.assert_allclose(bins.accuracy, [0.5, 0.5, 1])
    np.testing.assert_allclose(bins.confidence, [0.15, 2.9 / 4, 1], rtol=1e-6)
    gaps = np.array([0.35, 2.9 / 4 - 0.5, 0])
    ece = metrics.expected_calibration_error(predictions, n_bins=edges)
    assert ece == pytest.approx(gaps @ [2, 4, 1] / 7, rel=1e-6)
    assert metrics.maximum_calibration_error(predictions, n_bins=edges) == pytest.approx(
        0.35, rel=1e-6
    )


def test_reliability_bins_auto_counts_what_weighted_rows_are_worth():
    weights = np.r_[np.ones(125), np.full(1_000, 1e-9)]
    probs = np.random.default_rng(0).random(1_125)
    predictions = as_predictions(probs, (probs > 0.4).astype(int), sample_weight=weights)
    assert len(metrics.reliability_bins(predictions, n_bins="auto").counts) == 5


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ([0, 0.5, 0.5, 1], r"n_bins: expected edges that rise from 0 to 1, found \[0.0, 0.5, 0.5"),
        ([0.1, 0.5, 1], "n_bins: expected edges that rise from 0 to 1"),
        ([0, 0.5, 0.9], "n_bins: expected edges that rise from 0 to 1"),
        ([0, np.nan, 1], "n_bins: expected edges that rise from 0 to 1"),
        ([], "n_bins: expected edges that rise from 0 to 1"),
        ("sturges", "n_bins: expected an integer, edges or 'auto', found 'sturges'"),
    ],
)
def test_n_bins_refuses_other_edges(bins, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        metrics.expected_calibration_error([0.2, 0.7], [0, 1], n_bins=bins)


def test_strategy_is_refused_with_edges_of_ones_own():
    with pytest.raises(ValueError, match=r"^strategy: expected none with edges of your own"):
        metrics.expected_calibration_error([0.2, 0.7], [0, 1], n_bins=[0, 1], strategy="quantile")


def test_interpolated_is_numpys_interp():
    rng = np.random.default_rng(0)
    places, values, x = np.sort(rng.random(9)), np.sort(rng.random(9)), rng.uniform(-0.2, 1.2, 200)
    found = interpolated(np.append(x, places), places, values)
    np.testing.assert_allclose(found, np.interp(np.append(x, places), places, values), atol=1e-15)
