"""The streaming metric as one of torchmetrics, where that is installed."""

import pickle
import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from calib_utils.metrics import (
    CalibrationError,
    expected_calibration_error,
    maximum_calibration_error,
)

torchmetrics = pytest.importorskip("torchmetrics")
RNG = np.random.default_rng(0)
PROBS = torch.from_numpy(RNG.dirichlet(np.ones(5), 2000))
LABELS = torch.from_numpy(RNG.integers(5, size=2000))
WHOLE = expected_calibration_error(PROBS, LABELS)


def test_it_is_a_metric_that_agrees_with_torchmetrics_own():
    metric = CalibrationError(n_bins=10)
    theirs = torchmetrics.classification.MulticlassCalibrationError(5, n_bins=10)
    assert isinstance(metric, torchmetrics.Metric)
    for rows in torch.arange(2000).split(300):
        of_batch = metric(PROBS[rows], LABELS[rows])
        expected = expected_calibration_error(PROBS[rows], LABELS[rows], n_bins=10)
        assert of_batch.item() == pytest.approx(expected, rel=1e-12)
        own = theirs(PROBS[rows], LABELS[rows])
        assert of_batch.item() == pytest.approx(own.item(), abs=1e-6)
    assert metric.compute().item() == pytest.approx(theirs.compute().item(), abs=1e-6)
    assert metric.compute().dtype == torch.float64
    metric.reset()
    assert metric.sums.sum() == metric.columns == 0
    assert metric.columns.shape == ()
    metric.update(PROBS, LABELS)
    assert metric.columns.shape == ()
    assert metric.compute().item() == pytest.approx(
        expected_calibration_error(PROBS, LABELS, n_bins=10), rel=1e-12
    )


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("inputs", ["probs", "logits"])
def test_norms_logits_and_maps_are_those_of_torchmetrics(norm, inputs):
    rng = torch.Generator().manual_seed(0)
    maps = torch.randn((8, 5, 6, 7), generator=rng, dtype=torch.float64)
    maps = maps.softmax(1) if inputs == "probs" else 2 * maps
    labels = torch.randint(6, (8, 6, 7), generator=rng) - 1
    ours = CalibrationError(10, norm, inputs=inputs, ignore_index=-1)
    theirs = torchmetrics.classification.MulticlassCalibrationError(5, 10, norm, ignore_index=-1)
    for rows in torch.arange(8).split(3):
        of_batch = ours(maps[rows], labels[rows])
        assert of_batch.item() == pytest.approx(theirs(maps[rows], labels[rows]).item(), abs=1e-6)
    assert ours.compute().item() == pytest.approx(theirs.compute().item(), abs=1e-6)
    logits = torch.logit(PROBS[:, 0])
    binary = torchmetrics.classification.BinaryCalibrationError(10, norm)
    positive = CalibrationError(10, norm, inputs="logits")
    expected = binary(logits, (LABELS == 0).long()).item()
    assert positive(logits, (LABELS == 0).long()).item() == pytest.approx(expected, abs=1e-6)


def test_it_draws_its_values_as_others_do():
    metric = CalibrationError()
    values = [metric(PROBS[rows], LABELS[rows]) for rows in torch.arange(2000).split(500)]
    fig, ax = metric.plot()
    assert ax.lines[0].get_ydata() == [metric.compute()]
    assert ax.get_ylim()[0] <= 0  # the best value is in sight
    figure, own = plt.subplots()
    assert metric.plot(values, ax=own)[1] is own
    np.testing.assert_array_equal(own.lines[0].get_ydata(), torch.stack(values))
    for each in (fig, figure):
        plt.close(each)


def test_an_empty_last_batch_and_ignored_labels():
    metric = CalibrationError(ignore_index=-100)
    metric(PROBS, LABELS)
    assert metric(PROBS[:0], LABELS[:0]).isnan()
    assert metric(PROBS[:3], torch.full((3,), -100)).isnan()
    assert metric.compute().item() == pytest.approx(WHOLE, rel=1e-12)


