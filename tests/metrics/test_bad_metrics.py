"""Bad input gets an error that names it and says what to do. It never gets a number."""

import re
from functools import partial

import numpy as np
import pytest
import torch

from calib_utils import metrics
from tests.predictions.bad_input_cases import (
    BINARY,
    LABELS,
    LOGITS,
    POSITIVE,
    PROBS,
    N,
    with_value,
)

ERRORS = [
    metrics.expected_calibration_error,
    metrics.maximum_calibration_error,
    metrics.classwise_calibration_error,
]
BINNED = [
    *ERRORS,
    metrics.debiased_calibration_error,
    metrics.debiased_calibration_error_interval,
    metrics.reliability_bins,
]


def test_labels_in_torch():
    with pytest.raises(ValueError, match=r"^labels: expected integers, found float32; .*long\(\)"):
        metrics.brier_score(torch.from_numpy(PROBS), torch.from_numpy(LABELS).float())


def test_maps_are_told_how_to_become_rows():
    maps = PROBS.reshape(10, 20, 15, 4).transpose(0, 3, 1, 2)
    with pytest.raises(ValueError, match=r"found \(10, 4, 20, 15\); give one row .*labels") as said:
        metrics.brier_score(maps, LABELS.reshape(10, 20, 15))
    (advice,) = re.findall(r"np\.moveaxis\(.*?, K\)", str(said.value))
    rows = eval(advice, {"np": np, "probs": maps, "K": 4})
    np.testing.assert_array_equal(rows, PROBS)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("metric", [metrics.negative_log_likelihood, metrics.accuracy])
def test_logits(metric, value):
    message = r"^probs \(inputs='logits'\): expected finite values, or -inf for a .*"
    with pytest.raises(ValueError, match=message + f"found {value} in row 2500; remove"):
        metric(with_value(LOGITS, (2500, 1), value), LABELS, inputs="logits")
    with pytest.raises(ValueError, match="found only -inf in row 2500; remove"):
        metric(with_value(LOGITS, 2500, -np.inf), LABELS, inputs="logits")


@pytest.mark.parametrize("metric", [metrics.negative_log_likelihood, metrics.accuracy])
def test_log_odds(metric):
    message = r"^probs \(inputs='logits'\): expected finite values, found nan at row 5"
    with pytest.raises(ValueError, match=message):
        metric(with_value(LOGITS[:, 0], 5, np.nan), BINARY, inputs="logits")
    with pytest.raises(ValueError, match=r"^probs \(inputs='probs'\): .*apply a sigmoid to logits"):
        metric(LOGITS[:, 0], BINARY)


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (LABELS, "expected floating-point numbers, found int64"),
        (LOGITS[:0], r"found \(0, 4\)"),
        (LOGITS[:, :1], r"found \(3000, 1\); flatten it with probs\[:, 0\]"),
        (LOGITS[None], r"found \(1, 3000, 4\)"),
        (np.ma.masked_less(LOGITS, -1), "found masked entries"),
        (np.full((N, 2), "0.25"), "expected real numbers, found <U4"),
    ],
)
@pytest.mark.parametrize("metric", [metrics.negative_log_likelihood, metrics.accuracy])
def test_shape_and_type_of_logits(metric, logits, message):
    with pytest.raises(ValueError, match=rf"^probs \(inputs='logits'\): .*{message}"):
        metric(logits, LABELS, inputs="logits")


def test_a_threshold_is_one_number():
    for threshold in ("0.5", [0.5, 0.5], np.array([0.5]), np.inf, np.nan, 1j):
        with pytest.raises(ValueError, match=r"^threshold: expected a finite number, found"):
            metrics.accuracy(POSITIVE, BINARY, threshold=threshold)
    assert metrics.accuracy(POSITIVE, BINARY, threshold=np.float32(0.5)) == metrics.accuracy(
        POSITIVE, BINARY
    )
    with pytest.raises(ValueError, match=r"^threshold: expected for scores \(N,\)"):
        metrics.accuracy(PROBS, LABELS, threshold=0.5)


