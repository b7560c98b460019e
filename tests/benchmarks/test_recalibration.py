"""The benchmark of the recalibrators, on a few samples: its clock, and its best peer."""

import math
import warnings

import numpy as np
import pytest

from benchmarks import recalibration as benchmark
from calib_utils.recalibration import TemperatureScaling

SAMPLES = benchmark.draw(2_000, 5, seed=0)


@pytest.mark.parametrize(
    ("seconds", "fits"),
    [([9, 0.3, 0.2, 0.4, 0.3, 0.5, 0.1], 5), ([9, 1.5, 1.4, 0.1], 2), ([9, 8, 0.1], 1)],
)
def test_a_time_is_the_least_of_the_warm_fits(seconds, fits, monkeypatch):
    """The first is cold, however slow the fits are."""
    clock, done = [0.0], []

    def fit(samples):
        clock[0] += seconds[len(done)]
        done.append(samples)
        return lambda logits: np.full((len(logits), 5), 0.2)

    monkeypatch.setattr(benchmark.time, "process_time", lambda: clock[0])
    found = benchmark.measure(fit, SAMPLES, SAMPLES, math.inf)
    assert found["ms"] == pytest.approx(1000 * min(seconds[1 : 1 + fits]))
    assert len(done) == 1 + fits
    assert found["nll"] == pytest.approx(math.log(5))


def test_a_fit_beyond_the_budget_is_stopped():
    def fit(samples):
        while True:
            math.sqrt(2)

    assert benchmark.measure(fit, SAMPLES, SAMPLES, 0.05) == {"note": "over budget"}


def test_the_best_recipe_in_torch_finds_the_optimum():
    contenders = benchmark.METHODS["temperature"]
    predict = contenders["torch, strong Wolfe on log T"](SAMPLES)
    expected = TemperatureScaling().fit(SAMPLES.logits, SAMPLES.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        probs = expected.predict_proba(SAMPLES.logits.astype(np.float64))
    np.testing.assert_allclose(predict(SAMPLES.logits), probs, atol=1e-3)
    best = benchmark.mean_nll(expected.predict_proba, SAMPLES)
    assert benchmark.mean_nll(predict, SAMPLES) == pytest.approx(best, abs=1e-6)
    known = benchmark.mean_nll(contenders["known recipe, 50 steps"](SAMPLES), SAMPLES)
    assert known > best + 1e-4