def test_a_batch_of_another_shape_is_refused_by_calls_too():
    metric = CalibrationError()
    metric(PROBS, LABELS)
    with pytest.raises(ValueError, match=r"^probs: expected shape \(N, 5\), .* found \(N,\)"):
        metric(PROBS[:, 0], LABELS % 2)
    assert metric.compute().item() == pytest.approx(WHOLE, rel=1e-12)


def test_it_stands_in_a_collection_and_is_copied_stored_and_moved():
    collection = torchmetrics.MetricCollection(
        {"ece": CalibrationError(), "accuracy": torchmetrics.classification.MulticlassAccuracy(5)}
    )
    collection.update(PROBS, LABELS)
    assert collection.compute()["ece"].item() == pytest.approx(WHOLE, rel=1e-12)
    metric = collection["ece"]
    for twin in (metric.clone(), pickle.loads(pickle.dumps(metric)), metric.to("cpu")):
        assert twin.compute().item() == pytest.approx(WHOLE, rel=1e-12)
    metric.persistent(True)
    restored = CalibrationError()
    restored.persistent(True)
    restored.load_state_dict(metric.state_dict())
    torch.testing.assert_close(restored.sums, metric.sums)
    assert metric.float().sums.dtype == torch.float64
    other = CalibrationError()
    other.merge(metric)
    assert other.compute().item() == pytest.approx(WHOLE, rel=1e-12)


@pytest.mark.thorough
def test_processes_share_it(tmp_path):
    """Also with one that has no rows: what they gather has one shape in all."""
    program = f"""
import os, sys, datetime, numpy as np, torch
from calib_utils.metrics import CalibrationError
CalibrationError()  # imports torchmetrics, once for both
other = os.fork()
rank = int(other > 0)
torch.distributed.init_process_group(
    "gloo", init_method="file://{tmp_path}/meet", rank=rank, world_size=2,
    timeout=datetime.timedelta(seconds=600),
)
rng = np.random.default_rng(0)
probs, labels = rng.dirichlet(np.ones(5), 2000), rng.integers(5, size=2000)
with open(f"{tmp_path}/{{rank}}", "w") as file:
    for first in (500, 0):
        for metric in (CalibrationError(), CalibrationError(norm="max")):
            if rank:
                metric.update(probs[first:], labels[first:])
            elif first:
                metric.update(probs[:first], labels[:first])
            print(repr(metric.compute().item()), file=file)
sys.exit(rank and os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    expected = pytest.approx(2 * [WHOLE, maximum_calibration_error(PROBS, LABELS)], rel=1e-12)
    for rank in (0, 1):
        assert [float(line) for line in (tmp_path / f"{rank}").read_text().split()] == expected


def test_a_collection_keeps_apart_what_counts_other_rows():
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 120), rng.integers(0, 3, 120)
    labels[:60] = rng.integers(1, 3, 60)  # so that all agree on the first batch
    ignored = (None, 0, 1_000_000, 1_000_001)
    metrics = {str(index): CalibrationError(ignore_index=index) for index in ignored}
    collection = torchmetrics.MetricCollection(metrics)
    alone = CalibrationError(ignore_index=0)
    for rows in (slice(0, 60), slice(60, 120)):
        collection.update(probs[rows], labels[rows])
        alone.update(probs[rows], labels[rows])
    found = collection.compute()
    assert found["0"] == alone.compute() != found["None"]
    assert len(collection.compute_groups) == 4
    shared = torchmetrics.MetricCollection(
        {"ece": CalibrationError(), "mce": CalibrationError(norm="max")}
    )
    shared.update(probs, labels)
    assert len(shared.compute_groups) == 1
    assert shared.compute()["mce"].item() == maximum_calibration_error(probs, labels)


def test_sums_that_are_merged_after_compute_count():
    first, second, third = (CalibrationError() for _ in range(3))
    first.update(PROBS[:500], LABELS[:500])
    second.update(PROBS[500:], LABELS[500:])
    first.compute()
    first.merge(second)
    assert first.compute().item() == pytest.approx(WHOLE, rel=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # torchmetrics warns of a metric without an update
        third.merge(first)
        assert third.compute().item() == pytest.approx(WHOLE, rel=1e-12)
    third.sums = 0 * first.sums
    assert third.compute().isnan()
