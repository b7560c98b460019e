"""Weights of samples: as repeated rows, as in scikit-learn, and as if they were not there."""

from functools import partial

import numpy as np
import pytest
from scipy.special import expit

from calib_utils import metrics
from calib_utils._numerics import zero_of
from calib_utils.metrics import streaming
from calib_utils.metrics.errors import debiased_squared_error
from calib_utils.predictions import as_predictions
from calib_utils.predictions.gate import taken
from calib_utils.recalibration import PlattScaling, TemperatureScaling
from tests.contract_cases import OF_PREDICTIONS, numbers

N, K = 1500, 4
RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(K), N)
POSITIVE = PROBS[:, 0].copy()
LOGITS = 3 * RNG.standard_normal((N, K))
LABELS = RNG.integers(K, size=N)
BINARY = (RNG.random(N) < POSITIVE**2).astype(int)
WEIGHTS = RNG.exponential(size=N)


# What draws exact sums takes no weights, and what gives a number for each sample needs none.
WITHOUT = {"baseline_calibration_error", "calibration_test", "top_label"}


def weighted(probs, labels, weights):
    return as_predictions(probs, labels, sample_weight=weights)


def of_square(probs, labels, weights=None):
    return debiased_squared_error(taken(probs, labels, weights), 15, "uniform")


# The contracts have these in bins of equal width.
QUANTILES = {
    "reliability_bins": lambda *given: numbers(
        metrics.reliability_bins(taken(*given), strategy="quantile")
    ),
    "ece": partial(metrics.expected_calibration_error, strategy="quantile"),
    "mce": partial(metrics.maximum_calibration_error, strategy="quantile", n_bins=5),
    "classwise": partial(metrics.classwise_calibration_error, strategy="quantile"),
}
QUANTILES = {f"{name}, quantile": use for name, use in QUANTILES.items()}
ALL = {name: use for name, use in OF_PREDICTIONS["metrics"].items() if name not in WITHOUT}
ALL |= QUANTILES
DATA = [(PROBS, LABELS), (POSITIVE, BINARY)]


def cases(metrics):
    return pytest.mark.parametrize("name", metrics)


@cases(ALL)
def test_all_weights_may_be_larger(name):
    for probs, labels in DATA:
        found = ALL[name](weighted(probs, labels, 1e-3 * WEIGHTS))
        expected = ALL[name](weighted(probs, labels, WEIGHTS))
        if name.startswith("reliability_bins"):
            places = slice(16, 31)  # the counts are sums of weights
            np.testing.assert_allclose(found[places], 1e-3 * expected[places])
            found, expected = np.delete(found, places), np.delete(expected, places)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_counts_are_whole_without_weights_and_sums_with_them():
    plain = metrics.reliability_bins([0.2, 0.7], [0, 1], 2)
    assert plain.counts.dtype == np.int64
    bins = metrics.reliability_bins(weighted([0.2, 0.7], [0, 1], [0.25, 1]), n_bins=2)
    assert bins.counts.tolist() == [0.25, 1]
    metric = metrics.CalibrationError(2)
    metric.update(weighted([0.2, 0.7], [0, 1], [0.5, 1]))
    assert metric.bins().counts.tolist() == [0.5, 1]
    metric.update(weighted([0.2], [0], [1.5]))
    assert metric.bins().counts.dtype == np.int64


def test_bins_of_equal_mass_hold_equal_weight():
    for weights in (WEIGHTS, np.where(POSITIVE > 0.3, 8.0, 1.0)):
        given = weighted(POSITIVE, BINARY, weights)
        bins = metrics.reliability_bins(given, n_bins=10, strategy="quantile")
        np.testing.assert_allclose(bins.counts, weights.sum() / 10, atol=weights.max())
        assert bins.edges[[0, -1]].tolist() == [POSITIVE.min(), POSITIVE.max()]


def test_the_debiased_square_is_right_on_average():
    """Weights go with the confidence, so the error that is estimated is another one, known."""
    rng = np.random.default_rng(1)
    squares, plain = [], []
    for _ in range(2_000):
        confidences = rng.choice([0.2, 0.4, 0.7, 0.9], 60)
        labels = (rng.random(60) < confidences**2).astype(int)
        weights = np.where(confidences > 0.5, 3.0, 1.0) * np.where(confidences == 0.4, 5, 1)
        squares.append(debiased_squared_error(taken(confidences, labels, weights), 2, "uniform"))
        plain.append(debiased_squared_error(taken(confidences, labels), 2, "uniform"))
    low = np.average([0.16, 0.24], weights=[1, 5]) ** 2
    high = np.average([0.21, 0.09]) ** 2
    truth = (6 * low + 6 * high) / 12
    error = np.std(squares) / 2_000**0.5
    # The shares of the bins are drawn with their gaps, which leaves a little.
    assert np.mean(squares) == pytest.approx(truth, abs=4 * error + 0.001)
    assert abs(np.mean(plain) - truth) > 10 * error


def test_two_rows_are_less_noise_than_one_of_weight_two():
    few = of_square(POSITIVE[:200], BINARY[:200], np.full(200, 2))
    assert few == pytest.approx(of_square(POSITIVE[:200], BINARY[:200]), abs=1e-15)
    assert few < of_square(np.repeat(POSITIVE[:200], 2), np.repeat(BINARY[:200], 2))


def test_a_bin_of_one_heavy_sample_is_left_out_by_the_debiased_error():
    found = of_square([0.7, 0.7, 0.7, 0.1, 0.12], [1, 1, 0, 1, 0], [1, 1, 1, 9, 1e-12])
    assert found == pytest.approx(of_square([0.7, 0.7, 0.7], [1, 1, 0]))


