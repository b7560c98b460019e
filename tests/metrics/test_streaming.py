"""Calibration errors from batches equal those of all predictions at once."""

import importlib.util
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, softmax

from calib_utils import metrics
from calib_utils.metrics import (
    expected_calibration_error,
    maximum_calibration_error,
    reliability_bins,
    streaming,
)
from calib_utils.metrics.streaming import (  # those without torchmetrics
    CalibrationError,
)
from calib_utils.predictions import as_predictions

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(5), 2000).astype(np.float32)
LABELS = RNG.integers(5, size=2000)


def of_batches(probs, labels, cuts, metric=None):
    metric = CalibrationError() if metric is None else metric
    for start, stop in zip([0, *cuts], [*cuts, len(labels)], strict=True):
        if start < stop:
            metric.update(probs[start:stop], labels[start:stop])
    return metric


def root_mean_square_error(probs, labels, n_bins):
    bins = reliability_bins(*metrics.top_label(probs, labels), n_bins)
    held = bins.counts > 0
    gaps = (bins.confidence - bins.accuracy)[held]
    return np.average(gaps**2, weights=bins.counts[held]) ** 0.5


# Each makes a metric, beside the number of all predictions at once.
STREAMS = {
    "ECE": (CalibrationError, expected_calibration_error),
    "RMSCE": (lambda n_bins: CalibrationError(n_bins, "l2"), root_mean_square_error),
    "MCE": (lambda n_bins: CalibrationError(n_bins, "max"), maximum_calibration_error),
}


@pytest.mark.parametrize("name", STREAMS)
@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 2000), max_size=12).map(sorted), st.sampled_from([1, 5, 15, 49]))
def test_it_does_not_matter_how_batches_are_cut(name, cuts, n_bins):
    make, of_all = STREAMS[name]
    whole = of_all(PROBS, LABELS, n_bins)
    metric = of_batches(PROBS, LABELS, cuts, make(n_bins))
    assert metric.compute() == pytest.approx(whole, abs=1e-13)
    first, second = make(n_bins), make(n_bins)
    middle = cuts[0] if cuts and 0 < cuts[0] < 2000 else 1000
    first.update(PROBS[:middle], LABELS[:middle])
    second.update(PROBS[middle:], LABELS[middle:])
    first.merge(second)
    assert first.compute() == pytest.approx(whole, abs=1e-13)
    first.reset()
    first.update(PROBS[:middle], LABELS[:middle])
    assert first.compute() == pytest.approx(of_all(PROBS[:middle], LABELS[:middle], n_bins))


@pytest.mark.parametrize("name", STREAMS)
def test_batches_from_threads_all_count(name, monkeypatch):
    """Each waits between reading the sums and writing them, as a busy machine may let it."""
    make, of_all = STREAMS[name]
    of_numbers = streaming.like

    def slow(*given):
        time.sleep(0.001)
        return of_numbers(*given)

    monkeypatch.setattr(streaming, "like", slow)
    metric = make(15)
    parts = [slice(start, start + 50) for start in range(0, 2000, 50)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda part: metric.update(PROBS[part], LABELS[part]), parts))
    assert metric.compute() == pytest.approx(of_all(PROBS, LABELS, 15), abs=1e-13)


@pytest.mark.parametrize("name", STREAMS)
def test_weights_count_beside_those_of_all_batches(name):
    make, of_all = STREAMS[name]
    times = np.random.default_rng(1).integers(0, 4, 2000)
    metric, often = make(15), np.repeat(np.arange(2000), times)
    for rows in (slice(700), slice(700, None)):
        metric.update(as_predictions(PROBS[rows], LABELS[rows], sample_weight=times[rows]))
    expected = of_all(PROBS[often], LABELS[often], 15)
    assert metric.compute() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("make_array", [np.asarray, torch.as_tensor])
@pytest.mark.parametrize("name", STREAMS)
def test_logits_and_maps_are_the_rows_of_their_probabilities(name, make_array):
    """(N, K, ...) as of segmentation; and a place that counts for nothing."""
    _, of_all = STREAMS[name]
    rng = np.random.default_rng(2)
    maps, labels = rng.normal(0, 2, (4, 5, 6, 7)), rng.integers(5, size=(4, 6, 7))
    maps[0, 1, 2, 3], labels[0, 2, 3] = -np.inf, 0  # a masked class
    rows = np.array([softmax(maps[n, :, i, j]) for n, i, j in np.ndindex(4, 6, 7)])
    expected = of_all(rows, labels.ravel(), 15)
    given = {"inputs": "logits", "ignore_index": -100}
    metric = CalibrationError(15, {"ECE": "l1", "RMSCE": "l2", "MCE": "max"}[name], **given)
    metric.update(make_array(maps), make_array(labels))
    assert metric.compute() == pytest.approx(expected, rel=1e-9)
    maps[1:3, :, 0], labels[1:3, 0] = np.nan, -100
    metric.reset()
    metric.update(make_array(maps), make_array(labels))
    kept = labels.ravel() != -100
    assert metric.compute() == pytest.approx(of_all(rows[kept], labels.ravel()[kept], 15), rel=1e-9)
    metric.update(make_array(maps[:0]), make_array(labels[:0]))
    with pytest.raises(ValueError, match=r"^probs .*found \(4, 5, 6, 7\) with labels \(6, 7, 4\)"):
        metric.update(make_array(maps), make_array(labels.transpose(1, 2, 0)))


