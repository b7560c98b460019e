"""One map for each class, by hand and against the binary methods."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax

from calib_utils.recalibration import (
    HistogramBinning,
    IsotonicRegression,
    OneVersusRest,
    PlattScaling,
    TemperatureScaling,
    load,
)
from tests.recalibration.recalibration_cases import draw, masked, multiclass


def test_one_versus_rest_leaves_masked_rows_out_of_a_class_s_fit():
    logits, labels = multiclass(600, 4, dtype=np.float64)
    new, hidden = masked(logits, labels, -np.inf)
    fitted = OneVersusRest(PlattScaling(inputs="probs")).fit(new, labels)
    powers = np.exp(new)
    scores = powers / powers.sum(axis=1, keepdims=True)
    for k, calibrator in enumerate(fitted.calibrators_):
        seen = ~hidden[:, k]
        alone = PlattScaling(inputs="probs").fit(scores[seen, k], (labels[seen] == k).astype(int))
        assert calibrator.slope_ == pytest.approx(alone.slope_, rel=1e-9)


def test_one_versus_rest_by_hand():
    """Each class alone on its softmax probability, then each row over its sum."""
    logits, labels = multiclass(400, 4)
    for make in (lambda: HistogramBinning(inputs="probs"), lambda: IsotonicRegression("probs")):
        scores = softmax(logits.astype(float), axis=1)
        columns = [
            make().fit(scores[:, k], (labels == k).astype(int)).predict_proba(scores[:, k])
            for k in range(4)
        ]
        expected = np.stack(columns, axis=1)
        expected /= expected.sum(axis=1, keepdims=True)
        found = OneVersusRest(make()).fit(logits, labels).predict_proba(logits)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make",
    [
        lambda: HistogramBinning(10, inputs="probs"),
        lambda: IsotonicRegression("probs"),
        lambda: PlattScaling(inputs="probs"),
    ],
)
def test_one_versus_rest_takes_probabilities_as_they_are(make, dtype):
    """Rows of tenths, as ten trees give them, have ties and lie on edges of bins."""
    rng = np.random.default_rng(0)
    tenths = rng.multinomial(9, [0.5, 0.2, 0.2, 0.1], 3_000) + np.eye(4, dtype=int)[0]
    labels = draw(np.log(tenths + 0.5), rng)
    probs = (tenths / 10).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the zeros
        fitted = OneVersusRest(make(), inputs="probs").fit(probs, labels)
        for k, calibrator in enumerate(fitted.calibrators_):
            alone = make().fit(probs[:, k], (labels == k).astype(int))
            if isinstance(alone, HistogramBinning):
                np.testing.assert_array_equal(calibrator.counts_, alone.counts_)
            atol = 0.02 if isinstance(alone, PlattScaling) else 0  # a zero counts as in all columns
            found = calibrator.predict_proba(probs[:, k])
            np.testing.assert_allclose(found, alone.predict_proba(probs[:, k]), atol=atol)
        each = [m.predict_proba(probs[:, k]) for k, m in enumerate(fitted.calibrators_)]
        expected = np.stack(each, axis=1).astype(float)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(fitted.predict_proba(probs), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_versus_rest_keeps_ties_of_log_odds(dtype):
    ties = np.array([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.2, 0.2, 0.6]] * 20, dtype)
    fitted = OneVersusRest(IsotonicRegression(), inputs="probs").fit(ties, [0, 1, 2, 2, 0, 1] * 10)
    for k, calibrator in enumerate(fitted.calibrators_):
        p = np.unique(ties[:, k]).astype(float)
        assert set(calibrator.thresholds_) <= set(np.log(p) - np.log1p(-p))
    near = np.finfo(dtype).epsneg / np.array([100, 1_000])  # further from 1 than its type tells
    sure = np.stack([np.ones(40), np.tile(near, 20), np.full(40, near[1] / 10)], 1).astype(dtype)
    fitted = OneVersusRest(IsotonicRegression(), inputs="probs").fit(sure, [0, 1, 0, 2] * 10)
    expected = -np.log(near + near[1] / 10)
    np.testing.assert_allclose(fitted.calibrators_[0].thresholds_, expected, rtol=1e-5)


def test_the_maps_of_one_versus_rest_are_recalibrators_of_their_own(tmp_path):
    fitted = OneVersusRest(HistogramBinning(5)).fit(*multiclass(300, 3))
    first = fitted.calibrators_[0]
    first.save(tmp_path / "first.npz")
    z = np.linspace(-4, 4, 9)
    np.testing.assert_array_equal(
        load(tmp_path / "first.npz").predict_proba(z), first.predict_proba(z)
    )
    assert first.n_samples_ == 300


def test_one_versus_rest_on_log_odds():
    """The log-odds keep what probabilities in float64 lose."""
    logits = np.array([[100.0, 0, -50], [60, 0, 1], [0, 45, 2], [3, 2, 1], [1, 2, 3], [0, 90, 1]])
    labels = np.array([0, 0, 1, 1, 2, 1])
    fitted = OneVersusRest(IsotonicRegression()).fit(logits, labels)
    first = fitted.calibrators_[0].thresholds_
    assert first.max() == pytest.approx(100 - np.log(1 + np.exp(-50)), rel=1e-12)
    assert fitted.calibrators_[2].thresholds_.min() == pytest.approx(-150)


def test_one_versus_rest_keeps_the_probabilities_of_rows_of_zeros():
    logits = np.log([[0.8, 0.15, 0.05], [0.75, 0.2, 0.05], [0.1, 0.1, 0.8], [0.05, 0.75, 0.2]])
    fitted = OneVersusRest(HistogramBinning(4)).fit(logits, [0, 0, 2, 1])
    for k, calibrator in enumerate(fitted.calibrators_):
        calibrator.probabilities_ = np.array([0.0, 0.0, 1.0, 1.0])
        assert fitted.classes_[k] == k
    new = np.log([[0.4, 0.3, 0.3], [0.7, 0.2, 0.1]])
    np.testing.assert_allclose(fitted.predict_proba(new), [[0.4, 0.3, 0.3], [1, 0, 0]], atol=1e-12)


def test_one_versus_rest_gives_ties_after_binning_to_the_first_class():
    logits = np.log([[0.38, 0.34, 0.28], [0.34, 0.38, 0.28]] * 20)
    with pytest.warns(UserWarning, match="no sample"):
        fitted = OneVersusRest(HistogramBinning(2)).fit(logits, [0, 1] * 20)
    probs = fitted.predict_proba(logits)
    np.testing.assert_array_equal(probs[0], probs[1])
    assert (probs.argmax(axis=1) == 0).all()


def test_one_versus_rest_gathers_warnings():
    with pytest.warns(UserWarning, match=r"\(for 4 of 4 classes\)") as caught:
        OneVersusRest(PlattScaling()).fit(8 * np.eye(4), [0, 1, 2, 3])
    assert len(caught) == 1
    with pytest.raises(ValueError, match="base: expected a binary"):
        OneVersusRest(TemperatureScaling())


def test_one_versus_rest_refuses_a_bad_argument_of_its_base():
    method = OneVersusRest(HistogramBinning())
    method.base.n_bins = 0
    with pytest.raises(ValueError, match=r"^n_bins: expected"):
        method.fit(*multiclass(200, 4))
