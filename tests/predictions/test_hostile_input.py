"""What was once taken in silence, or answered with somebody else's error."""

import numpy as np
import pytest

from calib_utils.metrics import CalibrationError, expected_calibration_error
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import multiclass

torch = pytest.importorskip("torch")

# ---------------------------------------------------------------- names of classes


class NAType:
    """As pandas has it for what is missing: no comparison of it is true or false."""

    def __ne__(self, _):
        raise TypeError("boolean value of NA is ambiguous")

    __eq__ = __ne__
    __hash__ = object.__hash__


@pytest.mark.parametrize("missing", [None, np.nan, NAType()], ids=["None", "NaN", "NA"])
def test_a_missing_label_is_no_negative(missing):
    """With ``positive`` all other labels are negative; one that is not there is none of them."""
    labels = np.array(["yes", "no", missing, "no"], object)
    with pytest.raises(ValueError, match=r"labels: found .* at index 2, which is missing"):
        as_predictions([0.7, 0.2, 0.6, 0.1], labels, positive="yes")
    numbers = np.array([1, 0, np.nan, 0])
    with pytest.raises(ValueError, match=r"labels: found .*nan.* at index 2, which is missing"):
        as_predictions([0.7, 0.2, 0.6, 0.1], numbers, positive=1)


MASKED = np.ma.masked_array([1, 0, 1, 0], [False, True, False, False])


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (MASKED, "masked entries"),
        (list(MASKED), "masked entries"),
        ([[1], [0, 1], [0], [1]], "unequal length"),
        (np.array([[1], [0, 1], [0], [1]], object), "unhashable"),
        (np.zeros(4, [("a", float)]), "texts, found"),
        (torch.empty(4, dtype=torch.int64, device="meta"), "layout"),
        (torch.tensor([1, 0, 1, 0]).to_sparse(), "layout"),
    ],
    ids=["masked", "list of masked", "ragged", "lists", "records", "meta", "sparse"],
)
def test_what_is_no_name_is_refused(labels, found):
    with pytest.raises(ValueError, match=f"labels: .*{found}"):
        as_predictions([0.7, 0.2, 0.6, 0.1], labels, classes=[0, 1])


def test_names_of_several_types():
    probs = [[0.7, 0.3], [0.4, 0.6]]
    labels = np.array(["a", 1], object)
    assert as_predictions(probs, labels, classes=["a", 1]).labels.tolist() == [0, 1]
    with pytest.raises(ValueError, match="found 'b', 2"):
        as_predictions(probs, np.array(["b", 2], object), classes=["a", 1])


# ---------------------------------------------------------------- batches


def test_batches_that_are_no_batches():
    metric = CalibrationError(ignore_index=-100)
    probs, labels = torch.tensor([[0.7, 0.3], [0.2, 0.8]]), [0, -100]
    for bad in (probs.to_sparse(), torch.nested.nested_tensor([probs[0], probs[0, :1]])):
        with pytest.raises(ValueError, match="probs: found a tensor"):
            metric.update(bad, labels)
    with pytest.raises(ValueError, match="probs: found masked entries"):
        metric.update(np.ma.masked_array(probs.numpy(), [[True, False]] * 2), labels)
    with pytest.raises(ValueError, match="probs: found rows of unequal length"):
        metric.update([[0.7, 0.3], [0.2]], labels)
    metric.update(probs, labels)
    assert metric.compute() == pytest.approx(0.3)


def test_views_of_tensors_are_numbers():
    probs = torch.tensor([[-0.7, -0.3], [-0.2, -0.8]])._neg_view()
    assert expected_calibration_error(probs, [0, 1]) == pytest.approx(0.25)


# ---------------------------------------------------------------- recalibrators


def test_what_can_be_read_once_is_no_array():
    logits, labels = multiclass(100, 3)
    for once in ((row for row in logits), iter(logits), zip(logits, logits, strict=True)):
        with pytest.raises(ValueError, match=r"logits: found .*, which can be read only once"):
            TemperatureScaling().fit(once, labels)
    with pytest.raises(ValueError, match="labels: found generator, which can be read only once"):
        TemperatureScaling().fit(logits, (label for label in labels))


def test_weights_that_count_too_many_samples():
    """Bins are as many as the cube root of the weights' sum tells, which nobody can hold."""
    with pytest.raises(ValueError, match="sample_weight: expected a sum of at most 1e"):
        BayesianBinningIntoQuantiles().fit([-1.0, 0.5, 1.0], [0, 0, 1], [1, 1, 1e20])


def test_rounded_rows_are_refused_by_their_name():
    logits, labels = multiclass(300, 4, dtype=np.float64)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    with pytest.raises(ValueError, match=r"logits \(inputs='probs'\): expected rows that sum to 1"):
        VectorScaling(inputs="probs").fit(probs.round(3), labels)