@pytest.mark.parametrize("make_array", [np.asarray, torch.as_tensor])
def test_tokens_have_their_classes_last(make_array):
    rng = np.random.default_rng(4)
    logits, labels = rng.normal(0, 2, (3, 8, 5)), rng.integers(5, size=(3, 8))
    labels[1, :4] = -100
    metric = CalibrationError(inputs="logits", ignore_index=-100)
    metric.update(make_array(logits), make_array(labels))
    kept = labels != -100
    expected = expected_calibration_error(softmax(logits[kept], axis=1), labels[kept])
    assert metric.compute() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(
        ValueError, match=r"fit \(\.\.\., K\) and \(N, K, \.\.\.\) alike; give a row"
    ):
        metric.update(make_array(logits[:, :5]), make_array(labels[:, :5]))


def test_log_odds_are_those_of_the_positive_class():
    z = np.random.default_rng(3).normal(0, 2, 2000)
    metric = CalibrationError(inputs="logits")
    metric.update(z[:900], LABELS[:900] % 2)
    metric.update(as_predictions(logits=z[900:], labels=LABELS[900:] % 2))
    assert metric.compute() == pytest.approx(expected_calibration_error(expit(z), LABELS % 2))


def test_inputs_are_what_they_were_said_to_be():
    with pytest.warns(UserWarning, match="from 0 to 1, like probabilities; give the logits"):
        CalibrationError(inputs="logits").update(PROBS, LABELS)
    with pytest.raises(ValueError, match=r"^probs: expected values from 0 to 1, found .*softmax"):
        CalibrationError().update(np.log(PROBS), LABELS)
    with pytest.raises(
        ValueError, match=r"^probs \(inputs='logits'\): expected logits, found Pred"
    ):
        CalibrationError(inputs="logits").update(as_predictions(PROBS, LABELS))
    with pytest.raises(ValueError, match=r"^inputs: expected 'probs' or 'logits', found 'scores'"):
        CalibrationError(inputs="scores")
    with pytest.raises(ValueError, match=r"^norm: expected 'l1', 'l2' or 'max', found 'l3'"):
        CalibrationError(15, "l3")
    with pytest.raises(ValueError, match=r"^ignore_index: expected an integer, found 'void'"):
        CalibrationError(ignore_index="void")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_batches_of_any_type(dtype):
    probs, labels = torch.from_numpy(PROBS).to(dtype), torch.from_numpy(LABELS)
    whole = expected_calibration_error(probs, labels)
    assert of_batches(probs, labels, [1, 700]).compute() == pytest.approx(whole, abs=1e-14)
    positive, binary = probs[:, 0], (labels == 0).long()
    whole = expected_calibration_error(positive, binary)
    assert of_batches(positive, binary, [1, 700]).compute() == pytest.approx(whole, abs=1e-14)


def test_a_batch_of_padding_adds_nothing():
    padding = as_predictions(PROBS[:64], LABELS[:64], sample_weight=np.zeros(64))
    for kind in (CalibrationError, metrics.CalibrationError):
        alone, padded = kind(), kind()
        for metric in (alone, padded):
            metric.update(PROBS, LABELS)
        padded.update(padding)
        assert float(padded.compute()) == float(alone.compute())
        np.testing.assert_array_equal(padded.sums, alone.sums)


def test_bins_are_those_of_all_predictions():
    ours = of_batches(PROBS, LABELS, [100, 101, 1999]).bins()
    theirs = reliability_bins(*metrics.top_label(PROBS, LABELS))
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)
    assert ours.counts.dtype == np.int64


def test_more_than_2_to_the_24_samples_in_one_bin():
    # float32 cannot count beyond 2^24, and its sums stop growing long before.
    metric = CalibrationError()
    metric.update([0.9, 0.9, 0.9], [1, 1, 0])
    for _ in range(24):
        metric.merge(metric)
    metric.update([0.9], [1])
    assert metric.bins().counts.sum() == 3 * 2**24 + 1
    exact = abs((2 * 2**24 + 1) / (3 * 2**24 + 1) - 0.9)
    assert metric.compute() == pytest.approx(exact, abs=1e-12)


