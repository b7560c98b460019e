"""How often `compare` finds a difference where there is none; and the benchmark that counts it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[1] / "benchmarks/false_findings.py"
SPEC = importlib.util.spec_from_file_location("false_findings", PATH)
benchmark = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(benchmark)


def test_the_groups_do_not_differ():
    """Each network has the accuracy and the overconfidence that it is drawn with."""
    rng = np.random.default_rng(0)
    groups = benchmark.two_groups(4, 0.0, 50_000, rng)
    for runs in groups:
        for run in runs:
            assert 1 - run.error == pytest.approx(benchmark.ACCURACY, abs=0.01)
            assert run.overconfidence == pytest.approx(benchmark.OVERCONFIDENCE, abs=0.015)
    errors = [run.correct for runs in groups for run in runs]
    alike = np.corrcoef(errors)
    assert alike[0, 1] > alike[0, 4] + 0.05  # more within a group than across
    assert alike[0, 4] > 0.2


@pytest.mark.filterwarnings("ignore:Precision loss")
@pytest.mark.parametrize("seeds", [2, 3])
def test_about_once_in_twenty_and_not_more(seeds):
    """Other images alone would find far more, with networks that differ by their seed."""
    found = benchmark.rejections(seeds, 0.05, "error", sets=120, n=300, seed=1)
    assert 0 < found["calib_utils"] <= 0.075
    assert found["other images only"] > 0.15
