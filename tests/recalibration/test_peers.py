"""The recalibrators against other libraries, where these are installed (group `peers`).

Where a peer does something else than the paper, a test written from the formula decides; it
is named here.
"""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    BetaCalibration,
    HistogramBinning,
    IsotonicRegression,
    PlattScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.recalibration_cases import bbq_by_formula, binary, multiclass, nll

pytestmark = pytest.mark.filterwarnings("ignore")


def test_temperature_against_scikit_learn():
    """scikit-learn got temperature scaling in version 1.8."""
    calibration = pytest.importorskip("sklearn.calibration")
    if not hasattr(calibration, "_TemperatureScaling"):
        pytest.skip("scikit-learn is older than 1.8")
    logits, labels = multiclass(3_000, 8, dtype=np.float64)
    theirs = calibration._TemperatureScaling().fit(logits, labels)
    ours = TemperatureScaling().fit(logits, labels)
    np.testing.assert_allclose(ours.predict_proba(logits), theirs.predict(logits), atol=1e-4)
    assert nll(logits / ours.temperature_, labels) <= nll(logits * theirs.beta_, labels) + 1e-12


def test_temperature_against_probmetrics():
    calibrators = pytest.importorskip("probmetrics.calibrators")
    logits, labels = multiclass(3_000, 8)
    probs = softmax(logits, axis=1)
    theirs = calibrators.get_calibrator("temp-scaling").fit(probs, labels).predict_proba(probs)
    ours = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_temperature_against_netcal():
    """In netcal the search is in the precision of the input; float32 comes back with T = 1."""
    scaling = pytest.importorskip("netcal.scaling")
    logits, labels = multiclass(3_000, 8)
    ours = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    found = {}
    for dtype in (np.float64, np.float32):
        probs = softmax(logits.astype(dtype), axis=1)
        found[dtype] = scaling.TemperatureScaling().fit(probs, labels).transform(probs)
    np.testing.assert_allclose(ours, found[np.float64], atol=1e-3)
    unchanged = np.allclose(found[np.float32], probs, atol=1e-4)
    assert unchanged or np.allclose(found[np.float32], ours, atol=1e-3)
    of_float32 = TemperatureScaling().fit(np.log(probs), labels)
    np.testing.assert_allclose(of_float32.predict_proba(np.log(probs)), ours, atol=1e-5)


def test_structured_matrix_scaling_against_probmetrics():
    """Our solution is no worse by its own objective, and gives nearly the same probabilities.

    It mixes a little uniform probability into the tempered ones before the affine map.
    """
    calibrators = pytest.importorskip("probmetrics.calibrators")
    logits, labels = multiclass(2_000, 6)
    theirs = calibrators.SMSCalibrator().fit(softmax(logits.astype(float), axis=1), labels)
    ours = StructuredMatrixScaling().fit(logits, labels)
    expected = theirs.predict_proba(softmax(logits.astype(float), axis=1))
    assert np.abs(ours.predict_proba(logits) - expected).mean() < 1e-3

    def objective(weights, intercept):
        x = log_softmax(logits / ours.temperature_, axis=1)
        change = (weights - np.eye(6)) ** 2
        diagonal = np.trace(change)
        penalty = 5 * (change.sum() - diagonal) + diagonal + (intercept**2).sum()
        return nll(x @ weights.T + intercept, labels) + 6 / 2_000 * penalty

    best = objective(ours.weights_, ours.intercept_)
    assert best <= objective(theirs.W_[:, :6], theirs.W_[:, 6]) + 1e-9


def test_vector_scaling_against_probmetrics():
    """It scales log-probabilities, we centred logits: nearly the same map, and the same NLL."""
    calibrators = pytest.importorskip("probmetrics.calibrators")
    logits, labels = multiclass(20_000, 6)
    probs = softmax(logits.astype(float), axis=1)
    theirs = calibrators.logistic.VectorScalingCalibrator().fit(probs, labels).predict_proba(probs)
    ours = VectorScaling().fit(logits, labels).predict_proba(logits)
    rows = np.arange(20_000)
    assert -np.log(ours[rows, labels]).mean() == pytest.approx(
        -np.log(theirs[rows, labels]).mean(), abs=5e-4
    )


@pytest.mark.parametrize("parameters", [(0.6, 1.4, 0.2), (1.0, 1.0, 0.0), (0.3, 0.3, -1.0)])
def test_beta_against_betacal(parameters):
    betacal = pytest.importorskip("betacal")
    rng = np.random.default_rng(0)
    a, b, c = parameters
    scores = rng.random(5_000)
    z = a * np.log(scores) - b * np.log1p(-scores) + c
    labels = (rng.random(5_000) < expit(z)).astype(int)
    theirs = betacal.BetaCalibration(parameters="abm").fit(scores.reshape(-1, 1), labels)
    ours = BetaCalibration(inputs="probs").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(ours, theirs.predict(scores), atol=2e-3)


def test_histogram_binning_against_netcal():
    """It counts in bins closed on the left; without scores on edges that is no difference."""
    binning = pytest.importorskip("netcal.binning")
    z, labels = binary(4_000)
    scores = expit(z)
    theirs = binning.HistogramBinning(bins=10).fit(scores, labels).transform(scores)
    ours = HistogramBinning(10, inputs="probs").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_isotonic_against_netcal():
    binning = pytest.importorskip("netcal.binning")
    z, labels = binary(1_000)
    scores = expit(z)
    theirs = binning.IsotonicRegression().fit(scores, labels).transform(scores)
    ours = IsotonicRegression(inputs="probs").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_platt_against_netcal():
    scaling = pytest.importorskip("netcal.scaling")
    z, labels = binary(3_000)
    scores = expit(z)
    theirs = scaling.LogisticCalibration().fit(scores, labels).transform(scores)
    ours = PlattScaling().fit(z, labels).predict_proba(z)
    np.testing.assert_allclose(ours, theirs, atol=5e-3)


def test_bbq_against_netcal():
    """Its bins are equally wide and its weights the BIC's: the formula of the paper decides."""
    binning = pytest.importorskip("netcal.binning")
    z, labels = binary(1_000)
    scores = expit(z)
    theirs = binning.BBQ().fit(scores, labels).transform(scores)
    formula, _ = bbq_by_formula(scores, labels, scores)
    ours = BayesianBinningIntoQuantiles(inputs="probs").fit(scores, labels).predict_proba(scores)
    np.testing.assert_allclose(ours, formula, rtol=1e-9)
    assert 0 < np.abs(theirs - formula).mean() < 0.1