def test_processes_share_it_as_a_pickle_or_as_sums():
    whole = expected_calibration_error(PROBS, LABELS)
    halves = [of_batches(PROBS[i::2], LABELS[i::2], []) for i in range(2)]
    first, second = pickle.loads(pickle.dumps(halves))
    first.merge(second)
    assert first.compute() == pytest.approx(whole, abs=1e-14)
    # As all_reduce does: in place, through a tensor of the same memory.
    torch.from_numpy(halves[0].sums).add_(torch.from_numpy(halves[1].sums))
    assert halves[0].compute() == pytest.approx(whole, abs=1e-14)


def test_numbers_of_bins_must_agree():
    with pytest.raises(ValueError, match=r"^other: expected 15 bins, found 10; give all"):
        CalibrationError(15).merge(CalibrationError(10))


def test_nothing_seen_is_an_error():
    with pytest.raises(ValueError, match=r"^probs: expected predictions, found none; call update"):
        CalibrationError().compute()


def test_a_bad_batch_changes_nothing():
    metric = of_batches(PROBS, LABELS, [])
    before = metric.sums.copy()
    bad = PROBS.copy()
    bad[-1, 0] = np.nan  # in the last of its rows
    with pytest.raises(ValueError, match=r"^probs: "):
        metric.update(bad, LABELS)
    with pytest.raises(ValueError, match=r"^labels: "):
        metric.update(PROBS, LABELS + 1)
    np.testing.assert_array_equal(metric.sums, before)


def test_batches_of_another_shape_are_another_question():
    metric = of_batches(PROBS, LABELS, [])
    before = metric.sums.copy()
    with pytest.raises(ValueError, match=r"^probs: expected shape \(N, 5\), .* found \(N,\)"):
        metric.update(PROBS[:, 0], LABELS % 2)
    with pytest.raises(ValueError, match=r"^probs: expected shape \(N, 5\), .* found \(N, 2\)"):
        metric.update(PROBS[:, :2] / PROBS[:, :2].sum(axis=1, keepdims=True), LABELS % 2)
    other = CalibrationError()
    other.update(PROBS[:, 0], LABELS % 2)
    with pytest.raises(ValueError, match=r"^other: expected shape \(N, 5\), .* found \(N,\)"):
        metric.merge(other)
    with pytest.raises(ValueError, match=r"^other: expected a CalibrationError, found 5"):
        metric.merge(5)
    np.testing.assert_array_equal(metric.sums, before)
    metric.merge(CalibrationError())  # has seen nothing
    metric.reset()
    metric.update(PROBS[:, 0], LABELS % 2)
    assert float(metric.compute()) == expected_calibration_error(PROBS[:, 0], LABELS % 2)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor])
def test_empty_batches_and_ignored_labels_change_nothing(make):
    whole = expected_calibration_error(PROBS, LABELS)
    labels, probs = LABELS.copy(), PROBS.copy()
    labels[::3], probs[::3] = -100, np.nan
    metric = CalibrationError(ignore_index=-100)
    metric.update(make(probs), make(labels))
    metric.update(make(probs[::3]), make(labels[::3]))
    metric.update(make(PROBS[::3]), make(LABELS[::3]))
    metric.update(make(PROBS[:0]), make(LABELS[:0]))
    assert float(metric.compute()) == pytest.approx(whole, rel=1e-12)
    with pytest.raises(ValueError, match="labels: expected 0 to 4, found -100"):
        CalibrationError().update(make(probs), make(labels))
    tokens = CalibrationError()
    tokens.update(make(PROBS[None]), make(LABELS[None]))  # one text of 2,000 tokens
    assert float(tokens.compute()) == pytest.approx(whole, rel=1e-12)


def test_a_class_is_ignored_in_predictions_too():
    weights = np.random.default_rng(1).exponential(size=2000)
    metric, kept = CalibrationError(ignore_index=2), LABELS != 2
    metric.update(as_predictions(PROBS, LABELS, sample_weight=weights))
    rest = as_predictions(PROBS[kept], LABELS[kept], sample_weight=weights[kept])
    assert float(metric.compute()) == pytest.approx(expected_calibration_error(rest), rel=1e-12)
    plain = CalibrationError(ignore_index=2)
    plain.update(PROBS, LABELS)
    metric.reset()
    metric.update(as_predictions(PROBS, LABELS))
    assert float(metric.compute()) == float(plain.compute())


def test_without_torchmetrics_it_is_the_one_of_numpy():
    plain = importlib.util.find_spec("torchmetrics") is None
    assert (metrics.CalibrationError is CalibrationError) == plain
    assert issubclass(metrics.CalibrationError, CalibrationError)
    assert metrics.CalibrationError.__doc__ == CalibrationError.__doc__


def test_metrics_have_no_other_names():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        metrics.Nothing  # noqa: B018
