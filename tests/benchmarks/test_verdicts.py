"""The benchmark of the verdict: its models are as wrong as it says, and what it has found."""

import numpy as np
import pytest
from scipy.special import expit

from benchmarks import verdicts
from benchmarks.tables import stored


@pytest.mark.parametrize("shape", verdicts.SHAPES)
def test_the_true_error_is_the_one_that_was_asked_for(shape):
    z = np.random.default_rng(1).normal(0, verdicts.SPREAD, 200_000)
    assert (verdicts.SHAPES[shape](z, 0.0) == expit(z)).all()
    true = verdicts.SHAPES[shape](z, verdicts.strength(shape, 0.04))
    assert np.abs(true - expit(z)).mean() == pytest.approx(0.04, abs=0.001)


def test_they_are_drawn_again():
    rows = stored("verdicts")["rows"]
    row = next(row for row in rows if row["error"] == 0.062 and row["rows"] == 1_000)
    found = verdicts.rates(row["shape"], row["error"], row["rows"], 8)
    for way, rate in row["rates"].items():
        assert found[way]["beyond"] == pytest.approx(rate["beyond"], abs=0.5)
