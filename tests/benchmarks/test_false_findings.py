"""How often `compare` finds a difference where there is none; and the benchmark that counts it."""

import numpy as np
import pytest

from benchmarks import false_findings as benchmark


def test_the_groups_do_not_differ():
    """Each network has the accuracy and the overconfidence that it is drawn with."""
    rng = np.random.default_rng(0)
    groups = benchmark.two_groups(4, 0.0, 0.0, 50_000, rng)
    for runs in groups:
        for run in runs:
            assert 1 - run.error == pytest.approx(benchmark.ACCURACY, abs=0.01)
            assert run.overconfidence == pytest.approx(benchmark.OVERCONFIDENCE, abs=0.015)
    errors = [run.correct for runs in groups for run in runs]
    alike = np.corrcoef(errors)
    assert alike[0, 1] > alike[0, 4] + 0.05  # more within a group than across
    assert alike[0, 4] > 0.2


@pytest.mark.parametrize(("share", "low", "high"), [(0.9, 0.8, 1), (0.0, -0.3, 0.3)])
def test_runs_of_a_seed_are_alike(share, low, high):
    rng = np.random.default_rng(0)
    groups = benchmark.two_groups(60, 0.1, share, 5_000, rng, worse=0.05)
    errors = np.array([[run.error for run in runs] for runs in groups])
    assert low < np.corrcoef(errors)[0, 1] < high
    assert share == 0 or np.diff(errors.mean(axis=1)) == pytest.approx(0.05, abs=0.02)


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_at_most_once_in_twenty():
    """Other images alone would find far more, with networks that differ by their seed."""
    found = benchmark.rejections(3, 0.05, 0.0, "error", sets=120, n=300, seed=1)
    assert found["calib_utils"] <= 0.075
    assert found["other images only"] > 0.15
