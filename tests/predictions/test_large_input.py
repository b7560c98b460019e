"""Logits and probabilities in a file are read in blocks, and no copy of them is made."""

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from calib_utils import decisions, metrics
from calib_utils.predictions import as_predictions
from calib_utils.recalibration import (
    BayesianBinningIntoQuantiles,
    BetaCalibration,
    EnsembleTemperatureScaling,
    IsotonicRegression,
    PlattScaling,
    TemperatureScaling,
)

N, K = 4_000, 1_000


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two files of float16, logits and probabilities, each of 8 MB; and labels."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    logits = 2 * rng.standard_normal((N, K), np.float32)
    labels = rng.permutation(N) % K
    logits[np.arange(N), labels] += 6
    probs = TemperatureScaling(1.0).predict_proba(logits)
    np.save(folder / "logits.npy", logits.astype(np.float16))
    np.save(folder / "probs.npy", probs.astype(np.float16))
    files = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("logits", "probs"))
    return *files, labels


def peak_of(run):
    tracemalloc.start()
    result = run()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return result, peak


USES = {
    "fit": lambda z, p, y: TemperatureScaling().fit(z, y).temperature_,
    "ensemble": lambda z, p, y: EnsembleTemperatureScaling().fit(z, y).weights_,
    "predict": lambda z, p, y: TemperatureScaling(1.5).predict(z),
    "NLL": lambda z, p, y: metrics.negative_log_likelihood(z, y, inputs="logits"),
    "NLL of probabilities": lambda z, p, y: metrics.negative_log_likelihood(p, y),
    "accuracy": lambda z, p, y: metrics.accuracy(z, y, inputs="logits"),
    "accuracy of probabilities": lambda z, p, y: metrics.accuracy(p, y),
    "Brier": lambda z, p, y: metrics.brier_score(p, y),
    "ECE": lambda z, p, y: metrics.expected_calibration_error(p, y),
    "class-wise": lambda z, p, y: metrics.classwise_calibration_error(p, y),
    "smooth": lambda z, p, y: metrics.smooth_calibration_error(p, y),
    "debiased": lambda z, p, y: metrics.debiased_calibration_error(p, y),
    "interval": lambda z, p, y: metrics.calibration_error_interval(p, y),
    "gate": lambda z, p, y: metrics.expected_calibration_error(as_predictions(p, y)),
    "gate of logits": lambda z, p, y: metrics.accuracy(as_predictions(logits=z, labels=y)),
}
# Beside the blocks: what draws of noise, a fine grid, or classes times bins take anyway.
OWN = {"interval": 4e6, "smooth": 4e7, "ensemble": 4e6}


@pytest.mark.parametrize("name", USES)
def test_no_copy_is_made(name, stored):
    USES[name](*stored[:2], stored[2])  # imports
    found, peak = peak_of(lambda: USES[name](*stored))
    assert peak < 0.7 * stored[0].nbytes + OWN.get(name, 0)
    in_memory = [np.array(array) for array in stored]
    np.testing.assert_array_equal(found, USES[name](*in_memory))


def test_predictions_in_chunks_are_predictions(stored):
    logits, _, labels = stored
    scaling = TemperatureScaling().fit(logits, labels)
    whole = scaling.predict_proba(logits)
    metric = metrics.CalibrationError()
    for start in range(0, N, 1_500):
        rows = slice(start, start + 1_500)
        part = scaling.predict_proba(logits[rows])
        np.testing.assert_array_equal(part, whole[rows])
        metric.update(part, labels[rows])
    assert whole.dtype == np.float16
    expected = metrics.expected_calibration_error(whole, labels)
    assert float(metric.compute()) == pytest.approx(expected, rel=1e-12)


MANY = 400_000
SOME = np.random.default_rng(0).random(MANY)
RIGHT = (np.random.default_rng(1).random(MANY) < SOME**1.3).astype(np.int64)
OF_MANY_ROWS = {
    "curve of risk": lambda: decisions.risk_coverage(SOME, RIGHT),
    "threshold": lambda: decisions.selection_threshold(SOME, RIGHT, risk=0.2),
    "decomposition": lambda: metrics.brier_decomposition(SOME, RIGHT),
    "Platt": lambda: PlattScaling(inputs="probs").fit(SOME, RIGHT),
    "beta": lambda: BetaCalibration(inputs="probs").fit(SOME, RIGHT),
    "isotonic": lambda: IsotonicRegression(inputs="probs").fit(SOME, RIGHT),
    "BBQ": lambda: BayesianBinningIntoQuantiles(inputs="probs").fit(SOME, RIGHT),
}


@pytest.mark.parametrize("name", OF_MANY_ROWS)
def test_many_rows_take_four_times_their_memory(name):
    """Of which the curve, that is returned, is half."""
    _, peak = peak_of(OF_MANY_ROWS[name])
    assert peak < 4.3 * (SOME.nbytes + RIGHT.nbytes)


def test_a_fit_in_blocks_is_the_one_of_scikit_learn():
    """There are 25 blocks, with weights and without."""
    log_odds = np.log(SOME / (1 - SOME))[:, None]
    for weights in (None, 0.5 + RIGHT * SOME):
        theirs = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds, RIGHT, weights)
        platt = PlattScaling().fit(log_odds[:, 0], RIGHT, weights)
        assert platt.slope_ == pytest.approx(theirs.coef_[0, 0], rel=1e-6)
        assert platt.intercept_ == pytest.approx(theirs.intercept_[0], rel=1e-6)
