"""Scores in half and single precision: a report finds the same as from the same numbers in double.

Stated confidences are tenths, which lie on the edges of bins, and files often keep them in float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calib_audit import report
from calib_audit.applying import apply_calibrator
from calib_audit.measures import ece_of
from calib_utils.metrics import classwise_calibration_error, expected_calibration_error
from calib_utils.recalibration import HistogramBinning, OneVersusRest

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

NARROW = ["float32", "float16"]
every_form = pytest.mark.parametrize("form", ["frame", "file", "folder"])


def tenths(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Scores .6 to .9, of which .5, .8, .7 and 1 came true: in ten bins each has a bin."""
    rates = {0.6: 0.5, 0.7: 0.8, 0.8: 0.7, 0.9: 1.0}
    score = np.repeat(list(rates), 200).astype(dtype)
    label = np.concatenate([np.arange(200) < 200 * rate for rate in rates.values()])
    return score, label.astype(np.int64)


def in_form(form: str, columns: dict[str, np.ndarray], folder: Path) -> Any:
    if form == "frame":
        return columns
    parquet.write_table(pa.table(columns), folder / "part.parquet")
    return folder / "part.parquet" if form == "file" else folder


def of(data: Any, **options: Any) -> Any:
    return report(data, label="label", score="score", n_bins=10, **options)


@every_form
@pytest.mark.parametrize("dtype", ["float64", *NARROW])
def test_a_score_on_an_edge_is_in_the_bin_below(dtype: str, form: str, tmp_path: Path) -> None:
    score, label = tenths(dtype)
    of_day = np.full(len(label), "2026-01-01")
    columns = {"score": score, "label": label, "side": of_day, "day": of_day}
    found = of(in_form(form, columns, tmp_path), group="side", time="day:D")
    assert found.measures.ece == pytest.approx(0.1, abs=5e-4)
    assert found.measures.ece == pytest.approx(expected_calibration_error(score, label, 10))
    assert found.bins.array[0].nonzero()[0].tolist() == [5, 6, 7, 8]
    assert found.recalibrators.ece == pytest.approx(0.1, abs=5e-4)
    alike = of(in_form(form, columns | {"score": score.astype(float).round(1)}, tmp_path))
    assert found.measures.error == pytest.approx(alike.measures.error, abs=5e-4)
    assert found.measures.baseline_ece == pytest.approx(alike.measures.baseline_ece, abs=5e-4)
    (group,) = found.groups["side"]
    assert ece_of(group.bins) == pytest.approx(found.measures.ece)


@every_form
@pytest.mark.parametrize("dtype", NARROW)
def test_so_is_one_of_several_classes(dtype: str, form: str, tmp_path: Path) -> None:
    score, label = tenths(dtype)
    probs = np.stack([1 - score, score], axis=1)
    columns = {"label": label, "prob_0": probs[:, 0], "prob_1": probs[:, 1]}
    found = report(in_form(form, columns, tmp_path), n_bins=10, cross_fit=0)
    assert found.measures.ece == pytest.approx(expected_calibration_error(probs, label, 10))
    by_class = np.mean([ece_of(part.bins) for part in found.classes])
    assert by_class == pytest.approx(classwise_calibration_error(probs, label, 10))


@pytest.mark.parametrize("n_classes", [1, 2])
def test_tensors_of_bfloat16_have_edges_of_their_type(n_classes: int) -> None:
    """As for the metrics: 0.6 is 0.6015625 there, which in float32 is above the edge."""
    torch = pytest.importorskip("torch")
    score, label = (torch.tensor(each) for each in tenths("float32"))
    probs = torch.stack([1 - score, score], dim=1).bfloat16()
    given = {"score": probs[:, 1]} if n_classes == 1 else {"probs": probs}
    found = report({**given, "label": label}, n_bins=10, rescale=True)
    own = probs[:, 1] if n_classes == 1 else probs
    expected = expected_calibration_error(own, label, 10)
    assert found.measures.ece == pytest.approx(expected)
    assert found.measures.ece == pytest.approx(0.1, abs=3e-3)
    assert found.bins.array[0].nonzero()[0].tolist() == [5, 6, 7, 8]
    assert found.recalibrators.ece == pytest.approx(expected, abs=5e-4)


def test_a_tensor_with_a_gradient_is_read() -> None:
    torch = pytest.importorskip("torch")
    score, label = tenths("float64")
    tensor = torch.tensor(score, requires_grad=True)
    found = report({"score": tensor, "label": torch.tensor(label)}, cross_fit=0)
    assert found.measures.ece == pytest.approx(expected_calibration_error(score, label))


@pytest.mark.parametrize("rescale", [False, True])
def test_rows_that_sum_to_one_are_not_rescaled(rescale: bool) -> None:
    score, label = tenths("float32")
    probs = np.stack([1 - score, score], axis=1)
    probs = np.concatenate([probs, np.float32([[0.5, 0.49]])])
    label = np.append(label, 1)
    columns = {"label": label, "prob_0": probs[:, 0], "prob_1": probs[:, 1]}
    if rescale:
        found = report(columns, n_bins=10, cross_fit=0, rescale=True)
        assert found.measures.ece == pytest.approx(0.1, abs=2e-3)
        assert "1 row was divided by its sum" in found.read
    else:
        with pytest.raises(ValueError, match="sum to 1"):
            report(columns, cross_fit=0)


def test_a_column_of_whole_numbers_is_counted_in_double() -> None:
    score, label = tenths("float32")
    mixed = {"prob_0": 1 - score.astype(float), "prob_1": score, "label": label}
    expected = {"prob_0": 1 - score.astype(float), "prob_1": score.astype(float), "label": label}
    both = [report(each, n_bins=10, cross_fit=0).measures.ece for each in (mixed, expected)]
    assert both[0] == both[1]


@pytest.mark.parametrize("form", ["parquet", "npz"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_calibrator_is_applied_in_the_type_of_the_file(
    dtype: str, form: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    tenths = rng.integers(1, 10, 3_000)
    truth = np.array([0, 0.3, 0.1, 0.5, 0.2, 0.6, 0.4, 0.9, 0.5])
    score = (tenths / 10).astype(dtype)
    label = (rng.random(3_000) < truth[tenths - 1]).astype(int)
    two = np.stack([1 - score, score], axis=1)
    data, written = tmp_path / f"data.{form}", tmp_path / "out.csv"
    binning = HistogramBinning(10, inputs="probs")
    for method, given in (
        (binning.fit(score, label), {"score": score}),
        (
            OneVersusRest(binning, inputs="probs").fit(two, label),
            {"prob_0": two[:, 0], "prob_1": two[:, 1]},
        ),
    ):
        method.save(tmp_path / "map.npz")
        if form == "npz":
            np.savez(data, **given)
        else:
            parquet.write_table(pa.table(given), data)
        apply_calibrator(tmp_path / "map.npz", str(data), written)
        found = np.loadtxt(written, delimiter=",", skiprows=1, ndmin=2)
        expected = method.predict_proba(score if len(given) == 1 else two).reshape(3_000, -1)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