BAD_N_BINS = [0, -1, 1.0, 15.0, 2.5, "15", None, True, np.nan, [15], 10**12]


@pytest.mark.parametrize("n_bins", BAD_N_BINS)
def test_n_bins(n_bins):
    makes = [partial(metric, POSITIVE, BINARY) for metric in BINNED]
    for make in (*makes, metrics.CalibrationError):
        with pytest.raises(ValueError, match=r"^n_bins: expected (an integer|edges that rise)"):
            make(n_bins=n_bins)


def test_n_bins_may_be_of_numpy():
    ece = metrics.expected_calibration_error(PROBS, LABELS, np.int32(10))
    assert ece == metrics.expected_calibration_error(PROBS, LABELS, 10)


@pytest.mark.parametrize("metric", BINNED)
def test_strategy(metric):
    with pytest.raises(ValueError, match=r"^strategy: expected 'uniform' or 'quantile', found 'x'"):
        metric(POSITIVE, BINARY, strategy="x")


@pytest.mark.parametrize(
    ("confidences", "message"),
    [
        (with_value(POSITIVE, 7, np.nan), "expected values from 0 to 1, found nan at row 7"),
        (with_value(POSITIVE, 7, np.inf), "expected values from 0 to 1, found inf at row 7"),
        (with_value(POSITIVE, 7, -0.5), "found -0.5 at row 7; apply a sigmoid"),
        (with_value(POSITIVE, 7, 1.01), "found 1.01 at row 7"),
        (PROBS, r"shape \(N,\), found \(3000, 4\); .*top_label\(probs, labels\)"),
        ([], r"non-empty array of shape .*, found \(0,\)"),
        (BINARY, "expected floating-point numbers, found int64"),
    ],
)
def test_confidences(confidences, message):
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
def test_correct(correct, message):
    with pytest.raises(ValueError, match=f"^correct: .*{message}"):
        metrics.reliability_bins(POSITIVE, correct)


def test_correct_may_be_zeros_and_ones():
    as_booleans = metrics.reliability_bins(POSITIVE, BINARY.astype(bool))
    for dtype in (int, float, np.uint8):
        as_numbers = metrics.reliability_bins(POSITIVE, BINARY.astype(dtype))
        for one, other in zip(as_booleans, as_numbers, strict=True):
            np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------- how far from one is too far


# Equal probabilities of 1/255 and 1/2047 are rounded most, by 2^-8 and 2^-11 of themselves.
@pytest.mark.parametrize("n_classes", [2, 3, 10, 100, 255, 2047])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_softmax_in_any_type_sums_to_one(dtype, n_classes):
    generator = torch.Generator().manual_seed(n_classes)
    labels = torch.zeros(400, dtype=torch.int64)
    for scale in (0, 1, 5, 30):
        logits = scale * torch.randn(400, n_classes, generator=generator)
        for probs in (torch.softmax(logits.to(dtype), 1), torch.softmax(logits, 1).to(dtype)):
            assert 0 <= metrics.expected_calibration_error(probs, labels) <= 1
            assert 0 <= metrics.expected_calibration_error(probs[:, 0], labels) <= 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_a_row_one_per_cent_off_is_rejected(dtype):
    for total in (0.99, 1.01):
        probs = torch.tensor([[0.5, 0.5], [total - 0.25, 0.25]], dtype=dtype)
        with pytest.raises(ValueError, match=r"^probs: .*in row 1; divide each row by its sum"):
            metrics.expected_calibration_error(probs, [0, 0])


def test_rounding_above_one_is_accepted_and_changes_nothing():
    probs = PROBS.astype(np.float32)
    probs[0] = [1 + 1e-6, 0, 0, 0]
    assert probs.max() > 1
    exact = with_value(probs, (0, 0), 1)
    for metric in (*ERRORS, metrics.brier_score):
        assert metric(probs, LABELS) == pytest.approx(metric(exact, LABELS), abs=1e-6)
