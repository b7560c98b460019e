"""How many rows it takes: of so many, reports decide as often as is said."""

from __future__ import annotations

import numpy as np
import pytest

from calib_audit import report, rows_for
from calib_audit.bin_sums import BinSums
from calib_audit.planning import rows_needed
from calib_utils import metrics
from calib_utils.metrics.bins import tally
from tests.calib_audit.samples import drawn


@pytest.mark.parametrize(("tolerance", "rate", "groups"), [(0.02, 0.1, 1), (0.05, 0.5, 8)])
def test_rows_for_a_tolerance_decide_four_times_in_five(
    tolerance: float, rate: float, groups: int
) -> None:
    n = rows_for(tolerance, rate, groups)
    within = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        score = rng.beta(2 * rate, 2 * (1 - rate), n)
        data = {"score": score, "label": (rng.random(n) < score).astype(int)}
        data["group"] = rng.permutation(np.arange(n) % groups).astype(str)
        of_groups = "group" if groups > 1 else ()
        found = report(data, group=of_groups, tolerance=tolerance, cross_fit=0)
        within += found.verdict.outcome == "within"
    assert 20 <= within <= 28  # a third fewer rows give less, and half as many again more


@pytest.mark.parametrize(("shift", "tolerance"), [(0.0, 0.02), (-0.3, 0.03)])
def test_rows_needed_decide(shift: float, tolerance: float) -> None:
    """Of samples of the size that small samples ask for, a good part decides, and of half
    that size fewer.
    """
    asked = []
    for seed in range(9):
        score, label = drawn(600, seed, 1, shift)
        bins = BinSums(tally(score, label == 1, (score * 15).astype(int), 15))
        asked.append(rows_needed([bins], tolerance)[0] or 10**9)
    needed = int(np.median(asked))
    assert 1_000 < needed < 20_000
    decided = []
    for n in (needed, needed // 3):
        ends = [
            metrics.calibration_error_interval(*drawn(n, seed, 1, shift))
            for seed in range(100, 112)
        ]
        decided.append(np.mean([high <= tolerance or low > tolerance for low, high in ends]))
    assert decided[0] >= 0.3
    assert decided[1] < decided[0]
