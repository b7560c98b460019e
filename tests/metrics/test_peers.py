"""The metrics against other libraries, where these are installed (group `peers`).

Where a peer does something else than the definition, it is named here.
"""

import numpy as np
import pytest

from calib_utils.metrics import (
    brier_decomposition,
    debiased_calibration_error,
    smooth_calibration_error,
    smooth_reliability,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def forecasts(n, seed=0, places=None):
    rng = np.random.default_rng(seed)
    confidences = rng.random(n)
    if places is not None:
        confidences = np.round(confidences, places)
    return confidences, (rng.random(n) < 0.1 + 0.6 * confidences).astype(int)


@pytest.mark.parametrize("places", [None, 2])
def test_brier_decomposition_against_model_diagnostics(places):
    scoring = pytest.importorskip("model_diagnostics.scoring")
    confidences, labels = forecasts(2_000, places=places)
    squared = scoring.SquaredError()
    theirs = scoring.decompose(labels, confidences, scoring_function=squared)
    names = "miscalibration", "discrimination", "uncertainty"
    expected = [float(theirs[name][0]) for name in names]
    assert brier_decomposition(confidences, labels) == pytest.approx(expected, abs=1e-12)


def test_debiased_error_against_uncertainty_calibration():
    """It subtracts the variance of the labels: the same where a bin holds one confidence."""
    utils = pytest.importorskip("calibration.utils")
    edges = {"binning_scheme": utils.get_equal_prob_bins, "num_bins": 10}
    confidences, labels = forecasts(2_000)
    in_bins = (np.ceil(10 * confidences) - 0.5) / 10
    theirs = utils.lower_bound_scaling_ce(in_bins, labels, p=2, debias=True, **edges)
    assert debiased_calibration_error(in_bins, labels, 10) == pytest.approx(theirs, abs=1e-12)
    theirs = utils.lower_bound_scaling_ce(confidences, labels, p=2, debias=True, **edges)
    ours = debiased_calibration_error(confidences, labels, 10)
    assert ours == pytest.approx(theirs, abs=1e-3)
    assert ours != pytest.approx(theirs, abs=1e-6)


def test_smooth_error_against_relplot():
    """It looks for the width in steps of about 0.001."""
    relplot = pytest.importorskip("relplot")
    for seed in range(5):
        confidences, labels = forecasts(2_000, seed)
        theirs = relplot.smECE(confidences, labels.astype(float))
        assert smooth_calibration_error(confidences, labels) == pytest.approx(theirs, abs=1e-3)


def test_smooth_curve_against_relplot():
    relplot = pytest.importorskip("relplot")
    confidences, labels = forecasts(2_000)
    ours = smooth_reliability(confidences, labels)
    theirs = relplot.prepare_rel_diagram(
        confidences,
        labels,
        plot_confidence_band=False,
        report_CE_std=False,
        kde_bandwidth=ours.width,
    )
    for name, curve in (("mu", ours.accuracy), ("density", ours.density)):
        found = np.interp(theirs["mesh"], ours.confidence, curve)
        assert found == pytest.approx(theirs[name], abs=5e-3)


def test_smooth_error_of_sure_predictions_is_not_that_of_relplot():
    """Half of all confidences are 1, and right: it counts these at half their weight.

    The other half say 0.5 and are never right. No width cancels these residuals.
    """
    relplot = pytest.importorskip("relplot")
    confidences = np.repeat([1.0, 0.5], 1_000)
    labels = np.repeat([1, 0], 1_000)
    assert smooth_calibration_error(confidences, labels) == pytest.approx(0.25, abs=1e-6)
    theirs = relplot.smECE(confidences, labels.astype(float))
    assert theirs == pytest.approx(0.25, abs=1e-3) or theirs == pytest.approx(1 / 3, abs=2e-3)
