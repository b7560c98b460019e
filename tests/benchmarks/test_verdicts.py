"""The benchmark of the verdict: its models are as wrong as it says, and it finds them."""

import numpy as np
import pytest
from scipy.special import expit

from benchmarks import verdicts


@pytest.mark.parametrize("shape", verdicts.SHAPES)
def test_the_true_error_is_the_one_that_was_asked_for(shape):
    z = np.random.default_rng(1).normal(0, verdicts.SPREAD, 200_000)
    assert (verdicts.SHAPES[shape](z, 0.0) == expit(z)).all()
    true = verdicts.SHAPES[shape](z, verdicts.strength(shape, 0.04))
    assert np.abs(true - expit(z)).mean() == pytest.approx(0.04, abs=0.001)


def test_the_verdict_finds_what_is_there_and_nothing_else():
    found, of_none = (verdicts.rates("too low everywhere", off, 4_000, 8) for off in (0.062, 0))
    assert found["bins and line"] == {"beyond": 1, "within": 0}
    assert of_none["bins and line"]["beyond"] == of_none["bins alone"]["beyond"] == 0