BAD_WEIGHTS = {
    "too few": (np.ones(N - 1), rf"expected shape \({N},\), .*found \({N - 1},\)"),
    "a column": (np.ones((N, 1)), rf"found \({N}, 1\)"),
    "a number": (1.0, r"found \(\)"),
    "negative": (np.where(np.arange(N) == 7, -1.0, 1.0), "found -1.0 at index 7; .*weight 0"),
    "NaN": (np.where(np.arange(N) == 7, np.nan, 1.0), "found nan at index 7"),
    "infinite": (np.where(np.arange(N) == 7, np.inf, 1.0), "found inf at index 7"),
    "too large": (np.full(N, 1e151), r"1e150, found 1e\+151 at index 0; .*divide all of them"),
    "too small": (np.full(N, 5e-324), "1e-150 .*found 4.94066e-324 at index 0; .*divide all"),
    "text": (["one"] * N, "expected real numbers, found <U3"),
}


@pytest.mark.parametrize("bad", BAD_WEIGHTS)
def test_bad_weights(bad):
    weights, message = BAD_WEIGHTS[bad]
    with pytest.raises(ValueError, match=f"^sample_weight: .*{message}"):
        weighted(PROBS, LABELS, weights)


@pytest.mark.parametrize("name", ALL)
def test_padding_alone_has_no_error(name):
    given, message = weighted(PROBS, LABELS, np.zeros(N)), "found only 0 for 1500 samples; leave"
    if name == "CalibrationError":
        stream = streaming.CalibrationError()
        stream.update(given)
        with pytest.raises(ValueError, match=r"^probs: expected predictions, found none"):
            stream.compute()
        return
    with pytest.raises(ValueError, match=f"^sample_weight: expected a weight above 0, {message}"):
        ALL[name](given)


def test_padding_alone_fits_nothing_and_can_be_predicted():
    given = weighted(PROBS, LABELS, np.zeros(N))
    fitted = TemperatureScaling(inputs="probs").fit(PROBS, LABELS)
    with pytest.raises(ValueError, match=r"^sample_weight: expected a weight above 0"):
        TemperatureScaling(inputs="probs").fit(given)
    np.testing.assert_array_equal(fitted.predict_proba(given), fitted.predict_proba(PROBS))


def test_a_row_of_weight_zero_is_checked_all_the_same():
    bad, weights = PROBS.copy(), np.ones(N)
    bad[3], weights[3] = np.nan, 0
    for use in (weighted, TemperatureScaling(inputs="probs").fit):
        with pytest.raises(ValueError, match=r"^(probs|logits \(inputs='probs'\)): .*row 3"):
            use(bad, LABELS, weights)


def test_edges_of_equal_mass_stand_half_way_through_a_row_s_own_weight():
    values = np.array([0.1, 0.3, 0.5, 0.9])
    given = as_predictions(
        confidence=values, correct=[False, True, True, True], sample_weight=[1.0, 5, 2, 1]
    )
    edges = metrics.reliability_bins(given, n_bins=2, strategy="quantile").edges
    # The middles of the four weights are at 0.5, 3.5, 7 and 8.5, and 4.5 is half way between ends.
    assert edges[1] == pytest.approx(0.3 + 0.2 / 3.5)


def test_a_tenth_of_all_weights_moves_no_bin_of_equal_mass():
    for seed in range(100):
        rng = np.random.default_rng(seed)
        probs = rng.random(30).round(3)
        labels = (rng.random(30) < probs).astype(int)
        weights = rng.integers(1, 4, 30).astype(float)
        expected, *found = (
            metrics.reliability_bins(
                weighted(probs, labels, factor * weights), n_bins=10, strategy="quantile"
            )
            for factor in (1, 0.1, 1 / 3)
        )
        for bins in found:
            np.testing.assert_allclose(bins.accuracy, expected.accuracy)
            np.testing.assert_allclose(bins.confidence, expected.confidence)


@pytest.mark.parametrize("factor", [0.1, 1 / 3])
def test_a_tenth_of_all_weights_changes_no_zero(factor):
    probs = np.r_[np.zeros(50), np.full(50, 1e-6), np.full(900, 0.1)]
    weights = np.r_[np.full(50, 1.0), np.full(50, 0.02), np.ones(900)]  # 2 % of those with a zero
    expected = zero_of(probs, weights=weights)[0]
    assert zero_of(probs, weights=factor * weights)[0] == pytest.approx(expected)


def test_rows_of_weight_zero_do_not_count_in_the_mean_weight():
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    labels, weights = (rng.random(60) < expit(z)).astype(int), rng.integers(0, 4, 60).astype(float)
    kept = weights > 0
    for method in (PlattScaling(smooth_targets=True), TemperatureScaling()):
        found, expected = (
            method.fit(as_predictions(logits=z[rows], labels=labels[rows], sample_weight=of_rows))
            .predict_proba(z)
            .tolist()
            for rows, of_rows in ((slice(None), weights), (kept, weights[kept]))
        )
        assert found == expected


def test_a_masked_label_of_weight_zero_is_left_out():
    logits, weights = LOGITS.copy(), np.ones(N)
    logits[3, LABELS[3]], weights[3] = -np.inf, 0
    found = TemperatureScaling().fit(logits, LABELS, weights).temperature_
    kept = weights > 0
    assert found == TemperatureScaling().fit(logits[kept], LABELS[kept]).temperature_
