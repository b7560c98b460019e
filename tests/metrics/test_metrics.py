"""The metrics against formulas written out in float64, scikit-learn, and cases by hand."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from calib_utils import metrics
from calib_utils.metrics.bins import right_closed_index, uniform_index
from calib_utils.predictions import as_predictions

DTYPES = ["float64", "float32", "float16", "bfloat16"]
BIN_COUNTS = [1, 2, 3, 5, 6, 8, 10, 14, 15, 24, 49, 100]


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def draw(n, n_classes, seed=0, scale=2.0, dtype=np.float64):
    """Predictions of which half of the labels come from the probabilities themselves."""
    rng = np.random.default_rng(seed)
    logits = scale * rng.standard_normal((n, n_classes))
    probs = softmax(logits)
    labels = (probs.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    labels = np.where(rng.random(n) < 0.5, labels, rng.integers(n_classes, size=n))
    return probs.astype(dtype), labels, logits


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


# ---------------------------------------------------------------- by hand


def test_ten_samples_by_hand():
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


def test_calibrated_predictions_have_no_error():
    confidences = np.repeat([0.25, 0.5, 0.75, 1.0], 4)
    correct = np.array([1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1])
    for n_bins in BIN_COUNTS[3:]:
        assert metrics.expected_calibration_error(confidences, correct, n_bins) == 0
        assert metrics.maximum_calibration_error(confidences, correct, n_bins) == 0


def test_gaps_of_both_signs_do_not_cancel():
    probs = np.array([0.2, 0.2, 0.8, 0.8])
    assert metrics.expected_calibration_error(probs, [1, 1, 0, 0], 10) == pytest.approx(0.8)
    assert metrics.expected_calibration_error(probs, [1, 1, 0, 0], 1) == 0


def test_one_sample():
    probs, labels = np.array([[0.25, 0.75]]), np.array([0])
    assert metrics.expected_calibration_error(probs, labels) == 0.75
    assert metrics.maximum_calibration_error(probs, labels) == 0.75
    assert metrics.expected_calibration_error(probs, labels, strategy="quantile") == 0.75
    assert metrics.classwise_calibration_error(probs, labels) == 0.75
    assert metrics.brier_score(probs, labels) == 2 * 0.75**2
    assert metrics.accuracy(probs, labels) == 0
    assert metrics.negative_log_likelihood(np.log(probs), labels, inputs="logits") == pytest.approx(
        math.log(4)
    )


def test_the_predicted_class_is_the_first_of_tied_maxima():
    probs = np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]])
    confidences, correct = metrics.top_label(probs, [0, 1, 1])
    assert confidences.tolist() == [0.5, 0.5, 0.6]
    assert correct.tolist() == [True, False, True]
    assert metrics.accuracy(probs, [0, 1, 1]) == pytest.approx(2 / 3)
    assert metrics.accuracy(np.array([0.5, 0.5, 0.6]), [0, 0, 1]) == 1
    assert metrics.maximum_calibration_error(probs, [0, 1, 1], 10) == pytest.approx(0.4)
    thirds = np.full((3, 3), 1 / 3, np.float32)
    assert metrics.top_label(thirds, [0, 1, 2])[1].tolist() == [True, False, False]


def test_the_probability_of_the_positive_class_is_not_top_label_confidence():
    positive, labels = np.array([0.1, 0.1, 0.1, 0.1]), np.array([0, 0, 0, 1])
    both = np.stack([1 - positive, positive], axis=1)
    assert metrics.expected_calibration_error(positive, labels, 10) == pytest.approx(0.15)
    confidences, correct = metrics.top_label(both, labels)
    assert confidences.tolist() == [0.9] * 4
    assert correct.tolist() == [True, True, True, False]
    confidences, correct = metrics.top_label(positive, labels)
    assert confidences.tolist() == positive.tolist()
    assert correct.tolist() == [False, False, False, True]


# ---------------------------------------------------------------- edges


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
def test_a_confidence_on_an_edge_belongs_to_the_bin_below(kind, dtype, n_bins):
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


@pytest.mark.parametrize("n_bins", BIN_COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_top_label_confidence_on_an_edge_belongs_to_the_bin_below(dtype, n_bins):
    edges, _ = edges_and_next(n_bins, dtype)
    top = edges[edges > 0.5]
    probs = torch.stack([top, 1 - top], dim=1)
    labels = torch.zeros(len(top), dtype=torch.int64)
    metric = metrics.CalibrationError(n_bins)
    metric.update(probs, labels)
    first = n_bins - len(top)
    assert metric.bins().counts.tolist() == [0] * first + [1] * len(top)
    # One prediction in each bin: the maximum gap is the largest 1 - confidence.
    widest = 1 - top[0].double().item()
    assert metrics.maximum_calibration_error(probs, labels, n_bins) == pytest.approx(widest)
    assert metrics.maximum_calibration_error(top, labels + 1, n_bins) == pytest.approx(widest)


@pytest.mark.parametrize("n_bins", [*range(1, 131, 7), 14, 15, 49, 100, 101, 128, 512, 1000, 5000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_half_precision_number_finds_its_bin(dtype, n_bins):
    one = {"float16": 0x3C00, "bfloat16": 0x3F80}[dtype]
    values = torch.arange(one + 1, dtype=torch.int16).view(getattr(torch, dtype)).float().numpy()
    edges = edges_and_next(n_bins, dtype)[0].float().numpy()
    found = uniform_index(values, n_bins, dtype)
    edges_below = (values[::97, None] > edges[1:]).sum(axis=1)
    np.testing.assert_array_equal(found[::97], edges_below)
    np.testing.assert_array_equal(found, right_closed_index(values, edges))


def test_edges_and_confidences_of_one_are_not_those_of_torchmetrics():
    # Its bins are [a, b), and confidence 1 has a bin of its own: it has .275 and .5 here.
    probs = np.array([[1.0, 0], [1.0, 0], [0.95, 0.05], [0.95, 0.05]])
    labels = np.array([0, 1, 1, 0])
    assert metrics.expected_calibration_error(probs, labels, 10) == pytest.approx(0.475)
    assert metrics.reliability_bins([1.0, 0.95], [True, True], 10).counts.tolist()[-2:] == [0, 2]
    # 0.5 and 0.625, 5/8, are edges of eight bins.
    confidences, correct = [0.5, 0.625, 0.625, 0.75], [0, 1, 1, 0]
    assert metrics.expected_calibration_error(confidences, correct, 8) == pytest.approx(0.5)
    assert metrics.reliability_bins(confidences, correct, 8).counts.tolist() == [
        *[0, 0, 0, 1, 2, 1, 0, 0],
    ]


def test_rounding_up_to_just_above_one_stays_in_the_last_bin():
    above = np.array([1 + 1e-6, 0.3], np.float32)
    assert metrics.reliability_bins(above, [True, False], 15).counts[-1] == 1
    probs = np.array([[1 + 1e-6, 0], [0.3, 0.7]], np.float32)
    ece = metrics.expected_calibration_error(probs, [1, 1], 15)
    assert ece == pytest.approx((1 + 0.3) / 2, abs=1e-6)
    assert metrics.classwise_calibration_error(above, [1, 0]) == pytest.approx(0.15, abs=1e-6)


# ---------------------------------------------------------------- equal mass


def test_equal_mass_bins_hold_equal_parts():
    probs, labels, _ = draw(1000, 5)
    confidences, correct = metrics.top_label(probs, labels)
    for n_bins in BIN_COUNTS:
        counts = metrics.reliability_bins(confidences, correct, n_bins, "quantile").counts
        assert counts.sum() == 1000
        assert counts.max() - counts.min() <= 1


def test_equal_mass_edges_are_quantiles():
    bins = metrics.reliability_bins([0.1, 0.2, 0.4, 0.8, 0.9], [0, 0, 1, 1, 1], 2, "quantile")
    # The median, 0.4, belongs to the bin below it.
    assert bins.edges.tolist() == [0.1, 0.4, 0.9]
    assert bins.counts.tolist() == [3, 2]
    bins = metrics.reliability_bins([0.8, 0.2, 0.4, 0.1], [0, 0, 1, 1], 2, "quantile")
    np.testing.assert_allclose(bins.edges, [0.1, 0.3, 0.8])
    few = np.array([0.1, 0.4, 0.9])  # between the last two, too
    edges = metrics.reliability_bins(few, [0, 1, 1], 8, "quantile").edges
    np.testing.assert_allclose(edges, np.quantile(few, np.arange(9) / 8))


def test_equal_confidences_share_a_bin():
    confidences = np.array([0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 1.0])
    bins = metrics.reliability_bins(confidences, confidences > 0.4, 5, "quantile")
    assert bins.edges.tolist() == [0.1, pytest.approx(0.28), 0.5, 0.5, pytest.approx(0.58), 1.0]
    assert bins.counts.tolist() == [2, 6, 0, 0, 2]
    assert np.isnan(bins.accuracy[2:4]).all()
    assert np.isnan(bins.confidence[2:4]).all()
    same = metrics.reliability_bins(np.full(7, 0.5, np.float32), [True] * 7, 3, "quantile")
    assert same.counts.tolist() == [7, 0, 0]
    assert same.edges.tolist() == [0.5] * 4


def test_more_bins_than_confidences():
    bins = metrics.reliability_bins([0.2, 0.6], [0, 1], 15, "quantile")
    assert bins.counts.sum() == 2
    assert metrics.expected_calibration_error([0.2, 0.6], [0, 1], 15, "quantile") == pytest.approx(
        (0.2 + 0.4) / 2
    )


@pytest.mark.parametrize("n_bins", [1, 7, 15])
def test_errors_of_bins_of_equal_mass(n_bins):
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_classwise_error_of_bins_of_equal_mass_takes_half_precision(dtype):
    probs, labels, _ = draw(400, 3)
    ours = torch.from_numpy(probs).to(getattr(torch, dtype))
    found = metrics.classwise_calibration_error(ours, torch.from_numpy(labels), 10, "quantile")
    expected = metrics.classwise_calibration_error(probs, labels, 10, "quantile")
    assert found == pytest.approx(expected, abs=0.02)


# ---------------------------------------------------------------- other libraries and formulas


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [5, 8, 10, 14, 15, 24])
@pytest.mark.parametrize("rounded", [False, True])
def test_bins_are_those_of_scikit_learn(strategy, n_bins, rounded):
    # 997 is prime. Where a quantile falls on a sample, scikit-learn's may be rounded below it.
    probs, labels, _ = draw(998, 2, seed=n_bins)
    positive = np.round(8 * probs[:, 1]) / 8 if rounded else probs[:, 1]
    ours = metrics.reliability_bins(positive, labels, n_bins, strategy)
    rate, mean = calibration_curve(labels, positive, n_bins=n_bins, strategy=strategy)
    held = ours.counts > 0
    np.testing.assert_allclose(ours.accuracy[held], rate, atol=1e-12)
    np.testing.assert_allclose(ours.confidence[held], mean, atol=1e-12)


@pytest.mark.parametrize("n_bins", BIN_COUNTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_follow_the_formulas(n_bins, dtype):
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


def test_classes_that_never_occur_count():
    probs = np.array([[0.6, 0.3, 0.1]] * 4)
    # Gaps 0.4, 0.3 and 0.1: two of the classes are never the label.
    ece = metrics.classwise_calibration_error(probs, [0, 0, 0, 0], 10)
    assert ece == pytest.approx(0.8 / 3)


@pytest.mark.parametrize("n_bins", [5, 10, 15])
@pytest.mark.parametrize("dtype", DTYPES)
def test_classwise_error_of_the_positive_class_is_that_of_two_columns(dtype, n_bins):
    positive = torch.linspace(0, 1, 1001, dtype=torch.float64).to(getattr(torch, dtype))
    labels = torch.arange(1001) % 2
    both = torch.stack([1 - positive, positive], dim=1)
    one = metrics.classwise_calibration_error(positive, labels, n_bins)
    two = metrics.classwise_calibration_error(both, labels, n_bins)
    assert one == pytest.approx(two, abs=1e-12)


def test_brier_score():
    probs, labels, _ = draw(3000, 4)
    one_hot = np.eye(4)[labels]
    written = ((probs - one_hot) ** 2).sum(axis=1).mean()
    assert metrics.brier_score(probs, labels) == pytest.approx(written, abs=1e-14)
    if "scale_by_half" in inspect.signature(brier_score_loss).parameters:  # scikit-learn 1.7
        theirs = brier_score_loss(labels, probs, labels=range(4), scale_by_half=False)
        assert metrics.brier_score(probs, labels) == pytest.approx(theirs, abs=1e-14)
    assert metrics.brier_score(np.array([[0.0, 1.0]]), [0]) == 2
    assert metrics.brier_score(np.array([[0.0, 1.0]]), [1]) == 0


def test_brier_score_of_two_classes_is_twice_that_of_scikit_learn():
    probs, labels, _ = draw(300, 2)
    ours = metrics.brier_score(probs[:, 1], labels)
    assert ours == pytest.approx(2 * brier_score_loss(labels, probs[:, 1]), abs=1e-14)
    assert ours == pytest.approx(metrics.brier_score(probs, labels), abs=1e-14)


def test_negative_log_likelihood():
    probs, labels, logits = draw(3000, 4)
    ours = metrics.negative_log_likelihood(logits, labels, inputs="logits")
    assert ours == pytest.approx(log_loss(labels, probs), abs=1e-12)
    tensors = torch.from_numpy(logits), torch.from_numpy(labels)
    assert ours == pytest.approx(torch.nn.functional.cross_entropy(*tensors).item(), abs=1e-12)


def test_negative_log_likelihood_of_log_odds():
    _, labels, logits = draw(300, 2)
    odds = logits[:, 1] - logits[:, 0]
    ours = metrics.negative_log_likelihood(odds, labels, inputs="logits")
    assert ours == pytest.approx(
        metrics.negative_log_likelihood(logits, labels, inputs="logits"), abs=1e-12
    )
    assert ours == pytest.approx(log_loss(labels, 1 / (1 + np.exp(-odds))), abs=1e-12)
    assert metrics.negative_log_likelihood(np.array([800.0]), [0], inputs="logits") == 800


@pytest.mark.parametrize(
    ("dtype", "zero", "one"),
    [
        ("float16", 2.0**-24, 2.0**-24),
        ("bfloat16", 2.0**-149, 2.0**-24),
        ("float32", 2.0**-149, 2.0**-24),
        ("float64", 2.0**-1074, 2.0**-53),
    ],
)
def test_what_a_probability_of_exactly_0_or_1_counts_as(dtype, zero, one):
    """`one` is how far from 1 the nearest probability is."""
    certain = torch.tensor([0.0, 1.0], dtype=getattr(torch, dtype))
    for labels, wrong in ((1, zero), (0, one)):
        found = metrics.negative_log_likelihood(certain, np.full(2, labels))
        right = -np.log1p(-(one if labels else zero))
        assert found == pytest.approx((right - np.log(wrong)) / 2, rel=1e-6)


def test_negative_log_likelihood_survives_large_logits():
    # Probabilities in float32 would be 0 here, and their logarithm lost.
    logits = np.array([[0, 300], [200, 0]], np.float32)
    assert metrics.negative_log_likelihood(logits, [0, 1], inputs="logits") == 250
    _, labels, logits = draw(200, 3)
    expected = metrics.negative_log_likelihood(logits, labels, inputs="logits")
    for offset in (1e4, -1e4):
        shifted = metrics.negative_log_likelihood(logits + offset, labels, inputs="logits")
        assert shifted == pytest.approx(expected, abs=1e-10)


def test_accuracy():
    probs, labels, logits = draw(3000, 4)
    expected = accuracy_score(labels, probs.argmax(axis=1))
    assert metrics.accuracy(probs, labels) == expected
    assert metrics.accuracy(logits, labels, inputs="logits") == expected
    halves = torch.from_numpy(logits).bfloat16()
    assert metrics.accuracy(halves, labels, inputs="logits") == pytest.approx(expected, abs=0.02)
    assert metrics.accuracy(np.array([0.2, 0.7, 0.9]), [0, 1, 0]) == pytest.approx(2 / 3)
    odds = logits[:, 0] - logits[:, 1]
    binary = (labels == 0).astype(int)
    expected = accuracy_score(binary, odds > 0)
    assert metrics.accuracy(odds, binary, inputs="logits") == expected
    assert metrics.accuracy(1 / (1 + np.exp(-odds)), binary) == expected
    assert metrics.accuracy(np.array([0.2, 0.7, 0.9]), [0, 0, 1], threshold=0.8) == 1


def test_a_million_float32_predictions_are_summed_exactly():
    # Calibrated, so that what rounding adds to the sums would show.
    rng = np.random.default_rng(0)
    confidences = (0.3 + 0.7 * rng.random(1_000_000)).astype(np.float32)
    labels = (rng.random(1_000_000) < confidences).astype(np.int64)
    ece, mce = written_out(confidences, labels, 15)
    assert abs(metrics.expected_calibration_error(confidences, labels) - ece) < 1e-12
    assert abs(metrics.maximum_calibration_error(confidences, labels) - mce) < 1e-12


# ---------------------------------------------------------------- kinds of arrays

SCALARS = [
    metrics.expected_calibration_error,
    metrics.maximum_calibration_error,
    metrics.classwise_calibration_error,
    metrics.brier_score,
    metrics.negative_log_likelihood,
    metrics.accuracy,
]
NUMBERS = [*SCALARS, metrics.debiased_calibration_error, metrics.smooth_calibration_error]


@pytest.mark.parametrize("metric", NUMBERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_are_floats_equal_in_every_kind_of_array(metric, dtype):
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
def test_tensors_on_a_gpu(metric):
    probs, labels, _ = draw(400, 6, dtype=np.float32)
    tensors = torch.from_numpy(probs).cuda(), torch.from_numpy(labels).cuda()
    assert metric(*tensors) == metric(probs, labels)
    confidences, correct = metrics.top_label(*tensors)
    bins = metrics.reliability_bins(confidences, correct)
    assert all(array.device == tensors[0].device for array in (confidences, correct, *bins))


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_are_of_the_kind_that_came_in(dtype):
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


# ---------------------------------------------------------------- properties


@st.composite
def predictions(draw_, ties=True):
    """Probabilities in eighths and the like, so that ties and edges are common."""
    n, n_classes = draw_(st.integers(1, 25)), draw_(st.integers(2, 5))
    row = st.lists(st.integers(0, 8), min_size=n_classes, max_size=n_classes).filter(any)
    weights = np.array(draw_(st.lists(row, min_size=n, max_size=n)), float)
    if not ties:
        top = draw_(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
        weights[np.arange(n), top] += 9
    probs = weights / weights.sum(axis=1, keepdims=True)
    labels = draw_(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return probs, np.array(labels)


n_bins_drawn = st.sampled_from(BIN_COUNTS)


@settings(deadline=None, max_examples=150)
@given(predictions(), n_bins_drawn)
def test_ece_and_mce_equal_the_formulas(drawn, n_bins):
    probs, labels = drawn
    ece, mce = written_out(probs.max(axis=1), probs.argmax(axis=1) == labels, n_bins)
    assert metrics.expected_calibration_error(probs, labels, n_bins) == pytest.approx(
        ece, abs=1e-12
    )
    assert metrics.maximum_calibration_error(probs, labels, n_bins) == pytest.approx(mce, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(predictions(), n_bins_drawn, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(drawn, n_bins, random):
    probs, labels = drawn
    order = random.sample(range(len(labels)), len(labels))
    for metric in (
        metrics.expected_calibration_error,
        metrics.maximum_calibration_error,
        metrics.classwise_calibration_error,
    ):
        value = metric(probs, labels, n_bins)
        assert metric(probs[order], labels[order], n_bins) == pytest.approx(value, abs=1e-12)
    quantile = metrics.expected_calibration_error(probs, labels, n_bins, "quantile")
    assert metrics.expected_calibration_error(
        probs[order], labels[order], n_bins, "quantile"
    ) == pytest.approx(quantile, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(predictions(ties=False), n_bins_drawn, st.randoms(use_true_random=False))
def test_the_order_of_classes_does_not_matter(drawn, n_bins, random):
    probs, labels = drawn
    order = np.array(random.sample(range(probs.shape[1]), probs.shape[1]))
    permuted, renamed = probs[:, order], order.argsort()[labels]
    for metric in SCALARS:
        arguments = (n_bins,) if "calibration" in metric.__name__ else ()
        value = metric(probs, labels, *arguments)
        assert metric(permuted, renamed, *arguments) == pytest.approx(value, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(predictions(), n_bins_drawn)
def test_bounds(drawn, n_bins):
    probs, labels = drawn
    ece = metrics.expected_calibration_error(probs, labels, n_bins)
    mce = metrics.maximum_calibration_error(probs, labels, n_bins)
    assert 0 <= ece <= mce + 1e-12
    assert mce <= 1
    assert 0 <= metrics.classwise_calibration_error(probs, labels, n_bins) <= 1
    assert 0 <= metrics.brier_score(probs, labels) <= 2
    assert 0 <= metrics.accuracy(probs, labels) <= 1
    assert metrics.negative_log_likelihood(probs, labels) >= 0
    # Fewer bins can only hide gaps: with one, what remains is accuracy less mean confidence.
    overall = abs(metrics.accuracy(probs, labels) - probs.max(axis=1).mean())
    assert overall <= ece + 1e-12
    one = metrics.expected_calibration_error(probs, labels, 1)
    assert one == pytest.approx(overall, abs=1e-12)


@settings(deadline=None, max_examples=100)
@given(predictions(), n_bins_drawn)
def test_equal_mass_bins_keep_equal_confidences_together(drawn, n_bins):
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
def test_edges_of_ones_own(kind):
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
def test_equal_edges_are_as_good_as_their_number(name):
    rng = np.random.default_rng(0)
    probs = rng.random(1_000)
    predictions = as_predictions(probs, (rng.random(1_000) < probs).astype(int))
    function = getattr(metrics, name)
    expected = function(predictions, n_bins=10)
    assert function(predictions, n_bins=np.arange(11) / 10) == expected
    assert function(predictions, n_bins="auto") == expected  # 10 is the cube root of 1,000


def test_the_number_of_bins_of_weighted_rows_is_that_of_their_worth():
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
def test_other_edges_are_refused(bins, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        metrics.expected_calibration_error([0.2, 0.7], [0, 1], n_bins=bins)


def test_edges_of_ones_own_have_no_strategy():
    with pytest.raises(ValueError, match=r"^strategy: expected none with edges of your own"):
        metrics.expected_calibration_error([0.2, 0.7], [0, 1], n_bins=[0, 1], strategy="quantile")
